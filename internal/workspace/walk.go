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
	maxRetries = 16   // walks that are repeated because something was swapped
)

// errChanged says that a name was replaced between looking at it and opening it.
var errChanged = errors.New("changed while it was opened")

// at walks to the location of name and calls do with it; see walkTo.
func (w *Workspace) at(ctx context.Context, name string, purpose purpose, do func(*location) error) error {
	r, err := w.split(name, purpose)
	if err != nil {
		return err
	}
	return w.walkTo(ctx, r, do)
}

// walkTo walks to a location and calls do with it. When the walk or do finds that something
// was swapped meanwhile, both are repeated; so do must check before it changes anything.
func (w *Workspace) walkTo(ctx context.Context, r request, do func(*location) error) error {
	writing := r.purpose != reading
	if !w.lease.use() {
		return translate(r.given, fs.ErrClosed, writing)
	}
	defer func() {
		if w.lease.done() {
			_ = w.release() // Close has returned already
		}
	}()
	for range maxRetries {
		p := w.start(r)
		err := p.walk(ctx, r.steps, r.wantDir)
		if err == nil {
			err = do(p)
		}
		w.leave(p)
		if !errors.Is(err, errChanged) {
			return translate(r.given, err, writing)
		}
	}
	return fail(Changed, r.given, "is being replaced all the time; try again later")
}

// walk takes steps from p, one open directory after the other, and resolves links itself:
// the guard checks each name on the way, including those in the targets of links.
//
// No step trusts an earlier look. A name is opened, and decisions are made on the handle.
// Where the system has no such handles, handle.enter compares afterwards. ".." goes back to
// the handle that the walk came from; it is never looked up.
func (p *location) walk(ctx context.Context, todo []step, wantDir bool) error {
	links := 0
	if err := p.refuseRepository(p.dir()); err != nil {
		return err
	}
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
			if p.depth() == 0 {
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
		if sub, id, ok := p.reuse(next.name); ok {
			err := p.refuseHandle(folded, id, true)
			if err == nil {
				err = p.refuseRepository(sub)
			}
			if err != nil {
				sub.Close()
				return err
			}
			p.down(sub, id, next.name, folded)
			continue
		}
		there, err := p.dir().look(next.name)
		if err := p.refuseHandle(folded, there.id(), there.isDir()); err != nil {
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
			if len(todo) == 0 || p.purpose != making {
				return fail(NotFound, p.given, "does not exist")
			}
			if err := p.makeDir(ctx, next.name); err != nil {
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
			if err := p.refuseRepository(sub); err != nil {
				sub.Close()
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

// arrive reports whether the last name of a path is a file. The file is not opened yet: the
// purpose is not known, and the code that opens it checks the handle again.
func (p *location) arrive(name, folded string) (bool, error) {
	info, err := p.dir().Lstat(name)
	if err != nil || info.IsDir() || isLink(info) {
		return false, nil // the walk opens it and decides
	}
	p.name, p.info = name, info
	return true, p.refuse(folded, info)
}

// follow returns the steps to the target of a link, from its directory. Only the text of
// the link counts: the kernel resolves links in /proc to open files of a process, whatever
// their text.
func (p *location) follow(target string) ([]step, error) {
	if target == "" || filepath.IsAbs(target) || filepath.VolumeName(target) != "" || os.IsPathSeparator(target[0]) {
		return nil, outsideLink(p.given)
	}
	names := components(target)
	if meansDir(target) {
		names = append(names, ".") // as for the kernel
	}
	steps := stepsTo(names)
	for i := range steps {
		steps[i].link = true
	}
	return steps, nil
}

// still returns errChanged unless the name is what was opened, and not a link to it.
func (d folder) still(name string, opened fs.FileInfo) error {
	info, err := d.Lstat(name)
	if err != nil || isLink(info) || !sameFile(info, opened) {
		return errChanged
	}
	return nil
}

func (p *location) makeDir(ctx context.Context, name string) error {
	if err := p.refuseMaking(name); err != nil {
		return err
	}
	if err := p.writableDir(); err != nil {
		return err
	}
	err := p.mkdir(ctx, name)
	if errors.Is(err, fs.ErrExist) {
		return nil // another process made it; the walk looks again
	}
	return err
}
