package workspace

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
)

const (
	maxLinks   = 40   // links followed for one path; the number of Linux
	maxSteps   = 1000 // components looked at for one path, those of links included
	maxRetries = 16   // walks that are begun again because something was swapped
)

// errChanged says that a name led to something else when it was opened than when it
// was looked at: somebody replaced it in between.
var errChanged = errors.New("changed while it was opened")

// A place is where a path led. Either it is a directory (name is empty, the last of
// dirs is open on it), or it is a name in the last of dirs: a file that is no link,
// or nothing yet (info is nil).
type place struct {
	dirs  []*os.Root // the way down from the root of the workspace, all open
	trail []string   // the names of dirs after the first
	name  string
	info  fs.FileInfo
	watch *watch
}

func (p *place) dir() *os.Root { return p.dirs[len(p.dirs)-1] }

// path returns the names from the root to the place.
func (p *place) path() []string {
	if p.name == "" {
		return p.trail
	}
	return append(slices.Clone(p.trail), p.name)
}

func (p *place) up() {
	p.dir().Close()
	p.dirs = p.dirs[:len(p.dirs)-1]
	p.trail = p.trail[:len(p.trail)-1]
}

func (p *place) close() {
	for len(p.trail) > 0 {
		p.up()
	}
}

// at walks to the place of name and calls do with it. When do or the walk find that
// something was swapped under their hands, all is done again; so do must check before
// it changes anything.
func (w *Workspace) at(name string, create bool, do func(*place) error) error {
	for range maxRetries {
		p := &place{dirs: []*os.Root{w.root}, watch: w.guard.watch()}
		err := w.walk(p, name, create)
		if err == nil {
			err = do(p)
		}
		p.close()
		if !errors.Is(err, errChanged) {
			return translate(name, err, create)
		}
	}
	return fail(Changed, name, "is being replaced all the time; try again later")
}

// walk goes from the root to name, one open directory after the other, and resolves
// links itself: each name that is met on the way is held against the guard, also
// those that only a link mentions. With create, missing directories are made.
//
// No step trusts an earlier look. A directory is opened first and compared with its
// name afterwards (enter), and ".." goes back to the handle that the walk came from;
// it is never looked up.
func (w *Workspace) walk(p *place, given string, create bool) error {
	todo, wantDir, err := w.split(given)
	if err != nil {
		return err
	}
	links := 0
	for steps := 0; len(todo) > 0; steps++ {
		if steps >= maxSteps || len(p.trail) >= maxDepth {
			return fail(InvalidPath, given, "is not a valid path: too many directories or links in it")
		}
		next := todo[0]
		todo = todo[1:]
		if next.name == ".." {
			if len(p.trail) == 0 {
				if next.link {
					return outsideLink(given)
				}
				return outside(given)
			}
			p.up()
			continue
		}
		trail := append(slices.Clone(p.trail), next.name)
		info, err := p.dir().Lstat(next.name)
		if err := p.watch.refuse(given, trail, info); err != nil {
			return err
		}
		switch {
		case errors.Is(err, fs.ErrNotExist):
			if next.link {
				return fail(NotFound, given, "is or contains a symbolic link to something that does not exist")
			}
			if len(todo) == 0 && !wantDir {
				p.name = next.name
				return nil
			}
			if len(todo) == 0 || !create {
				return fail(NotFound, given, "does not exist")
			}
			if err := makeDir(p.dir(), given, next.name); err != nil {
				return err
			}
			todo = append([]step{next}, todo...)
		case err != nil:
			return err
		case info.Mode()&fs.ModeSymlink != 0:
			if links++; links > maxLinks {
				return fail(InvalidPath, given, "is not a valid path: too many symbolic links")
			}
			target, err := p.dir().Readlink(next.name)
			if err != nil {
				return errChanged
			}
			if filepath.IsAbs(target) || filepath.VolumeName(target) != "" || os.IsPathSeparator(target[0]) {
				return outsideLink(given)
			}
			todo = append(linkSteps(target), todo...)
		case info.IsDir():
			sub, err := p.enter(given, next.name, trail)
			if err != nil {
				return err
			}
			p.dirs, p.trail = append(p.dirs, sub), trail
		case len(todo) > 0 || wantDir:
			return fail(NotADirectory, given, "is not a valid path: %q in it is not a directory", next.name)
		default:
			p.name, p.info = next.name, info
		}
	}
	return nil
}

func linkSteps(target string) []step {
	var steps []step
	for _, part := range components(target) {
		steps = append(steps, step{name: part, link: true})
	}
	return steps
}

// enter opens a directory. os.Root would follow a link that was put there since the
// look, past the guard; so afterwards the name must still be a directory, and the one
// that was opened.
func (p *place) enter(given, name string, trail []string) (*os.Root, error) {
	// With "/." the name is opened as a directory or not at all. Without it a pipe
	// that was put there would block the call for good.
	sub, err := p.dir().OpenRoot(name + "/.")
	if err != nil {
		if info, lerr := p.dir().Lstat(name); lerr != nil || !info.IsDir() {
			return nil, errChanged
		}
		return nil, err
	}
	opened, err := sub.Stat(".")
	if err == nil {
		err = p.same(name, opened)
	}
	if err == nil {
		err = p.watch.refuse(given, trail, opened)
	}
	if err != nil {
		sub.Close()
		return nil, err
	}
	return sub, nil
}

// same reports errChanged unless name is, itself and not through a link, the file
// that was opened.
func (p *place) same(name string, opened fs.FileInfo) error {
	info, err := p.dir().Lstat(name)
	if err != nil || info.Mode()&fs.ModeSymlink != 0 || !os.SameFile(info, opened) {
		return errChanged
	}
	return nil
}

func makeDir(dir *os.Root, given, name string) error {
	if err := writableDir(dir, given); err != nil {
		return err
	}
	err := dir.Mkdir(name, 0o777) // minus the user's umask
	if errors.Is(err, fs.ErrExist) {
		return nil // somebody was faster; the walk looks again
	}
	return err
}
