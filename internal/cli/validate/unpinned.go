package validate

import (
	"errors"

	"github.com/perstack-go/perstack/expert"
	"github.com/perstack-go/perstack/internal/lockfile"
	"github.com/perstack-go/perstack/internal/manifest"
	"github.com/perstack-go/perstack/internal/toml"
	"github.com/perstack-go/perstack/job"
)

// unpinned lists what would keep perstack run from starting an Expert because of its
// lockfile: one that is broken or stale, or behind walls the packages and images that
// nobody has pinned. err is what reading it came to.
func unpinned(c *manifest.Config, lock *lockfile.Lock, err error, e *expert.Expert) (notes toml.Problems) {
	closure, _ := c.Closure(e)
	walled := c.Runtime == job.Docker
	switch {
	case err != nil:
		notes = broken(err)
	case lock != nil:
		notes = lock.Stale(c, e)
	case walled:
		notes = lockfile.Needed(c, []*expert.Expert{e})
	}
	if len(notes) == 0 && walled { // what mends the lockfile pins images too
		for _, name := range c.ImagesOf(closure) {
			if _, ok := lock.Image(name); !ok {
				notes = append(notes, c.Problem("docker", "the image "+name+" is not pinned", lockfile.InstallAgain))
			}
		}
	}
	for i := range notes {
		notes[i].Message = "no run will start: " + notes[i].Message
	}
	return notes
}

// broken is the first thing that is wrong with a lockfile, with what to do about it. Where
// one thing is wrong, the rest of the file means little.
func broken(err error) toml.Problems {
	var all toml.Problems
	if !errors.As(err, &all) || len(all) == 0 {
		return toml.Problems{{Message: err.Error()}}
	}
	first := all[0]
	first.Hint = all[len(all)-1].Hint
	return toml.Problems{first}
}
