package workspace

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

const (
	maxLinks   = 40   // links followed for one path; the number of Linux
	maxSteps   = 1000 // components looked at for one path, those of links included
	maxRetries = 16   // walks that are begun again because something was swapped
)

// errChanged says that a name led to something else when it was opened than when it
// was looked at: somebody replaced it in between.
var errChanged = errors.New("changed while it was opened")

// at walks to the place of name and calls do with it. When do or the walk find that
// something was swapped under their hands, all is done again; so do must check before
// it changes anything.
func (w *Workspace) at(ctx context.Context, name string, writing bool, do func(*place) error) error {
	todo, wantDir, err := w.split(name, writing)
	if err != nil {
		return err
	}
	for range maxRetries {
		p := w.start(name, writing)
		err := p.walk(ctx, todo, wantDir)
		if err == nil {
			err = do(p)
		}
		p.close()
		if !errors.Is(err, errChanged) {
			return translate(name, err, writing)
		}
	}
	return fail(Changed, name, "is being replaced all the time; try again later")
}

// walk takes steps from p, one open directory after the other, and resolves links
// itself: each name that is met on the way is held against the guard, also those that
// only a link mentions. For a writer, missing directories are made.
//
// No step trusts an earlier look. A directory is opened first and compared with its
// name afterwards (enter), and ".." goes back to the handle that the walk came from;
// it is never looked up.
func (p *place) walk(ctx context.Context, todo []step, wantDir bool) error {
	links := 0
	for len(todo) > 0 {
		if err := p.spend(ctx, len(todo)); err != nil {
			return err
		}
		next := todo[0]
		todo = todo[1:]
		if next.name == ".." {
			if len(p.trail) == 0 {
				if next.link {
					return outsideLink(p.given)
				}
				return outside(p.given)
			}
			p.up()
			continue
		}
		folded := p.fold(next.name)
		info, err := p.dir().Lstat(next.name)
		if err := p.refuse(folded, info); err != nil {
			return err
		}
		switch {
		case errors.Is(err, fs.ErrNotExist):
			if next.link {
				return fail(NotFound, p.given, "is or contains a symbolic link to something that does not exist")
			}
			if len(todo) == 0 && !wantDir {
				p.name = next.name
				return nil
			}
			if len(todo) == 0 || !p.writing {
				return fail(NotFound, p.given, "does not exist")
			}
			if err := makeDir(p.dir(), p.given, next.name); err != nil {
				return err
			}
			p.made = true
			todo = append([]step{next}, todo...)
		case err != nil:
			return err
		case info.Mode()&fs.ModeSymlink != 0:
			if links++; links > maxLinks {
				return fail(InvalidPath, p.given, "is not a valid path: too many symbolic links")
			}
			target, err := p.follow(next.name)
			if err != nil {
				return err
			}
			todo = append(target, todo...)
		case info.IsDir():
			sub, err := p.enter(next.name)
			if err != nil {
				return err
			}
			p.down(sub, next.name, folded)
		case len(todo) > 0 || wantDir:
			return fail(NotADirectory, p.given, "is not a valid path: %q in it is not a directory", next.name)
		default:
			p.name, p.info = next.name, info
		}
	}
	return nil
}

// follow returns the steps to the target of a link, from the directory it is in.
func (p *place) follow(name string) ([]step, error) {
	target, err := p.dir().Readlink(name)
	if err != nil {
		return nil, errChanged
	}
	if target == "" || filepath.IsAbs(target) || filepath.VolumeName(target) != "" || os.IsPathSeparator(target[0]) {
		return nil, outsideLink(p.given)
	}
	var steps []step
	for _, part := range components(target) {
		steps = append(steps, step{name: part, link: true})
	}
	return steps, nil
}

// enter opens a directory. os.Root would follow a link that was put there since the
// look, past the guard; so afterwards the name must still be a directory, and the one
// that was opened.
func (p *place) enter(name string) (*os.Root, error) {
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
		err = p.watch.refuse(p.given, opened)
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
