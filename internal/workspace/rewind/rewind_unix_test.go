//go:build unix

package rewind_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/perstack-go/perstack/internal/workspace/rewind"
	"github.com/perstack-go/perstack/internal/workspace/snapshot"
)

// A fixture is a workspace with a store beside it.
type fixture struct {
	t     testing.TB
	dir   string
	store *snapshot.Store
	taker *snapshot.Taker
	count int

	storeDir string
	options  snapshot.Options
}

func newFixture(t testing.TB) *fixture {
	storeDir := t.TempDir()
	store, err := snapshot.Open(t.Context(), storeDir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { store.Close() })
	dir := t.TempDir()
	options := snapshot.Defaults()
	return &fixture{t: t, dir: dir, storeDir: storeDir, store: store, taker: store.Taker(dir, options), options: options}
}

func (f *fixture) path(name string) string { return filepath.Join(f.dir, name) }

func (f *fixture) write(name, content string) {
	f.t.Helper()
	f.check(os.MkdirAll(filepath.Dir(f.path(name)), 0o755))
	f.check(os.WriteFile(f.path(name), []byte(content), 0o644))
}

func (f *fixture) check(err error) {
	f.t.Helper()
	if err != nil {
		f.t.Fatal(err)
	}
}

func (f *fixture) take() snapshot.ID {
	f.t.Helper()
	s, err := f.taker.Take(f.t.Context())
	f.check(err)
	if s.SkippedAll > 0 {
		f.t.Fatalf("not captured: %v", s.Skipped)
	}
	return s.Tree
}

func (f *fixture) load(id snapshot.ID) snapshot.Tree {
	f.t.Helper()
	tree, err := f.store.Load(id)
	f.check(err)
	return tree
}

// list returns what is on the disk, read without the package that is tested.
func (f *fixture) list() map[string]string {
	f.t.Helper()
	all := map[string]string{}
	f.check(filepath.WalkDir(f.dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || path == f.dir {
			return err
		}
		name, _ := filepath.Rel(f.dir, path)
		info, err := e.Info()
		if err != nil {
			return err
		}
		all[name] = info.Mode().String()
		switch {
		case e.Type() == fs.ModeSymlink:
			target, err := os.Readlink(path)
			all[name] += " " + target
			return err
		case e.Type().IsRegular():
			content, err := os.ReadFile(path)
			all[name] += " " + string(content)
			return err
		}
		return nil
	}))
	return all
}

// restore goes back to the first of the states.
func (f *fixture) restore(states []rewind.State, o rewind.Options) (rewind.Plan, rewind.Result, snapshot.ID) {
	f.t.Helper()
	work, err := rewind.WorkOf(f.store, states)
	f.check(err)
	safety := f.take()
	plan := rewind.Make(f.load(states[0].Tree), f.load(safety), work, o)
	if len(plan.Conflicts) > 0 {
		return plan, rewind.Result{}, safety
	}
	goal, err := f.store.Save(plan.Goal)
	f.check(err)
	f.count++
	result, err := rewind.Apply(f.t.Context(), f.dir, fmt.Sprint(f.count), f.store, f.taker, plan.Changes)
	f.check(err)
	if after := f.take(); after != goal && len(result.Skipped) == 0 {
		f.t.Errorf("the workspace is not what was planned")
	}
	return plan, result, safety
}

