package file

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/store"
	"github.com/perstack-go/perstack/store/storetest"
)

// A record that was not written to its end is cut off, wherever that was, and the
// journal continues after the one before it.
func TestTornTail(t *testing.T) {
	s, name, whole := sampleJob(t)
	inMemory(s)
	all := lines(whole)
	last := all[len(all)-2]
	before := int64(len(all) - 2)
	garbage := [][]byte{make([]byte, 4096), []byte("\xff\xfe"), []byte(`{"seq":`)}
	for cut := range last {
		if !testing.Short() || cut%5 == 0 {
			garbage = append(garbage, last[:cut])
		}
	}
	for _, tail := range garbage {
		// The last record was never committed, so the head does not know of it.
		os.Remove(s.path(headName))
		writeFile(t, name, append(bytes.Join(all[:before], nil), tail...))
		if n := count(t, s); n != before {
			t.Fatalf("a reader sees %d records before a torn one, want %d", n, before)
		}
		j := mustOpen(t, s)
		if got := readFile(t, name); int64(len(got)) != j.now.length || bytes.Count(got, []byte("\n")) != int(before) {
			t.Fatalf("tail of %d bytes: not repaired:\n%q", len(tail), got)
		}
		mustAppend(t, j, storetest.Note("job1", 1, "after the repair"))
		mustClose(t, j)
		if n := count(t, s); n != before+1 {
			t.Fatalf("tail of %d bytes: %d records after the repair, want %d", len(tail), n, before+1)
		}
	}
}

// A torn line that had been durable once is no torn line: it is reported and kept.
func TestTornAfterCommitIsDamage(t *testing.T) {
	s, name, whole := sampleJob(t)
	torn := whole[:len(whole)-3]
	writeFile(t, name, torn)
	_, err := s.Open(t.Context(), "job1")
	wantDamage(t, err, 11)
	if got := readFile(t, name); !bytes.Equal(got, torn) {
		t.Error("Open changed a damaged journal")
	}
}

// Whichever byte of a record changes, the damage is found, named and left alone.
func TestFlippedByte(t *testing.T) {
	s, name, whole := sampleJob(t)
	all := lines(whole)
	const middle = 6 // the record with a tool's result
	offset := len(bytes.Join(all[:middle-1], nil))
	for i := range len(all[middle-1]) {
		for j, flip := range []byte{0x01, 0x20, 0x80} {
			if testing.Short() && (i+j)%3 != 0 {
				continue
			}
			bad := bytes.Clone(whole)
			bad[offset+i] ^= flip
			writeFile(t, name, bad)
			_, err := store.Verify(t.Context(), s, "job1")
			damage := wantDamage(t, err, 0)
			if damage.Seq != middle {
				t.Fatalf("byte %d of record %d: damage at record %d: %v", i, middle, damage.Seq, err)
			}
			if _, err := s.Open(t.Context(), "job1"); err == nil || !strings.Contains(err.Error(), damage.Reason) {
				t.Fatalf("byte %d: Open gives %v, Verify %v", i, err, damage)
			}
		}
	}
	bad := bytes.Clone(whole)
	bad[offset+10] ^= 1
	writeFile(t, name, bad)
	if _, err := s.Open(t.Context(), "job1"); err == nil {
		t.Error("Open took a damaged journal")
	}
	if got := readFile(t, name); !bytes.Equal(got, bad) {
		t.Error("Open changed a damaged journal")
	}
	n := 0
	for _, err := range s.Read(t.Context(), "job1", 0) {
		if err == nil {
			n++
		}
	}
	if n != middle-1 {
		t.Errorf("%d records before the damage are readable, want %d", n, middle-1)
	}
}

// Records that were removed, swapped, doubled or taken from elsewhere are found.
func TestRearranged(t *testing.T) {
	s, name, whole := sampleJob(t)
	all := lines(whole)
	foreign, err := store.EncodeRecord(1, store.Digest{}, storetest.Note("job2", 1, "x"))
	if err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		name string
		data [][]byte
		seq  int64
	}{
		{"removed", append(append([][]byte{}, all[:3]...), all[4:]...), 4},
		{"swapped", [][]byte{all[0], all[2], all[1]}, 2},
		{"doubled", [][]byte{all[0], all[1], all[1]}, 3},
		{"first removed", all[1:], 1},
		{"of another job", [][]byte{foreign.Line, []byte("\n")}, 1},
		{"empty line", [][]byte{all[0], []byte("\n"), all[1]}, 2},
		{"line of zeros", [][]byte{all[0], make([]byte, 100), []byte("\n")}, 2},
		{"carriage return", [][]byte{bytes.ReplaceAll(whole, []byte("\n"), []byte("\r\n"))}, 2},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			data := bytes.Join(test.data, nil)
			writeFile(t, name, data)
			_, err := store.Verify(t.Context(), s, "job1")
			wantDamage(t, err, test.seq)
			_, err = s.Open(t.Context(), "job1")
			wantDamage(t, err, test.seq)
			if !bytes.Equal(readFile(t, name), data) {
				t.Error("Open changed a damaged journal")
			}
		})
	}
}

