//go:build unix

package restore_test

import (
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/perstack-go/perstack/engine"
	"github.com/perstack-go/perstack/internal/restore"
	"github.com/perstack-go/perstack/internal/workspace/rewind"
	"github.com/perstack-go/perstack/internal/workspace/snapshot"
)

// noise returns content that cannot be compressed.
func noise(seed uint64) string {
	random := rand.New(rand.NewPCG(seed, 1))
	content := make([]byte, 20_000)
	for i := range content {
		content[i] = byte(random.Uint32())
	}
	return string(content)
}

// The files of a deleted job go, those of others stay.
func TestCollect(t *testing.T) {
	f := newFixture(t)
	f.write("a", noise(1))
	f.run("task", func(w *work) { w.call(func() { f.write("a", noise(2)) }) })
	f.job, f.from, f.last, f.runs = "j2", nil, "", 0
	f.run("task", func(w *work) { w.call(func() { f.write("a", noise(3)) }) })
	now := f.source.Now()
	free, err := restore.Collect(t.Context(), f.journals(), f.place.Files(), now)
	if err != nil || free != 0 {
		t.Errorf("%d, %v", free, err)
	}
	f.check(os.RemoveAll(filepath.Join(f.place.Storage, "jobs", "j1")))
	if free, err = restore.Collect(t.Context(), f.journals(), f.place.Files(), now); err != nil || free < 15_000 {
		t.Errorf("%d, %v", free, err)
	}
	_, err = f.undo(rewind.Options{})
	f.check(err)
	if f.read("a") != strings.TrimSpace(noise(2)) {
		t.Error("the other job cannot be undone")
	}
}

// A state before a restore is kept for 30 days. Later restores work without it.
func TestSafetyIsKeptForAWhile(t *testing.T) {
	f := newFixture(t)
	f.write("a", noise(1))
	f.run("task", func(w *work) { w.call(func() { f.write("a", noise(2)) }) })
	f.write("a", noise(3))
	f.write("mine", "user")
	result, err := f.undo(rewind.Options{Force: true})
	f.check(err)
	day := 24 * time.Hour
	for _, c := range []struct {
		after time.Duration
		frees bool
	}{{29 * day, false}, {31 * day, true}} {
		free, err := restore.Collect(t.Context(), f.journals(), f.place.Files(), f.source.Now().Add(c.after))
		if err != nil || free > 0 != c.frees {
			t.Errorf("after %s: %d, %v", c.after, free, err)
		}
	}
	s := f.open()
	if _, err = s.Plan(t.Context(), result.Safety, rewind.Options{}); err == nil || !strings.Contains(err.Error(), "are not stored any more") {
		t.Errorf("%v", err)
	}
	// What the undo left is a state like others.
	all := s.History.Files()
	_, err = s.Plan(t.Context(), all[len(all)-1], rewind.Options{})
	f.check(err)
	_, err = f.apply(s, all[1], rewind.Options{Force: true})
	f.check(err)
	f.check(s.Close())
	if f.read("a") != strings.TrimSpace(noise(2)) {
		t.Error("what the run left cannot be restored")
	}
}

// An edit of the user between two changes of the job is in a state that was removed. It is not lost
// all the same.
func TestEditsInRemovedStates(t *testing.T) {
	f := newFixture(t)
	f.write("a", "original")
	f.write("noise", noise(1))
	f.run("task", func(w *work) {
		w.call(func() { f.write("noise", noise(2)) })
		f.write("a", "user")
		w.call(func() { f.write("noise", noise(3)) })
	})
	f.check(restore.Limit(t.Context(), f.journals(), f.place.Files(), 1, f.source.Now()))
	_, err := f.undo(rewind.Options{})
	var refused *restore.RefusedError
	if !errors.As(err, &refused) || !slices.Equal(refused.Conflicts, []string{"a", "noise"}) {
		t.Errorf("%v", err)
	}
	if is := f.read("a"); is != "user" {
		t.Errorf("a is %s", is)
	}
}

// Too many files: states in the middle of the oldest job go first, its ends stay.
func TestLimit(t *testing.T) {
	f := newFixture(t)
	f.write("a", noise(1))
	for _, id := range []string{"j1", "j2"} {
		f.job, f.from, f.last, f.runs = id, nil, "", 0
		f.run("task", func(w *work) {
			for i := range uint64(3) {
				w.call(func() { f.write("a", noise(10*uint64(id[1])+i)) })
			}
		})
		f.check(f.source.Sleep(t.Context(), time.Minute))
	}
	size := func() int64 {
		n, err := snapshot.Size(f.place.Files())
		f.check(err)
		return n
	}
	stored := func(id string) (has []bool) {
		files, err := snapshot.Open(t.Context(), f.place.Files())
		f.check(err)
		defer files.Close()
		h, err := engine.Load(t.Context(), f.journals(), id)
		f.check(err)
		for _, s := range h.Files() {
			tree, err := snapshot.ParseID(s.Tree)
			f.check(err)
			is, err := files.Has(tree)
			f.check(err)
			has = append(has, is)
		}
		return has
	}
	before := size()
	f.check(restore.Limit(t.Context(), f.journals(), f.place.Files(), before, f.source.Now()))
	if size() != before {
		t.Error("something was removed below the limit")
	}
	f.check(restore.Limit(t.Context(), f.journals(), f.place.Files(), before-10_000, f.source.Now()))
	if now := size(); now > before-10_000 {
		t.Errorf("%d bytes, before %d", now, before)
	}
	if a, b := stored("j1"), stored("j2"); !a[0] || a[1] || a[2] || !a[3] || !b[0] || !b[1] || !b[2] || !b[3] {
		t.Errorf("j1 has %v, j2 has %v", a, b)
	}
	f.job = "j1"
	s := f.open()
	defer s.Close()
	plan, err := s.Plan(t.Context(), s.History.Files()[0], rewind.Options{Exact: true})
	f.check(err)
	_, err = s.Apply(t.Context(), plan)
	f.check(err)
	if f.read("a") != strings.TrimSpace(noise(1)) {
		t.Error("the first state cannot be restored")
	}
}
