package workspace

import (
	"context"
	"errors"
	"slices"
)

// Move gives a file, a directory or a link (itself, not its target) the name
// destination, which nothing may have. Directories on the way to it are made. It returns
// both absolute paths.
//
// The kernel moves without replacing, so nothing can take the name between a check and
// the move. A move to another file system is refused.
func (w *Workspace) Move(ctx context.Context, source, destination string) (from, to string, err error) {
	from, to, err = w.move(ctx, source, destination, false)
	if errors.Is(err, errWhole) {
		from, to, err = w.move(ctx, source, destination, true)
	}
	return from, to, err
}

// errWhole says that a directory is to be moved, which needs the lock of the whole tree.
var errWhole = errors.New("it is a directory")

func (w *Workspace) move(ctx context.Context, source, destination string, whole bool) (from, to string, err error) {
	done, err := w.begin(ctx, source, whole)
	if err != nil {
		return "", "", err
	}
	defer done()
	err = w.atName(ctx, source, func(n *dirEntry) error {
		if err := w.movable(ctx, n); err != nil {
			return err
		}
		if n.info.IsDir() && !whole {
			return errWhole
		}
		changed := false
		err := w.atNewName(ctx, destination, n, func(p *location) error {
			if p.isIn(n) {
				return intoItself(source)
			}
			if err := w.refuseRoute(destination, p.path()); err != nil {
				return err
			}
			err := w.moveTo(ctx, n, p)
			if changed = errors.Is(err, errChanged); changed {
				return fail(Changed, source, "was replaced while it was moved")
			}
			from, to = w.absolute(n.path()), w.absolute(p.path())
			return translate(source, err, true)
		})
		if changed {
			return errChanged // repeat the walk to the source too
		}
		return err
	})
	if err != nil {
		return "", "", err
	}
	return from, to, nil
}

// movable refuses what may not be moved.
func (w *Workspace) movable(ctx context.Context, n *dirEntry) error {
	switch {
	case n.info == nil:
		return fail(NotFound, n.given, "does not exist")
	case n.slash && !n.info.IsDir():
		return fail(NotADirectory, n.given, "is not a directory")
	}
	return w.changeable(ctx, n)
}

// moveTo moves n to the location p, with the locks of both.
func (w *Workspace) moveTo(ctx context.Context, n *dirEntry, p *location) error {
	done, err := w.locks.claim(ctx, n.path(), p.path())
	if err != nil {
		return interrupted(n.given, err)
	}
	defer done()
	wasDir := n.info.IsDir()
	if err := n.look(); err != nil {
		return err
	}
	if err := w.movable(ctx, n); err != nil {
		return err
	}
	if n.info.IsDir() != wasDir {
		return errChanged
	}
	source, err := n.in.dir().Open(".")
	if err != nil {
		return err
	}
	defer source.Close()
	target, err := p.dir().Open(".")
	if err != nil {
		return err
	}
	defer target.Close()
	p.trace("move")
	err = renameNew(source, n.name, target, p.name, wasDir)
	switch {
	case isCrossDevice(err):
		return fail(CrossDevice, n.given, "cannot be moved to %s: they are on different file systems; "+
			"write a copy with writeTextFile and delete the original, or run mv with exec", quote(p.given))
	case isIntoItself(err) && wasDir:
		return intoItself(n.given)
	case err != nil:
		return err
	}
	// A rename moves what has the name at that moment. If it was replaced since the look, it
	// is moved back.
	if moved, err := p.dir().Lstat(p.name); err != nil || !sameKind(moved, n.info) {
		if err == nil {
			_ = renameNew(target, p.name, source, n.name, moved.IsDir()) // if that fails, it stays inside the workspace
		}
		return errChanged
	}
	p.trace("rename")
	p.syncDirs()
	n.in.syncDirs()
	return nil
}

func intoItself(given string) error {
	return fail(InvalidPath, given, "cannot be moved into itself")
}

// isIn reports whether the location is in the directory n. The kernel refuses to move a
// directory there, but missing directories would have been made by then.
func (p *location) isIn(n *dirEntry) bool {
	return n.info.IsDir() && slices.ContainsFunc(p.ids, identify(n.info).is)
}
