//go:build unix

package restore_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/perstack-go/perstack/internal/restore"
	"github.com/perstack-go/perstack/internal/workspace/rewind"
	"github.com/perstack-go/perstack/internal/workspace/snapshot"
)

// Random work by real programs, in several runs with edits of the user between them. Each undo gives
// the tree before the run, and bringing it back gives the tree after it.
func TestUndoAndBack(t *testing.T) {
	seeds := uint64(8)
	if testing.Short() {
		seeds = 2
	}
	for seed := range seeds {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			f := newFixture(t)
			random := rand.New(rand.NewPCG(seed, 1))
			all := commands
			if seed%2 == 1 {
				f.sh("git init -qb main .; echo 0 > tracked; git add tracked; git commit -qm 0")
				all = slices.Concat(commands, gitCommands)
			}
			f.sh("mkdir -p src empty; seq 100 > src/a; echo b > src/b; ln -s a src/link; chmod 700 empty; chmod +x src/b; printf 'user 1' > notes")
			var before []string
			for i := range 3 {
				f.write("notes", fmt.Sprint("user ", i)) // others' work, before the run
				before = append(before, f.copy())
				f.run(fmt.Sprint("task ", i), func(w *work) {
					for range 3 {
						w.call(func() { f.sh(all[random.IntN(len(all))]) })
					}
				})
			}
			for i := range 3 {
				after := f.copy()
				result, err := f.undo(rewind.Options{})
				f.check(err)
				want := before[len(before)-1-i]
				f.check(os.WriteFile(want+"/notes", []byte("user 2"), 0o644)) // which stays
				f.same(want, "undone")
				if result.Changed == 0 {
					continue
				}
				_, err = f.restore(restore.Name(result.Safety), rewind.Options{})
				f.check(err)
				f.same(after, "brought back")
				s := f.open()
				target := s.History.Files()[len(s.History.Files())-2]
				_, err = f.apply(s, target, rewind.Options{})
				f.check(errors.Join(err, s.Close()))
				f.same(want, "undone again")
			}
			s := f.open()
			defer s.Close()
			if start, ok := s.History.LastRun(); ok {
				t.Errorf("there is a run left: %+v", start)
			}
		})
	}
}

var commands = []string{
	"[ ! -f src/a ] || sed -i s/3/x/ src/a", "[ -d new ] || echo new >> new", "rm -rf src/b", "mkdir -p src/deep/er && echo x > src/deep/er/x",
	"rm -rf empty", "mkdir -p empty/more", "chmod 750 src", "[ ! -f src/a ] || chmod 600 src/a", "rm -rf src/link; ln -s ../nowhere src/link",
	"[ ! -e src/a ] || mv src/a moved", "rm -rf src; echo file > src || true; rm -rf src; mkdir src", "rm -rf new; mkdir -p new/dir",
	"printf '' > zero", "head -c 5000000 /dev/zero > large; echo end >> large",
}

var gitCommands = []string{
	"echo $$ > tracked; git commit -qam change", "git checkout -q -B side", "git add -A; git commit -q --allow-empty -m all", "git pack-refs --all",
	"git checkout -q --detach", "git tag -f tag >/dev/null", "echo x >> tracked; git stash -q || true", "git config user.name job", "echo '#!/bin/sh' > .git/hooks/post-commit; chmod +x .git/hooks/post-commit",
	"git branch -f main HEAD 2>/dev/null || true", "git reset -q --hard HEAD",
}

// Edits of the user survive: those of other files, and those of files that the job changed, too.
func TestEditsOfTheUserSurvive(t *testing.T) {
	f := newFixture(t)
	f.write("a", "original")
	f.write("b", "original")
	f.run("task", func(w *work) { w.call(func() { f.write("a", "job"); f.write("new", "job") }) })
	f.write("a", "user")
	f.write("b", "user")
	f.write("mine", "user")
	now := f.copy()
	_, err := f.undo(rewind.Options{})
	var refused *restore.RefusedError
	if !errors.As(err, &refused) || !slices.Equal(refused.Conflicts, []string{"a"}) {
		t.Fatalf("%v", err)
	}
	f.same(now, "refused")
	result, err := f.undo(rewind.Options{Force: true})
	f.check(err)
	for name, want := range map[string]string{"a": "original", "b": "user", "mine": "user", "new": "(none)"} {
		if is := f.read(name); is != want {
			t.Errorf("%s is %q, want %q", name, is, want)
		}
	}
	_, err = f.restore(restore.Name(result.Safety), rewind.Options{})
	f.check(err)
	f.same(now, "back")
}