// A journal that was cut between two records is whole by itself. The recorded head tells.
func TestCutAtRecord(t *testing.T) {
	s, name, whole := sampleJob(t)
	all := lines(whole)
	for n := range len(all) - 2 {
		writeFile(t, name, bytes.Join(all[:n], nil))
		check := func(err error) {
			t.Helper()
			wantDamage(t, err, int64(n)+1)
			if want := fmt.Sprintf("it ends at record %d, but 11 were recorded", n); !strings.Contains(err.Error(), want) {
				t.Errorf("%v, want %s", err, want)
			}
		}
		_, err := s.Open(t.Context(), "job1")
		check(err)
		_, err = store.Verify(t.Context(), s, "job1")
		check(err)
		last := error(nil)
		for _, last = range s.Read(t.Context(), "job1", 0) {
		}
		if n == 0 {
			check(last) // or it would look like a job that has not begun
		} else if last != nil {
			t.Errorf("Read: %v", last)
		}
		for info, err := range s.Jobs(t.Context()) {
			check(err)
			if info.ID != "job1" {
				t.Errorf("the listing names %q", info.ID)
			}
		}
	}
	// Cut and written again: the chain is right, the history is another.
	writeFile(t, name, bytes.Join(all[:10], nil))
	head := readFile(t, s.path(headName))
	os.Remove(s.path(headName))
	j := mustOpen(t, s)
	mustAppend(t, j, storetest.Note("job1", 1, "another end"))
	mustClose(t, j)
	writeFile(t, s.path(headName), head)
	_, err := s.Open(t.Context(), "job1")
	wantDamage(t, err, 11)
	_, err = store.Verify(t.Context(), s, "job1")
	wantDamage(t, err, 11)
	os.Remove(name)
	_, err = s.FindJob(t.Context(), "job1")
	wantDamage(t, err, 1)
}

// job.json is a cache: without it, or with rubbish in it, everything is found again.
func TestSummaryRebuilt(t *testing.T) {
	s, _, _ := sampleJob(t)
	name := s.path(summaryName)
	want, err := s.FindJob(t.Context(), "job1")
	if err != nil {
		t.Fatal(err)
	}
	original := readFile(t, name)
	for _, content := range []string{"", "{", `{"id":"job2","head":{"seq":1,"length":1}}`, `{"id":"job1"}`, "[]", strings.Repeat("x", 2*maxSummary)} {
		writeFile(t, name, []byte(content))
		if content == "" {
			os.Remove(name)
		}
		got, err := s.FindJob(t.Context(), "job1")
		if err != nil || !cmp.Equal(got, want) {
			t.Errorf("with %.20q: %+v, %v", content, got, err)
		}
		if n := count(t, s); n != 11 {
			t.Errorf("with %.20q: %d records", content, n)
		}
		mustClose(t, mustOpen(t, s))
		if got := readFile(t, name); !bytes.Equal(got, original) {
			t.Errorf("with %.20q, rebuilt:\n%s\nwant\n%s", content, got, original)
		}
	}
}

// While a writer is ahead of job.json, a listing adds what is new.
func TestListingFollowsWriter(t *testing.T) {
	s, _, _ := sampleJob(t)
	j := mustOpen(t, s)
	defer j.Close()
	var want event.Job
	for _, e := range storetest.Sample("job1") {
		want = want.Apply(e)
	}
	for i, e := range storetest.Sample("job1") {
		mustAppend(t, j, e)
		want = want.Apply(e)
		got, err := s.FindJob(t.Context(), "job1")
		if err != nil || !cmp.Equal(got.Job, want) || got.Interrupted {
			t.Fatalf("after event %d: %+v, %v, want %+v", i, got, err, want)
		}
	}
}

// A record of a newer release is not damage, but this release must not continue from it.
func TestUnknownType(t *testing.T) {
	s, name, whole := sampleJob(t)
	all := lines(whole)
	tampered := bytes.Replace(all[10], []byte(`"type":"completeRun"`), []byte(`"type":"teleportRun"`), 1)
	writeFile(t, name, append(bytes.Join(all[:10], nil), tampered...))
	os.Remove(s.path(summaryName))
	os.Remove(s.path(headName))
	_, err := s.Open(t.Context(), "job1")
	if !errors.Is(err, event.ErrUnknownType) || !strings.Contains(err.Error(), "record 11 has an event type that this version of perstack does not know; use a newer one") {
		t.Errorf("Open: %v", err)
	}
	report, err := store.Verify(t.Context(), s, "job1")
	if err != nil || report.Records != 11 || report.Unknown != 1 {
		t.Errorf("Verify = %+v, %v", report, err)
	}
	if info, err := s.FindJob(t.Context(), "job1"); err != nil || info.Status != event.JobRunning {
		t.Errorf("FindJob = %+v, %v", info, err)
	}
}

func wantDamage(t *testing.T, err error, seq int64) *store.DamageError {
	t.Helper()
	var damage *store.DamageError
	if !errors.As(err, &damage) || damage.JobID != "job1" || seq != 0 && damage.Seq != seq {
		t.Fatalf("%v, want damage at record %d", err, seq)
	}
	return damage
}
