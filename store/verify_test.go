package store_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"pgregory.net/rapid"

	"github.com/perstack-go/perstack/store"
	"github.com/perstack-go/perstack/store/file"
	"github.com/perstack-go/perstack/store/storetest"
)

// A backend reads a journal whose head is on record.
type backend struct {
	name string
	with func(t testing.TB, data []byte, head store.Head) store.Store
}

// backends are those whose journals someone else can change. That of store/memory is
// in the memory of the process alone.
var backends = []backend{
	{"lines", func(_ testing.TB, data []byte, head store.Head) store.Store {
		return storetest.Lines{Data: data, Head: head}
	}},
	{"file", func(t testing.TB, data []byte, _ store.Head) store.Store {
		s, _ := fileWith(t, data)
		return s
	}},
}

// fileWith returns a store that recorded the head of the sample job, and then found
// another journal in its place; and the name of the file.
func fileWith(t testing.TB, data []byte) (store.Store, string) {
	t.Helper()
	dir := t.TempDir()
	s := file.New(dir, nil)
	j, err := s.Open(t.Context(), "job1")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range storetest.Sample("job1") {
		if _, err := j.Append(t.Context(), e); err != nil {
			t.Fatal(err)
		}
	}
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(dir, "jobs", "job1", "journal.jsonl")
	if err := os.WriteFile(name, data, 0o600); err != nil {
		t.Fatal(err)
	}
	return s, name
}

// journal returns records as they are in a file, and the head.
func journal(records []store.Record) (data []byte, head store.Head) {
	for _, r := range records {
		data = append(append(data, r.Line...), '\n')
		head = store.Head{Seq: r.Seq, Digest: r.Digest()}
	}
	return data, head
}

// Whatever was done to a journal, Verify names the first record that is not what was
// written, and counts those before it as sound.
func TestVerifyNamesTheFirstBrokenRecord(t *testing.T) {
	whole, head := journal(sample(t))
	damages, err := storetest.Damages("job1", whole)
	if err != nil {
		t.Fatal(err)
	}
	for _, b := range backends {
		for _, d := range damages {
			t.Run(b.name+" "+d.Name, func(t *testing.T) {
				report, err := store.Verify(t.Context(), b.with(t, d.Data, head), "job1")
				if d.Seq == 0 {
					if err != nil || report.Last.Seq <= head.Seq {
						t.Errorf("%+v, %v; this cannot be found", report, err)
					}
					return
				}
				var damage *store.DamageError
				if !errors.As(err, &damage) || damage.Seq != d.Seq || damage.JobID != "job1" || damage.Torn {
					t.Errorf("%v, want damage at record %d", err, d.Seq)
				}
				if report.Records != d.Seq-1 || report.Last.Seq != d.Seq-1 {
					t.Errorf("%d records are called sound, want %d", report.Records, d.Seq-1)
				}
			})
		}
	}
}

// A change of any one byte is found, and the record that it is in is named.
func TestVerifyFindsEveryByte(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		chain := store.Chain{JobID: "job1"}
		var records []store.Record
		for i := range rapid.IntRange(1, 6).Draw(rt, "records") {
			e := storetest.Note("job1", i, odd().Draw(rt, "text"))
			if rapid.Bool().Draw(rt, "sample") {
				e = rapid.SampledFrom(storetest.Sample("job1")).Draw(rt, "event")
			}
			r, err := chain.Next(e)
			if err == nil {
				err = chain.Accept(r)
			}
			if err != nil {
				rt.Fatal(err)
			}
			records = append(records, r)
		}
		data, head := journal(records)
		checkByte(t, rt, backends[0], data, head)
	})
}

// The same of a file, where a power cut is another thing that may have happened.
func TestVerifyFindsEveryByteOfAFile(t *testing.T) {
	data, head := journal(sample(t))
	s, name := fileWith(t, data)
	again := backend{"file", func(t testing.TB, data []byte, _ store.Head) store.Store {
		t.Helper()
		if err := os.WriteFile(name, data, 0o600); err != nil {
			t.Fatal(err)
		}
		return s
	}}
	rapid.Check(t, func(rt *rapid.T) { checkByte(t, rt, again, data, head) })
}

// checkByte changes a byte of a journal.
func checkByte(t *testing.T, rt *rapid.T, b backend, data []byte, head store.Head) {
	at := rapid.IntRange(0, len(data)-1).Draw(rt, "byte")
	changed := bytes.Clone(data)
	changed[at] ^= rapid.ByteRange(1, 255).Draw(rt, "flip")
	want := int64(bytes.Count(data[:at], []byte("\n"))) + 1
	report, err := store.Verify(t.Context(), b.with(t, changed, head), "job1")
	// The first record names the version. As another digit it is a journal that cannot be read.
	var version *store.VersionError
	if want == 1 && '0' <= changed[at] && changed[at] <= '9' && errors.As(err, &version) && version.Version != store.Version {
		return
	}
	var damage *store.DamageError
	if !errors.As(err, &damage) || damage.Seq != want || report.Records != want-1 || damage.Torn {
		rt.Fatalf("byte %d, of record %d of %d, became %q: %+v, %v", at, want, head.Seq, changed[at], report, err)
	}
}