// The user and the job change the same few files, in any order. Whatever is undone, the newest edits of
// the user stay or stop the undo, and a forced undo can be taken back to the last byte.
func TestNoEditIsLost(t *testing.T) {
	refusals, undone, seeds := 0, 0, uint64(15)
	if testing.Short() {
		seeds = 5
	}
	for seed := range seeds {
		f := newFixture(t)
		random := rand.New(rand.NewPCG(seed, 2))
		mine := map[string]string{} // what the user wrote last
		edit := func(by string) {
			name := fmt.Sprint("f", random.IntN(6))
			if random.IntN(5) == 0 {
				f.check(os.RemoveAll(f.path(name)))
				delete(mine, name)
				return
			}
			text := fmt.Sprint(by, random.Uint32())
			f.write(name, text)
			delete(mine, name)
			if by == "user" {
				mine[name] = text
			}
		}
		check := func(when string) {
			t.Helper()
			for name, text := range mine {
				if is := f.read(name); is != text {
					t.Fatalf("seed %d, %s: %s is %q, but the user wrote %q", seed, when, name, is, text)
				}
			}
		}
		for range 3 {
			edit("user")
			f.run("task", func(w *work) {
				for range 1 + random.IntN(3) {
					w.call(func() { edit("job") })
					if random.IntN(2) == 0 {
						edit("user")
					}
				}
			})
		}
		edit("user")
		for range 3 {
			now := f.copy()
			_, err := f.undo(rewind.Options{})
			var refused *restore.RefusedError
			if err == nil {
				undone++
				check("undone")
				continue
			}
			if !errors.As(err, &refused) {
				t.Fatal(err)
			}
			refusals++
			f.same(now, "refused")
			result, err := f.undo(rewind.Options{Force: true})
			f.check(err)
			_, err = f.restore(restore.Name(result.Safety), rewind.Options{})
			f.check(err)
			f.same(now, "forced, and back")
			check("forced, and back")
		}
	}
	if refusals < 5 || undone < 5 {
		t.Errorf("%d refused and %d undone: this tests too little", refusals, undone)
	}
}

// Edits that the user made before the run are what the undo brings back.
func TestEditsBeforeTheRun(t *testing.T) {
	f := newFixture(t)
	f.write("a", "original")
	f.run("first", func(w *work) { w.call(func() { f.write("a", "job 1") }) })
	f.write("a", "user")
	f.run("second", func(w *work) { w.call(func() { f.write("a", "job 2") }) })
	_, err := f.undo(rewind.Options{})
	f.check(err)
	if is := f.read("a"); is != "user" {
		t.Errorf("a is %q", is)
	}
	// Going further back would lose the edit.
	_, err = f.undo(rewind.Options{})
	var refused *restore.RefusedError
	if !errors.As(err, &refused) || !slices.Equal(refused.Conflicts, []string{"a"}) {
		t.Errorf("%v", err)
	}
}

// A file that a second run changed and that was undone is no conflict for the first.
func TestSecondUndo(t *testing.T) {
	f := newFixture(t)
	f.write("a", "original")
	f.write("b", "original")
	f.run("first", func(w *work) { w.call(func() { f.write("a", "job 1") }) })
	f.write("b", "user")
	f.run("second", func(w *work) { w.call(func() { f.write("b", "job 2") }) })
	for range 2 {
		_, err := f.undo(rewind.Options{})
		f.check(err)
	}
	if a, b := f.read("a"), f.read("b"); a != "original" || b != "user" {
		t.Errorf("a is %q, b is %q", a, b)
	}
}

// The process of the job died during a call, or before it could store the state after one. Who changed
// the files since is not known.
func TestUndoAfterACrash(t *testing.T) {
	for _, ended := range []bool{false, true} {
		f := newFixture(t)
		f.write("a", "original")
		w := f.start("task")
		w.begin()
		f.write("a", "somebody")
		if ended {
			w.end()
		}
		w.close()
		_, err := f.undo(rewind.Options{})
		var refused *restore.RefusedError
		if !errors.As(err, &refused) || !slices.Equal(refused.Conflicts, []string{"a"}) {
			t.Fatalf("ended %v: %v", ended, err)
		}
		_, err = f.undo(rewind.Options{Force: true})
		f.check(err)
		if is := f.read("a"); is != "original" {
			t.Errorf("ended %v: a is %q", ended, is)
		}
		s := f.open()
		if _, ok := s.History.LastRun(); ok || len(s.History.Open()) > 0 {
			t.Errorf("ended %v: the run is still there", ended)
		}
		if s.History.FilesUnsure() {
			t.Errorf("ended %v: the restore did not settle whose changes there are", ended)
		}
		f.check(s.Close())
	}
}

