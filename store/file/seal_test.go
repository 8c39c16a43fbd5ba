package file

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/internal/testkit/attack"
	"github.com/perstack-go/perstack/store"
	"github.com/perstack-go/perstack/store/storetest"
)

var (
	ourKey   = store.SealKey{1, 2, 3}
	otherKey = store.SealKey{4, 5, 6}
	ours     = store.NewSealer("site", ourKey)
)

// sealedJob writes the sample job, sealed. Its commits are after records 4, 8 and 11.
func sealedJob(t *testing.T, sealer *store.Sealer) (s *Store, heads [][]byte) {
	t.Helper()
	s = New(filepath.Join(fastDir(t), "perstack"), nil).WithSeal(sealer).(*Store)
	inMemory(s)
	j := mustOpen(t, s)
	for i, e := range storetest.Sample("job1") {
		mustAppend(t, j, e)
		if i == 3 || i == 7 {
			if err := j.Commit(t.Context()); err != nil {
				t.Fatal(err)
			}
			heads = append(heads, readFile(t, s.path(headName)))
		}
	}
	mustClose(t, j)
	return s, append(heads, readFile(t, s.path(headName)))
}

// forge makes the lines of a journal again, without seals or with those of another key, with the
// event of one record changed.
func forge(t *testing.T, s *Store, sealer *store.Sealer, changed int64) []byte {
	t.Helper()
	chain := store.Chain{JobID: "job1", Sealer: sealer}
	var out []byte
	for r, err := range s.Read(t.Context(), "job1", 0) {
		if err != nil {
			t.Fatal(err)
		}
		if r.Seq == changed {
			r.Event.Timestamp++
		}
		again, err := chain.Next(r.Event)
		if err == nil {
			err = chain.Accept(again)
		}
		if err != nil {
			t.Fatal(err)
		}
		out = append(append(out, again.Line...), '\n')
	}
	return out
}

// A job that was sealed can be continued, and a history that was changed, cut back, replaced
// or moved cannot, whatever else was adapted to it.
func TestSealed(t *testing.T) {
	s, heads := sealedJob(t, ours)
	whole, all := readFile(t, s.path(journalName)), lines(readFile(t, s.path(journalName)))
	unsealedHead := bytes.Replace(heads[2], []byte(`"seal"`), []byte(`"sea1"`), 1)
	plain, _ := sealedJob(t, nil)
	foreign, _ := sealedJob(t, store.NewSealer("site", otherKey))
	elsewhere, _ := sealedJob(t, store.NewSealer("other", ourKey))
	type fault = store.SealFault
	for name, tt := range map[string]struct {
		sealer        *store.Sealer
		journal, head []byte
		refused       bool
		fault         fault
		atHead        bool
		damage        string // instead of a fault
	}{
		"honest":                    {journal: whole, head: heads[2]},
		"an older head":             {journal: whole, head: heads[0]},
		"more than was committed":   {journal: bytes.Join(all[:9], nil), head: heads[1]},
		"with an older key":         {journal: whole, head: heads[2], sealer: store.NewSealer("site", otherKey, ourKey)},
		"in a project that moved":   {journal: whole, head: heads[2], sealer: store.NewSealer("moved", ourKey).Adopt("site")},
		"trusted":                   {journal: readFile(t, plain.path(journalName)), head: nil, sealer: ours.Trusting()},
		"not sealed":                {journal: readFile(t, plain.path(journalName)), head: readFile(t, plain.path(headName)), refused: true, fault: store.Unsealed},
		"sealed by somebody else":   {journal: readFile(t, foreign.path(journalName)), head: readFile(t, foreign.path(headName)), refused: true, fault: store.UnknownKey},
		"of another project":        {journal: readFile(t, elsewhere.path(journalName)), head: readFile(t, elsewhere.path(headName)), refused: true, fault: store.OtherProject},
		"forged with a chain":       {journal: forge(t, s, nil, 4), head: heads[2], refused: true, damage: "it is not the record that was written"},
		"forged, without a head":    {journal: forge(t, s, nil, 4), head: nil, refused: true, fault: store.Unsealed},
		"seals of the old records":  {journal: withSeals(t, forge(t, s, nil, 4), whole), head: nil, refused: true, fault: store.Forged},
		"cut back":                  {journal: bytes.Join(all[:10], nil), head: heads[2], refused: true, damage: "cut back"},
		"cut back to a commit":      {journal: bytes.Join(all[:8], nil), head: heads[2], refused: true, damage: "cut back"},
		"cut back, head removed":    {journal: bytes.Join(all[:8], nil), refused: true, fault: store.Unsealed, atHead: true},
		"cut back, head emptied":    {journal: bytes.Join(all[:8], nil), head: []byte{}, refused: true, fault: store.Unsealed, atHead: true},
		"cut back, head of no seal": {journal: bytes.Join(all[:8], nil), head: bytes.Replace(unsealedHead, []byte(`"seq":11`), []byte(`"seq":8`), 1), refused: true, fault: store.Unsealed, atHead: true},
		"cut back, head changed": {journal: bytes.Join(all[:8], nil), refused: true, fault: store.Forged, atHead: true,
			head: bytes.Replace(heads[1], sealOf(heads[1]), sealOf(heads[2]), 1)},
		"the first record only": {journal: all[0], head: heads[0], refused: true, damage: "cut back"},
	} {
		t.Run(name, func(t *testing.T) {
			at := inMemory(New(filepath.Join(fastDir(t), "perstack"), nil))
			writeFile(t, at.path(journalName), tt.journal)
			if tt.head != nil {
				writeFile(t, at.path(headName), tt.head)
			}
			sealer := tt.sealer
			if sealer == nil {
				sealer = ours
			}
			// The quick check finds the same, but accepts a job of any project.
			if err := at.CheckSeals(t.Context(), "job1", sealer); (err != nil) != (tt.refused && tt.fault != store.OtherProject) {
				t.Errorf("quickly: %v", err)
			}
			j, err := at.WithSeal(sealer).Open(t.Context(), "job1")
			if !tt.refused {
				if err != nil {
					t.Fatal(err)
				}
				mustAppend(t, j, storetest.Note("job1", 1, "it goes on"))
				mustClose(t, j)
				// From now on it is a job of this project, by its newest key.
				again, err := at.WithSeal(sealer).Open(t.Context(), "job1")
				if err != nil {
					t.Fatal(err)
				}
				mustClose(t, again)
				return
			}
			seal := (*store.SealError)(nil)
			switch {
			case tt.damage != "":
				if wantDamage(t, err, 0); !strings.Contains(err.Error(), tt.damage) {
					t.Errorf("%v, want %q", err, tt.damage)
				}
			case !errors.As(err, &seal) || seal.Fault != tt.fault || seal.Head != tt.atHead || seal.JobID != "job1":
				t.Errorf("%v (%+v), want the fault %d", err, seal, tt.fault)
			}
			if !bytes.Equal(readFile(t, at.path(journalName)), tt.journal) {
				t.Error("it was changed")
			}
			// It can be read all the same, and without a key it is as before.
			if n := recordsIn(t, at); n == 0 {
				t.Error("it cannot be read")
			}
			attack.Held(t, "T1", 1)
		})
	}
}

