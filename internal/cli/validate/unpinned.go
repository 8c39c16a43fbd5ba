package validate

import (
	"errors"

	"github.com/perstack-go/perstack/expert"
)

// install is the advice about all that a lockfile lacks.
const install = "run: perstack install"

// unpinned lists what would keep perstack run from starting an Expert because of its
// lockfile: one that is broken or stale, or behind walls the packages and images that
// nobody has pinned. err is what reading it came to.
func unpinned(c *expert.Config, lock *expert.Lock, err error, e *expert.Expert) (notes expert.Problems) {
	closure, _ := c.Closure(e)
	walled := c.Runtime == expert.DockerRuntime
	switch {
	case err != nil:
		notes = broken(err)
	case lock != nil:
		notes = lock.Stale(c, e)
	case walled:
		notes = c.LockNeeded([]*expert.Expert{e})
	}
	if len(notes) == 0 && walled { // what mends the lockfile pins images too
		for _, name := range c.ImagesOf(closure) {
			if _, ok := lock.Image(name); !ok {
				notes = append(notes, c.Problem("docker", "the image "+name+" is not pinned", install))
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
func broken(err error) expert.Problems {
	var all expert.Problems
	if !errors.As(err, &all) || len(all) == 0 {
		return expert.Problems{{Message: err.Error()}}
	}
	first := all[0]
	first.Hint = all[len(all)-1].Hint
	return expert.Problems{first}
}
