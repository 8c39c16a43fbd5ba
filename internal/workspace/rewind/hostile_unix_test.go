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