// withSeals gives the records of a journal the seals of another.
func withSeals(t *testing.T, journal, seals []byte) []byte {
	t.Helper()
	chain := store.Chain{JobID: "job1"}
	var out []byte
	from := lines(seals)
	for i, line := range lines(journal)[:11] {
		r, err := store.DecodeRecord(bytes.TrimSuffix(line, []byte("\n")))
		if err != nil {
			t.Fatal(err)
		}
		again, err := store.EncodeRecord(chain.Head.Seq+1, chain.Head.Digest, r.Event)
		if err != nil {
			t.Fatal(err)
		}
		text := append(bytes.TrimSuffix(again.Line, []byte("}")), `,"seal":"`...)
		text = append(append(text, sealOf(from[i])...), `"}`...)
		sealed, err := store.DecodeRecord(text)
		if err == nil {
			err = chain.Accept(sealed)
		}
		if err != nil {
			t.Fatal(err)
		}
		out = append(append(out, text...), '\n')
	}
	return out
}

// sealOf returns the seal in a line.
func sealOf(line []byte) []byte {
	_, rest, _ := bytes.Cut(line, []byte(`"seal":"`))
	seal, _, _ := bytes.Cut(rest, []byte(`"`))
	return seal
}

func recordsIn(t *testing.T, s *Store) (n int) {
	t.Helper()
	for _, err := range s.Read(t.Context(), "job1", 0) {
		if err != nil {
			t.Fatal(err)
		}
		n++
	}
	return n
}

// A process that dies before its first commit leaves a job that can be continued.
func TestSealedBeforeTheFirstCommit(t *testing.T) {
	s := inMemory(New(filepath.Join(fastDir(t), "perstack"), nil)).WithSeal(ours).(*Store)
	j := mustOpen(t, s)
	mustAppend(t, j, storetest.Sample("job1")[0])
	if err := j.abandon(); err != nil {
		t.Fatal(err)
	}
	mustClose(t, mustOpen(t, s))
}