// Random work of a job, and edits of the user meanwhile. A restore gives back what the job found,
// and keeps every byte of the user; a second one gives back what there was before the first.
func TestRandomWorkIsUndone(t *testing.T) {
	for seed := range uint64(150) {
		if testing.Short() && seed == 20 {
			break
		}
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			f := newFixture(t)
			random := rand.New(rand.NewPCG(seed, 7))
			f.work(random, 30, "job")
			before, first := f.list(), f.take()
			f.work(random, 1+random.IntN(30), "job")
			states := []rewind.State{{Tree: first}, {Tree: f.take(), Job: true}}
			left := f.list()
			edited := map[string]string{}
			if seed%2 == 1 {
				f.work(random, 1+random.IntN(4), "user")
				for name, is := range f.list() {
					if left[name] != is {
						edited[name] = is
					}
				}
			}
			present := f.list()
			plan, result, safety := f.restore(states, rewind.Options{})
			after := f.list()
			if len(result.Skipped) > 0 {
				t.Errorf("skipped %v", result.Skipped)
			}
			if len(plan.Conflicts) > 0 {
				if diff := cmp.Diff(present, after); diff != "" {
					t.Errorf("there are conflicts, and something changed: %s", diff)
				}
				plan, _, safety = f.restore(states, rewind.Options{Force: true})
				after = f.list()
				if len(plan.Conflicts) > 0 {
					t.Errorf("conflicts by force: %v", plan.Conflicts)
				}
			} else {
				for name, is := range edited {
					if after[name] != is && strings.Contains(is, "user") {
						t.Errorf("%s: the edit of the user %q became %q", name, is, after[name])
					}
				}
			}
			if seed%2 == 0 {
				if diff := cmp.Diff(before, after); diff != "" {
					t.Errorf("after the restore: %s", diff)
				}
			}
			goal := f.take()
			f.restore([]rewind.State{{Tree: safety}, {Tree: goal, Job: true}}, rewind.Options{})
			if diff := cmp.Diff(present, f.list()); diff != "" {
				t.Errorf("after the restore was undone: %s", diff)
			}
		})
	}
}

// work changes the workspace at random.
func (f *fixture) work(random *rand.Rand, times int, who string) {
	names := []string{"a", "b", "c", "d/a", "d/b", "d/e/a", "d/e/b", "f/a", "f/g/h/i", "A b\nc"}
	pick := func() string { return f.path(names[random.IntN(len(names))]) }
	for range times {
		name := pick()
		switch random.IntN(10) {
		case 0, 1, 2, 3:
			_ = os.MkdirAll(filepath.Dir(name), 0o755)
			_ = os.WriteFile(name, fmt.Appendf(nil, "%s %d", who, random.Uint32()), 0o644)
		case 4:
			_ = os.RemoveAll(name)
		case 5:
			_ = os.Rename(name, pick())
		case 6:
			_ = os.Remove(name)
			_ = os.Symlink(fmt.Sprint("../x", random.IntN(9)), name)
		case 7:
			_ = os.RemoveAll(name)
			_ = os.MkdirAll(name, 0o755)
		case 8:
			if info, err := os.Lstat(name); err == nil && info.Mode()&fs.ModeSymlink == 0 {
				modes := []fs.FileMode{0o755, 0o700, 0o775}
				_ = os.Chmod(name, modes[random.IntN(len(modes))])
			}
		case 9:
			_ = os.RemoveAll(filepath.Dir(name)) // can be the workspace
			_ = os.MkdirAll(f.dir, 0o755)
		}
	}
}

