package file

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/store"
	"github.com/perstack-go/perstack/store/storetest"
)

// Whatever the bytes of a journal: opening and reading it do not panic, the sound
// records at its beginning are read and stay, and nothing but an incomplete last
// line is ever cut.
func FuzzOpenJournal(f *testing.F) {
	_, _, whole := sampleJob(f)
	all := lines(whole)
	f.Add(whole)
	f.Add(whole[:len(whole)-1])
	f.Add(bytes.Join(all[:3], nil))
	f.Add(append(bytes.Join(all[:3], nil), all[4]...))
	f.Add(append(bytes.Clone(whole), make([]byte, 50)...))
	f.Add(append(bytes.Replace(whole, []byte("0"), nil, 1), make([]byte, 50)...))
	f.Add([]byte("\n"))
	f.Add([]byte(`{"seq":1,"prev":"` + store.Digest{}.String() + `","version":2,"event":{"type":"new","jobId":"job1"}}` + "\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		s := inMemory(New(filepath.Join(fastDir(t), "perstack"), nil))
		name := s.path(journalName)
		writeFile(t, name, data)

		sound, unknown := 0, false // the records at the beginning, by our own count
		chain := store.Chain{JobID: "job1"}
		rest, torn := data, false
		for {
			line, next, found := bytes.Cut(rest, []byte("\n"))
			if !found {
				break
			}
			_, err := chain.Decode(line)
			if err != nil && !errors.Is(err, event.ErrUnknownType) {
				torn = damaged(err) && bytes.IndexByte(rest, 0) >= 0 // nothing was committed
				break
			}
			unknown = unknown || err != nil
			sound, rest = sound+1, next
		}
		if n := readable(t, s); n != sound {
			t.Fatalf("%d records are read, want %d", n, sound)
		}
		j, err := s.Open(t.Context(), "job1")
		if bytes.Contains(rest, []byte("\n")) && !torn || unknown {
			if err == nil {
				t.Fatal("Open took a journal that it cannot continue")
			}
			if got := readFile(t, name); !bytes.Equal(got, data) {
				t.Fatal("Open failed and changed the journal")
			}
			return
		}
		if err != nil {
			t.Fatalf("Open: %v", err)
		}
		if _, err := j.Append(t.Context(), storetest.Note("job1", 1, "x")); err != nil {
			t.Fatal(err)
		}
		j.(*journal).abandon()
		if got := readFile(t, name); !bytes.HasPrefix(got, data[:len(data)-len(rest)]) || readable(t, s) != sound+1 {
			t.Fatalf("%d sound records became %d:\n%q", sound, readable(t, s), got)
		}
	})
}

// readable counts the records up to the first error.
func readable(t *testing.T, s *Store) int {
	n := 0
	for _, err := range s.Read(t.Context(), "job1", 0) {
		if err == nil || errors.Is(err, event.ErrUnknownType) {
			n++
		}
	}
	return n
}

// Whatever is in job.json, a sound journal can be read and listed; it is refused
// only because of a head that it does not have.
func FuzzSummary(f *testing.F) {
	s, _, whole := sampleJob(f)
	f.Add(readFile(f, s.path(summaryName)))
	f.Add([]byte(`{"id":"job1","head":{"seq":1,"digest":"00","length":9223372036854775807}}`))
	f.Add([]byte(`{"id":"job1","head":{"seq":9223372036854775807,"digest":"` + store.Digest{}.String() + `","length":1}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		s := inMemory(New(filepath.Join(fastDir(t), "perstack"), nil))
		writeFile(t, s.path(journalName), whole)
		if err := os.WriteFile(s.path(summaryName), data, 0o600); err != nil {
			t.Fatal(err)
		}
		var damage *store.DamageError
		if _, err := s.FindJob(t.Context(), "job1"); err != nil && !errors.As(err, &damage) {
			t.Error(err)
		}
		if n := readable(t, s); n != 11 {
			t.Errorf("%d records", n)
		}
		_, err := store.Verify(t.Context(), s, "job1")
		if err != nil && !errors.As(err, &damage) {
			t.Error(err)
		}
		j, openErr := s.Open(t.Context(), "job1")
		if (openErr == nil) != (err == nil) {
			t.Errorf("Open: %v, Verify: %v", openErr, err)
		}
		if openErr == nil {
			j.(*journal).abandon()
		}
	})
}