// Seals of one job are worth nothing in another, even one of the same project.
func TestSealOfAnotherJob(t *testing.T) {
	s, _ := sealedJob(t, ours)
	other := filepath.Join(s.dir, jobsName, "job2")
	if err := os.Rename(filepath.Join(s.dir, jobsName, "job1"), other); err != nil {
		t.Fatal(err)
	}
	text := bytes.ReplaceAll(readFile(t, filepath.Join(other, journalName)), []byte(`"jobId":"job1"`), []byte(`"jobId":"job2"`))
	chain := store.Chain{JobID: "job2"}
	var moved []byte
	for _, line := range lines(text)[:11] {
		r, err := store.DecodeRecord(bytes.TrimSuffix(line, []byte("\n")))
		if err != nil {
			t.Fatal(err)
		}
		line = bytes.Replace(line, []byte(r.Prev.String()), []byte(chain.Head.Digest.String()), 1)
		if err := chain.Skip(bytes.TrimSuffix(line, []byte("\n"))); err != nil {
			t.Fatal(err)
		}
		moved = append(moved, line...)
	}
	writeFile(t, filepath.Join(other, journalName), moved)
	os.Remove(filepath.Join(other, headName))
	_, err := s.Open(t.Context(), "job2")
	seal := (*store.SealError)(nil)
	if !errors.As(err, &seal) || seal.Fault != store.Forged || seal.JobID != "job2" {
		t.Errorf("%v", err)
	}
}

// Verify finds the first record that was not sealed, and says how many were.
func TestVerifySeals(t *testing.T) {
	s, _ := sealedJob(t, ours)
	check := func(sealer *store.Sealer) (store.Report, *store.SealError) {
		t.Helper()
		report, err := store.VerifySeals(t.Context(), s, "job1", sealer)
		seal := (*store.SealError)(nil)
		if err != nil && !errors.As(err, &seal) {
			t.Fatal(err)
		}
		return report, seal
	}
	if report, seal := check(ours); seal != nil || report.Sealed != 11 || report.Project != "site" {
		t.Errorf("honest: %+v, %v", report, seal)
	}
	if report, seal := check(store.NewSealer("any", otherKey)); seal == nil || seal.Fault != store.UnknownKey || seal.Key != ourKey.ID() || seal.Seq != 1 || report.Records != 11 {
		t.Errorf("without the key: %+v, %v", report, seal)
	}
	// A history that was trusted once: what came before is still not sealed.
	writeFile(t, s.path(journalName), forge(t, s, nil, 4))
	os.Remove(s.path(headName))
	j, err := s.WithSeal(ours.Trusting()).Open(t.Context(), "job1")
	if err != nil {
		t.Fatal(err)
	}
	mustAppend(t, j, storetest.Note("job1", 1, "trusted"))
	mustClose(t, j)
	if report, seal := check(ours); seal == nil || seal.Fault != store.Unsealed || seal.Seq != 1 || report.Sealed != 1 || report.Records != 12 {
		t.Errorf("trusted: %+v, %v", report, seal)
	}
}

// The key is in no file of the history.
func TestKeyIsNotWritten(t *testing.T) {
	s, _ := sealedJob(t, ours)
	err := filepath.WalkDir(s.dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		if data := readFile(t, path); bytes.Contains(data, ourKey[:]) || bytes.Contains(data, []byte("010203000000")) {
			t.Errorf("%s has the key", path)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// A journal of before there were seals can be read, and continued by a user who trusts it.
func TestOlderJournal(t *testing.T) {
	s := inMemory(New(filepath.Join(fastDir(t), "perstack"), nil))
	r, err := store.EncodeRecord(1, store.Digest{}, storetest.Sample("job1")[0])
	if err != nil {
		t.Fatal(err)
	}
	writeFile(t, s.path(journalName), append(bytes.Replace(r.Line, []byte(`"version":3`), []byte(`"version":2`), 1), '\n'))
	if n := count(t, s); n != 1 {
		t.Errorf("%d records", n)
	}
	if _, err := s.WithSeal(ours).Open(t.Context(), "job1"); !errors.As(err, new(*store.SealError)) {
		t.Error(err)
	}
	j, err := s.WithSeal(ours.Trusting()).Open(t.Context(), "job1")
	if err != nil {
		t.Fatal(err)
	}
	mustAppend(t, j, storetest.Sample("job1")[1:]...)
	mustClose(t, j)
	if j, err = s.WithSeal(ours).Open(t.Context(), "job1"); err != nil {
		t.Fatal(err)
	}
	mustClose(t, j)
	var e event.Event
	for r, err := range s.Read(t.Context(), "job1", 1) {
		if err != nil || r.Seal == "" {
			t.Errorf("record %d: %q, %v", r.Seq, r.Seal, err)
		}
		e = r.Event
	}
	if !e.IsTerminal() {
		t.Errorf("the last event is %+v", e)
	}
}
