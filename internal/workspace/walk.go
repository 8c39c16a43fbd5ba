package workspace

import (
	"context"
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

// at walks to the place of name and calls do with it. When do or the walk find that
// something was swapped under their hands, all is done again; so do must check before
// it changes anything.
func (w *Workspace) at(ctx context.Context, name string, writing bool, do func(*place) error) error {
	todo, wantDir, err := w.split(name, writing)
	if err != nil {
		return err
	}
	if !w.lease.use() {
		return translate(name, fs.ErrClosed, writing)
	}
	defer func() {
		if w.lease.done() {
			_ = w.release() // nobody waits for the answer
		}
	}()
	for range maxRetries {
		p := w.start(name, writing)
		err := p.walk(ctx, todo, wantDir)
		if err == nil {
			err = do(p)
		}
		w.leave(p)
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
// No step trusts an earlier look. What a name stands for is opened, and what is decided
// is decided on the handle (where the system has no such handles, found.enter compares
// afterwards); ".." goes back to the handle that the walk came from, it is never looked
// up.
func (p *place) walk(ctx context.Context, todo []step, wantDir bool) error {
	links := 0
	for len(todo) > 0 {
		if err := p.spend(ctx, len(todo)); err != nil {
			return err
		}
		next := todo[0]
		todo = todo[1:]
		if next.name == "." {
			continue
		}
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
		if len(todo) == 0 && !wantDir {
			if arrived, err := p.arrive(next.name, folded); arrived || err != nil {
				return err
			}
		}
		if sub, id, ok := p.again(next.name); ok {
			if err := p.refuseFound(folded, id, true); err != nil {
				sub.Close()
				return err
			}
			p.down(sub, id, next.name, folded)
			continue
		}
		there, err := p.dir().look(next.name)
		if err := p.refuseFound(folded, there.id(), there.isDir()); err != nil {
			there.drop()
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
			if err := p.mayMake(append(slices.Clone(p.trail), next.name)); err != nil {
				return err
			}
			if err := makeDir(p.dir(), p.given, next.name); err != nil {
				return err
			}
			p.made = true
			todo = append([]step{next}, todo...)
		case err != nil:
			return err
		case there.isLink():
			target, err := there.target()
			there.drop()
			if err != nil {
				return err
			}
			if links++; links > maxLinks {
				return fail(InvalidPath, p.given, "is not a valid path: too many symbolic links")
			}
			steps, err := p.follow(target)
			if err != nil {
				return err
			}
			todo = append(steps, todo...)
		case there.isDir():
			sub, err := there.enter()
			if err != nil {
				return err
			}
			p.down(sub, there.id(), next.name, folded)
		case len(todo) > 0 || wantDir:
			there.drop()
			return fail(NotADirectory, p.given, "is not a valid path: %q in it is not a directory", next.name)
		default:
			p.name, p.info = next.name, there.info()
			there.drop()
		}
	}
	return nil
}

// arrive reports whether the last name of a path stands for a file. A file is only
// described: nobody knows yet for what it is to be opened, and whoever opens it decides
// on the handle again.
func (p *place) arrive(name, folded string) (bool, error) {
	info, err := p.dir().Lstat(name)
	if err != nil || info.IsDir() || info.Mode()&fs.ModeSymlink != 0 {
		return false, nil // the walk opens it, and finds out
	}
	p.name, p.info = name, info
	return true, p.refuse(folded, info)
}

// follow returns the steps to the target of a link, from the directory it is in. What
// the kernel would do with the link does not count: those in /proc lead to open files
// and directories of a process, and have a text that leads nowhere or is absolute.
func (p *place) follow(target string) ([]step, error) {
	if target == "" || filepath.IsAbs(target) || filepath.VolumeName(target) != "" || os.IsPathSeparator(target[0]) {
		return nil, outsideLink(p.given)
	}
	var steps []step
	for _, part := range components(target) {
		steps = append(steps, step{name: part, link: true})
	}
	if meansDir(target) {
		steps = append(steps, step{name: ".", link: true}) // as for the kernel
	}
	return steps, nil
}

// same reports errChanged unless name is, itself and not through a link, the file
// that was opened.
func (p *place) same(name string, opened fs.FileInfo) error {
	info, err := p.dir().Lstat(name)
	if err != nil || info.Mode()&fs.ModeSymlink != 0 || !sameFile(info, opened) {
		return errChanged
	}
	return nil
}

func makeDir(dir folder, given, name string) error {
	if err := writableDir(dir, given); err != nil {
		return err
	}
	err := dir.Mkdir(name, 0o777) // minus the user's umask
	if errors.Is(err, fs.ErrExist) {
		return nil // somebody was faster; the walk looks again
	}
	return err
}