// What the present snapshot cannot capture is not restored, and neither is anything beside it.
func TestRefusedWithoutASafeCopy(t *testing.T) {
	f := newFixture(t)
	f.write("a", "original")
	f.write("b", "original")
	f.run("task", func(w *work) { w.call(func() { f.write("a", "job"); f.write("b", "job") }) })
	f.spec.Snapshots.MaxFileBytes = 1000
	f.run("no work", func(*work) {})
	f.write("a", strings.Repeat("large ", 1000))
	now := f.copy()
	s := f.open()
	target := s.History.Files()[0]
	_, err := f.apply(s, target, rewind.Options{Force: true})
	f.check(s.Close())
	var refused *restore.RefusedError
	if want := (snapshot.Skipped{Path: "a", Why: "larger than a snapshot takes"}); !errors.As(err, &refused) || len(refused.Lost) != 1 || refused.Lost[0] != want {
		t.Fatalf("%v", err)
	}
	f.same(now, "refused")
	s = f.open()
	_, err = f.apply(s, target, rewind.Options{Paths: []string{"b"}})
	f.check(errors.Join(err, s.Close()))
	if is := f.read("b"); is != "original" {
		t.Errorf("b is %q", is)
	}
}

// Damage of the stored files is found before anything changes.
func TestDamagedFilesChangeNothing(t *testing.T) {
	f := newFixture(t)
	f.write("a", strings.Repeat("original", 100))
	f.write("b", "original")
	f.run("task", func(w *work) {
		w.call(func() { f.write("b", "job") })
		w.call(func() { f.write("a", "job") })
	})
	now := f.copy()
	packs := f.place.Files() + "/packs/"
	names, err := os.ReadDir(packs)
	f.check(err)
	damaged := false
	for _, name := range names { // the one with the large content
		content, err := os.ReadFile(packs + name.Name())
		f.check(err)
		if i := strings.Index(string(content), "original"); i >= 0 && !damaged {
			content[i] ^= 1
			damaged = true
			f.check(os.WriteFile(packs+name.Name(), content, 0o600))
		}
	}
	if !damaged {
		t.Fatal("the content was not found in the packs")
	}
	s := f.open()
	defer s.Close()
	plan, err := s.Plan(t.Context(), s.History.Files()[0], rewind.Options{})
	f.check(err)
	if _, err = s.Apply(t.Context(), plan); err == nil || !strings.Contains(err.Error(), "nothing was restored: the stored content of") {
		t.Errorf("%v", err)
	}
	f.same(now, "refused")
	if s.History.OpenRestore() != nil {
		t.Error("the journal says that a restore began")
	}
}

// A directory that snapshots leave out can be captured later, when the file is gone that marked it.
// What was in it before is not known, so it stays, and does not count as the work of the job.
func TestDirectoriesThatWereLeftOut(t *testing.T) {
	f := newFixture(t)
	f.sh("echo {} > package.json; mkdir -p node_modules/a; echo old > node_modules/a/b")
	before := f.copy()
	f.run("task", func(w *work) {
		w.call(func() { f.sh("rm package.json; echo x > x") })
		w.call(func() { f.sh("echo y > y") })
	})
	s := f.open()
	all := s.History.Files()
	changes, err := restore.Compare(t.Context(), f.place.Files(), s.History, all[0], all[len(all)-1], nil)
	f.check(errors.Join(err, s.Close()))
	for _, c := range changes.List {
		if strings.HasPrefix(c.Path, "node_modules/") {
			t.Errorf("%s counts as changed by the job", c.Path)
		}
	}
	f.check(changes.Close())
	_, err = f.restore(restore.Name(all[0]), rewind.Options{Exact: true})
	f.check(err)
	f.same(before, "exact")
	f.sh("echo z > z")
	f.run("task", func(w *work) { w.call(func() { f.sh("rm package.json; echo x > x") }) })
	_, err = f.undo(rewind.Options{Force: true})
	f.check(err)
	f.sh("rm z")
	f.same(before, "undone")
}
