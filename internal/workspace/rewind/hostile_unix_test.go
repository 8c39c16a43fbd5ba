//go:build unix

package rewind_test

import (
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/perstack-go/perstack/internal/workspace/rewind"
)

// A job puts something where the restore stages contents. The restore is carried out all the same,
// and removes what the job made.
func TestStagingDirectoryOfTheJob(t *testing.T) {
	const staging = ".perstack-restore-1" // of the first restore of a fixture
	for name, plant := range map[string]func(f *fixture){
		"file":      func(f *fixture) { f.write(staging, "job") },
		"link":      func(f *fixture) { f.check(os.Symlink("dir", f.path(staging))) },
		"directory": func(f *fixture) { f.write(staging+"/sub/0", "job") },
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			f.write("dir/a", "before")
			f.write("dir/0", "before") // named like staged content
			want, first := f.list(), f.take()
			f.write("dir/a", "job")
			plant(f)
			f.restore([]rewind.State{{Tree: first}, {Tree: f.take(), Job: true}}, rewind.Options{})
			if diff := cmp.Diff(want, f.list()); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// A directory that the target does not have the content of was not empty. What is in it now stays.
func TestContentThatTheTargetDoesNotHave(t *testing.T) {
	for _, o := range []rewind.Options{{Exact: true}, {Force: true}, {}} {
		f := newFixture(t)
		f.write("dir/sub/notes", "user")
		f.write("a", "before")
		hiding := f.options
		hiding.Exclude = func(path string) bool { return path == "dir" }
		first, err := f.store.Taker(f.dir, hiding).Take(t.Context())
		f.check(err)
		f.write("a", "job")
		want, second := f.list(), f.take()
		want["a"] = "-rw-r--r-- before"
		work, err := rewind.WorkOf(f.store, []rewind.State{{Tree: first.Tree}, {Tree: second, Job: true}})
		f.check(err)
		plan := rewind.Make(f.load(first.Tree), f.load(second), work, o)
		_, err = rewind.Apply(t.Context(), f.dir, "1", f.store, f.taker, plan.Changes)
		f.check(err)
		if diff := cmp.Diff(want, f.list()); diff != "" {
			t.Error(diff)
		}
		if len(plan.Left) != 1 || plan.Left[0].Path != "dir" {
			t.Errorf("left %v, want dir", plan.Left)
		}
	}
}