func TestConflicts(t *testing.T) {
	for name, c := range map[string]struct {
		job, user func(f *fixture)
		options   rewind.Options
		conflicts []string
		left      []string
		want      map[string]string // nothing: as before the job
	}{
		"user edits what the job edited": {
			job:  func(f *fixture) { f.write("a", "job") },
			user: func(f *fixture) { f.write("a", "user") }, conflicts: []string{"a"},
		},
		"by force": {
			job:  func(f *fixture) { f.write("a", "job") },
			user: func(f *fixture) { f.write("a", "user") }, options: rewind.Options{Force: true},
		},
		"user removes what the job made": {
			job:  func(f *fixture) { f.write("new", "job") },
			user: func(f *fixture) { f.check(os.Remove(f.path("new"))) },
		},
		"user edits another file": {
			job:  func(f *fixture) { f.write("a", "job") },
			user: func(f *fixture) { f.write("b", "user") }, want: map[string]string{"b": "-rw-r--r-- user"},
		},
		"exact": {
			job:  func(f *fixture) { f.write("a", "job") },
			user: func(f *fixture) { f.write("b", "user") }, options: rewind.Options{Exact: true},
		},
		"user puts a file into a directory of the job": {
			job:  func(f *fixture) { f.write("new/a", "job") },
			user: func(f *fixture) { f.write("new/b", "user") }, left: []string{"new"},
			want: map[string]string{"new": "drwxr-xr-x", "new/b": "-rw-r--r-- user"},
		},
		"a file became a directory with a file of the user": {
			job:  func(f *fixture) { f.check(os.Remove(f.path("a"))); f.check(os.Mkdir(f.path("a"), 0o755)) },
			user: func(f *fixture) { f.write("a/b", "user") }, conflicts: []string{"a"},
		},
		"the same by force": {
			job:  func(f *fixture) { f.check(os.Remove(f.path("a"))); f.check(os.Mkdir(f.path("a"), 0o755)) },
			user: func(f *fixture) { f.write("a/b", "user") }, options: rewind.Options{Force: true},
		},
		"the user removed the directory of a file that the job removed": {
			job:  func(f *fixture) { f.check(os.Remove(f.path("dir/a"))) },
			user: func(f *fixture) { f.check(os.Remove(f.path("dir"))) },
		},
		"one path": {
			job:     func(f *fixture) { f.write("a", "job"); f.write("dir/a", "job") },
			options: rewind.Options{Paths: []string{"dir"}}, want: map[string]string{"a": "-rw-r--r-- job"},
		},
		"git wrote its index again": {
			job:  func(f *fixture) { f.write(".git/index", "job") },
			user: func(f *fixture) { f.write(".git/index", "git status") },
		},
		"git stays": {
			job:     func(f *fixture) { f.write(".git/HEAD", "job"); f.write("a", "job") },
			options: rewind.Options{KeepGit: true}, want: map[string]string{".git/HEAD": "-rw-r--r-- job"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			for _, name := range []string{"a", "b", "dir/a", ".git/index", ".git/HEAD"} {
				f.write(name, "before")
			}
			want, first := f.list(), f.take()
			c.job(f)
			states := []rewind.State{{Tree: first}, {Tree: f.take(), Job: true}}
			if c.user != nil {
				c.user(f)
			}
			if len(c.conflicts) > 0 {
				want = f.list()
			}
			plan, _, _ := f.restore(states, c.options)
			for name, is := range c.want {
				want[name] = is
			}
			if !slices.Equal(plan.Conflicts, c.conflicts) {
				t.Errorf("conflicts %v, want %v", plan.Conflicts, c.conflicts)
			}
			var left []string
			for _, l := range plan.Left {
				left = append(left, l.Path)
			}
			if !slices.Equal(left, c.left) {
				t.Errorf("left alone %v, want %v", left, c.left)
			}
			if diff := cmp.Diff(want, f.list()); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// The user edited a file between two changes of the job. To restore what was before the first would
// lose that.
func TestEditsBetweenChangesOfTheJob(t *testing.T) {
	for _, jobFirst := range []bool{true, false} {
		f := newFixture(t)
		f.write("a", "before")
		states := []rewind.State{{Tree: f.take()}}
		if jobFirst {
			f.write("a", "job 1")
			states = append(states, rewind.State{Tree: f.take(), Job: true})
		}
		f.write("a", "user")
		states = append(states, rewind.State{Tree: f.take(), Others: true})
		f.write("a", "job 2")
		states = append(states, rewind.State{Tree: f.take(), Job: true})
		if plan, _, _ := f.restore(states, rewind.Options{}); !slices.Equal(plan.Conflicts, []string{"a"}) {
			t.Errorf("job first %v: conflicts %v", jobFirst, plan.Conflicts)
		}
	}
}

// It is not known who changed a file: restoring it could lose an edit of the user.
func TestChangesOfUnknownAuthors(t *testing.T) {
	f := newFixture(t)
	f.write("a", "before")
	states := []rewind.State{{Tree: f.take()}}
	f.write("a", "somebody")
	states = append(states, rewind.State{Tree: f.take(), Job: true, Others: true})
	if plan, _, _ := f.restore(states, rewind.Options{}); !slices.Equal(plan.Conflicts, []string{"a"}) {
		t.Errorf("conflicts %v", plan.Conflicts)
	}
}

// What was undone is no work of the job any more, and what was brought back is.
func TestWorkAfterRestores(t *testing.T) {
	f := newFixture(t)
	f.write("a", "before")
	f.write("b", "before")
	states := []rewind.State{{Tree: f.take()}}
	add := func(s rewind.State) snapshot.ID {
		s.Tree = f.take()
		states = append(states, s)
		return s.Tree
	}
	work := func() string {
		got, err := rewind.WorkOf(f.store, states)
		f.check(err)
		var parts []string
		for path, part := range got {
			parts = append(parts, fmt.Sprint(path, part.Mixed))
		}
		slices.Sort(parts)
		return strings.Join(parts, " ")
	}
	f.write("a", "job 1")
	add(rewind.State{Job: true})
	f.write("b", "user")
	first := add(rewind.State{Others: true})
	f.write("b", "job 2")
	second := add(rewind.State{Job: true})
	if got := work(); got != "afalse btrue" {
		t.Error(got)
	}
	f.write("b", "user")
	add(rewind.State{Job: true, Restored: first})
	if got := work(); got != "afalse" {
		t.Errorf("undone: %s", got)
	}
	f.write("b", "job 2")
	add(rewind.State{Job: true, Restored: second})
	if got := work(); got != "afalse btrue" {
		t.Errorf("brought back: %s", got)
	}
}

// What changes between the snapshot and the restore is left alone.
func TestChangesDuringTheRestore(t *testing.T) {
	outside := t.TempDir()
	for name, c := range map[string]struct {
		change func(f *fixture)
		want   string // skipped
	}{
		"file":      {func(f *fixture) { f.write("dir/a", "user") }, "dir/a"},
		"same size": {func(f *fixture) { f.write("dir/a", "jOb") }, "dir/a"},
		"link":      {func(f *fixture) { f.check(os.Remove(f.path("dir/a"))); f.check(os.Symlink(outside, f.path("dir/a"))) }, "dir/a"},
		"directory": {func(f *fixture) {
			f.check(os.Rename(f.path("dir"), f.path("x")))
			f.check(os.Symlink(outside, f.path("dir")))
		}, "dir/a"},
		"other directory": {func(f *fixture) { f.check(os.Rename(f.path("dir"), f.path("x"))); f.write("dir/a", "job") }, "dir/a"},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			f.write("dir/a", "before")
			f.write("b", "before")
			first := f.take()
			f.write("dir/a", "job")
			f.write("b", "job")
			now := f.take()
			plan := rewind.Make(f.load(first), f.load(now), nil, rewind.Options{Exact: true})
			c.change(f)
			want := f.list()
			want["b"] = "-rw-r--r-- before"
			result, err := rewind.Apply(t.Context(), f.dir, "1", f.store, f.taker, plan.Changes)
			f.check(err)
			if len(result.Skipped) != 1 || result.Skipped[0].Path != c.want {
				t.Errorf("skipped %v, want %s", result.Skipped, c.want)
			}
			if diff := cmp.Diff(want, f.list()); diff != "" {
				t.Error(diff)
			}
		})
	}
	if names, err := os.ReadDir(outside); err != nil || len(names) > 0 {
		t.Errorf("outside there is %v, %v", names, err)
	}
}

func TestDirectoriesThatCannotBeWritten(t *testing.T) {
	f := newFixture(t)
	f.write("dir/a", "before")
	f.check(os.Chmod(f.path("dir"), 0o555))
	want, first := f.list(), f.take()
	f.check(os.Chmod(f.path("dir"), 0o755))
	f.write("dir/a", "job")
	f.write("dir/b/c", "job")
	f.check(os.Chmod(f.path("dir/b"), 0o555))
	f.check(os.Chmod(f.dir, 0o555))
	t.Cleanup(func() {
		for _, name := range []string{"", "dir", "dir/b"} {
			_ = os.Chmod(f.path(name), 0o755)
		}
	})
	f.restore([]rewind.State{{Tree: first}, {Tree: f.take(), Job: true}}, rewind.Options{})
	if diff := cmp.Diff(want, f.list()); diff != "" {
		t.Error(diff)
	}
}

// A process is killed at each step of a restore. The next one does the rest.
func TestKilledRestoresAreFinished(t *testing.T) {
	for step := 1; ; step++ {
		f := newFixture(t)
		random := rand.New(rand.NewPCG(3, 4))
		f.work(random, 40, "job")
		f.write("closed/a", "before")
		f.check(os.Chmod(f.path("closed"), 0o555))
		t.Cleanup(func() { _ = os.Chmod(f.path("closed"), 0o755) })
		want, first := f.list(), f.take()
		f.work(random, 40, "job")
		_ = os.Chmod(f.path("closed"), 0o755) // if it is still there
		f.write("closed/a", "job")
		f.check(os.Chmod(f.path("closed"), 0o555))
		was := f.load(f.take())
		plan := rewind.Make(f.load(first), was, nil, rewind.Options{Exact: true})
		if len(plan.Changes) < 5 {
			t.Fatal("there is nearly nothing to do")
		}
		// The goal is stored before, as the journal would have it.
		goal, err := f.store.Save(plan.Goal)
		f.check(err)
		killed := child(t, f.dir, f.storeDir, first, step)
		f.write("new", "user") // while nothing is at work
		rest := rewind.Rest(was, f.load(goal), f.load(f.take()))
		if len(rest.Left) > 0 {
			t.Errorf("step %d: left alone: %v", step, rest.Left)
		}
		_, err = rewind.Apply(t.Context(), f.dir, "1", f.store, f.taker, rest.Changes)
		f.check(err)
		f.check(os.Remove(f.path("new")))
		if diff := cmp.Diff(want, f.list()); diff != "" {
			t.Fatalf("step %d: %s", step, diff)
		}
		if !killed {
			if step < 10 {
				t.Errorf("the restore has only %d steps", step)
			}
			return
		}
	}
}

// child restores a snapshot in another process, which kills itself at a step, and reports whether it
// was killed.
func child(t *testing.T, dir, store string, target snapshot.ID, step int) bool {
	t.Helper()
	cmd := exec.Command(os.Args[0], dir, store, target.String(), fmt.Sprint(step))
	cmd.Env = append(os.Environ(), childVariable+"=1")
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if errors.As(err, &exit) && exit.Sys().(syscall.WaitStatus).Signal() == syscall.SIGKILL {
		return true
	}
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return false
}

const childVariable = "PERSTACK_TEST_RESTORE"

func TestMain(m *testing.M) {
	if os.Getenv(childVariable) == "" {
		os.Exit(m.Run())
	}
	if err := restoreAndDie(os.Args[1:]); err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
}

func restoreAndDie(args []string) error {
	store, err := snapshot.Open(context.Background(), args[1])
	if err != nil {
		return err
	}
	target, err := snapshot.ParseID(args[2])
	if err != nil {
		return err
	}
	step, err := strconv.Atoi(args[3])
	if err != nil {
		return err
	}
	taker := store.Taker(args[0], snapshot.Defaults())
	now, err := taker.Take(context.Background())
	if err != nil {
		return err
	}
	was, err := store.Load(now.Tree)
	if err != nil {
		return err
	}
	goal, err := store.Load(target)
	if err != nil {
		return err
	}
	plan := rewind.Make(goal, was, nil, rewind.Options{Exact: true})
	_, err = rewind.Apply(&deadly{Context: context.Background(), left: step}, args[0], "1", store, taker, plan.Changes)
	return err
}

// A deadly context kills the process when it is asked for the last time.
type deadly struct {
	context.Context
	left int
}

func (d *deadly) Err() error {
	if d.left--; d.left == 0 {
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
	}
	return nil
}

func TestHardLinksOutsideStay(t *testing.T) {
	f := newFixture(t)
	f.write("a", "before")
	outside := filepath.Join(t.TempDir(), "a")
	first := f.take()
	f.write("a", "job")
	f.check(os.Link(f.path("a"), outside))
	f.restore([]rewind.State{{Tree: first}, {Tree: f.take(), Job: true}}, rewind.Options{})
	if content, err := os.ReadFile(outside); err != nil || string(content) != "job" {
		t.Errorf("the other name has %q, %v", content, err)
	}
}

func TestNamesThatFoldTogether(t *testing.T) {
	target := snapshot.Tree{"Foo": {Name: "Foo", Kind: snapshot.File, ID: snapshot.ID{1}}, "foo": {Name: "foo", Kind: snapshot.File, ID: snapshot.ID{2}}}
	plan := rewind.Make(target, snapshot.Tree{}, nil, rewind.Options{Exact: true, Fold: strings.ToLower})
	if !slices.Equal(plan.Folded, []string{"Foo", "foo"}) {
		t.Errorf("folded: %v", plan.Folded)
	}
	delete(target, "foo")
	now := snapshot.Tree{"foo": {Name: "foo", Kind: snapshot.File, ID: snapshot.ID{1}}}
	if plan := rewind.Make(target, now, nil, rewind.Options{Exact: true, Fold: strings.ToLower}); plan.Folded != nil || len(plan.Changes) != 2 {
		t.Errorf("another spelling: %+v", plan)
	}
}
