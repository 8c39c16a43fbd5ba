package file

import (
	"bytes"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/store"
	"github.com/perstack-go/perstack/store/storetest"
)

const tornHint = "; continuing the job sets the torn end aside"

// tornJob is a job of 11 committed records and four more that a power cut tore: the
// page that held the second of them never reached the disk.
func tornJob(t *testing.T) (s *Store, name string, sound, torn []byte) {
	t.Helper()
	s, name, whole := sampleJob(t)
	j := mustOpen(t, s)
	var ends []int64
	for i := range 4 {
		mustAppend(t, j, storetest.Note("job1", i, strings.Repeat("uncommitted ", 20)))
		ends = append(ends, j.now.length)
	}
	if err := j.abandon(); err != nil {
		t.Fatal(err)
	}
	data := readFile(t, name)
	clear(data[ends[0]+50 : ends[1]-50])
	writeFile(t, name, data)
	if !bytes.HasPrefix(data, whole) {
		t.Fatal("the committed records were changed")
	}
	return s, name, data[:ends[0]], data[ends[0]:]
}

// Zeros behind the durable head are the work of a power cut. They do not keep the job
// from being found and continued, and nothing is thrown away.
func TestTornEndIsSetAside(t *testing.T) {
	s, name, sound, torn := tornJob(t)
	report, err := store.Verify(t.Context(), s, "job1")
	if damage := wantDamage(t, err, 13); !damage.Torn || !strings.HasSuffix(err.Error(), tornHint) || report.Records != 12 {
		t.Errorf("Verify = %+v, %v", report, err)
	}
	if info, err := s.FindJob(t.Context(), "job1"); err != nil || info.TotalSteps != 2 {
		t.Errorf("FindJob = %+v, %v", info, err)
	}
	if got := readFile(t, name); !bytes.Equal(got, append(bytes.Clone(sound), torn...)) {
		t.Error("a reader changed the journal")
	}

	var log bytes.Buffer
	synced := 0
	loud := New(s.dir, &Options{Logger: slog.New(slog.NewTextHandler(&log, nil))})
	loud.disk = disk{syncs(func(func() error) error { synced++; return nil })}
	writeFile(t, s.path(tornName+"1"), []byte("of an earlier power cut"))
	j := mustOpen(t, loud)
	if got := readFile(t, name); !bytes.Equal(got, sound) {
		t.Errorf("the journal was not cut behind its last sound record:\n%q", got)
	}
	if got := readFile(t, s.path(tornName+"2")); !bytes.Equal(got, torn) {
		t.Errorf("what was set aside:\n%q\nwant\n%q", got, torn)
	}
	if info, err := os.Stat(s.path(tornName + "2")); err != nil || info.Mode().Perm() != 0o600 && filepath.Separator == '/' {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	if string(readFile(t, s.path(tornName+"1"))) != "of an earlier power cut" {
		t.Error("an earlier torn end was replaced")
	}
	if synced < 3 { // the copy, its directory, the journal
		t.Errorf("%d syncs", synced)
	}
	if !strings.Contains(log.String(), "level=WARN") || !strings.Contains(log.String(), "after=12") || !strings.Contains(log.String(), tornName+"2") {
		t.Errorf("log: %s", log.String())
	}
	mustAppend(t, j, storetest.Sample("job1")...)
	mustClose(t, j)
	if n := count(t, s); n != 12+11 {
		t.Errorf("%d records after the repair, want 23", n)
	}
}

// Without both signs of a power cut it is damage, as before, and is left alone.
func TestDamageIsNotTorn(t *testing.T) {
	tests := []struct {
		name   string
		change func(s *Store, data []byte) []byte
		seq    int64
	}{
		{"no zeros", func(_ *Store, data []byte) []byte { return bytes.ReplaceAll(data, []byte{0}, []byte("?")) }, 13},
		{"zeros in a durable record", func(_ *Store, data []byte) []byte {
			clear(data[500:600])
			return data
		}, 0},
		{"no telling what is durable", func(s *Store, data []byte) []byte {
			writeFile(t, s.path(headName), []byte("{"))
			return data
		}, 13},
		{"the head is on record", func(s *Store, data []byte) []byte {
			text := readFile(t, s.path(headName))
			writeFile(t, s.path(headName), bytes.Replace(text, []byte(`"seq":11`), []byte(`"seq":14`), 1))
			return data
		}, 13},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			s, name, sound, torn := tornJob(t)
			data := test.change(s, append(bytes.Clone(sound), torn...))
			writeFile(t, name, data)
			_, err := store.Verify(t.Context(), s, "job1")
			if damage := wantDamage(t, err, test.seq); damage.Torn || strings.Contains(err.Error(), tornHint) {
				t.Errorf("Verify: %v", err)
			}
			_, err = s.FindJob(t.Context(), "job1")
			wantDamage(t, err, test.seq)
			_, err = s.Open(t.Context(), "job1")
			wantDamage(t, err, test.seq)
			if !bytes.Equal(readFile(t, name), data) {
				t.Error("Open changed a damaged journal")
			}
			if _, err := os.Lstat(s.path(tornName + "1")); err == nil {
				t.Error("something was set aside")
			}
		})
	}
}

// Nothing of a job was durable: what there is of it is set aside, and it begins again.
func TestTornFromTheStart(t *testing.T) {
	s, name, sound, torn := tornJob(t)
	data := append(bytes.Clone(sound), torn...)
	clear(data[10:20])
	writeFile(t, name, data)
	os.Remove(s.path(summaryName))
	os.Remove(s.path(headName))
	j := mustOpen(t, s)
	mustAppend(t, j, storetest.Sample("job1")...)
	mustClose(t, j)
	if info, err := s.FindJob(t.Context(), "job1"); err != nil || info.Status != event.JobCompleted || count(t, s) != 11 {
		t.Errorf("%+v, %v", info, err)
	}
	if !bytes.Equal(readFile(t, s.path(tornName+"1")), data) {
		t.Error("what was torn is not kept")
	}
}

// A journal that was deleted is not a job that never was, and is not begun again.
func TestJournalDeleted(t *testing.T) {
	s, name, _ := sampleJob(t)
	os.Remove(name)
	check := func(what string, err error) {
		t.Helper()
		if wantDamage(t, err, 1); !strings.Contains(err.Error(), "the journal is missing") {
			t.Errorf("%s: %v", what, err)
		}
	}
	for range 2 { // what is tried in the first round must change nothing
		for _, err := range s.Read(t.Context(), "job1", 0) {
			check("Read", err)
		}
		_, err := store.Verify(t.Context(), s, "job1")
		check("Verify", err)
		_, err = s.FindJob(t.Context(), "job1")
		check("FindJob", err)
		n := 0
		for info, err := range s.Jobs(t.Context()) {
			if n++; info.ID != "job1" {
				t.Errorf("listed: %+v", info)
			}
			check("Jobs", err)
		}
		if n != 1 {
			t.Errorf("%d jobs are listed", n)
		}
		_, err = s.Open(t.Context(), "job1")
		check("Open", err)
		if _, err := os.Lstat(name); err == nil {
			t.Error("Open made an empty journal in its place")
		}
		writeFile(t, s.path(summaryName), []byte("{")) // even one that says nothing is a trace
	}
}
