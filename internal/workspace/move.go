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
	err = w.atName(ctx, source, func(n *location) error {
		if err := n.movable(ctx); err != nil {
			return err
		}
		isDir := n.info.IsDir()
		if isDir && !whole {
			return errWhole
		}
		if isDir {
			if err := n.surveyMove(ctx); err != nil {
				return err
			}
		}
		changed := false
		err := w.atNewName(ctx, destination, n, func(p *location) error {
			if p.isIn(n) {
				return intoItself(source)
			}
			err := n.locked(ctx, func() error {
				if err := n.movable(ctx); err != nil {
					return err
				}
				if n.info.IsDir() != isDir {
					return errChanged
				}
				if err := p.refuseNewRepository(p.name); err != nil {
					return err
				}
				return n.moveTo(p)
			}, p.path())
			if changed = errors.Is(err, errChanged); changed {
				return fail(Changed, source, "was replaced while it was moved")
			}
			from, to = n.absolute(), p.absolute()
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

// surveyMove refuses to move a directory with something in it that must stay where it is: what
// tools cannot reach, what is read only, a repository.
func (p *location) surveyMove(ctx context.Context) error {
	dir, err := p.dir().step(p.name, p.info)
	if err != nil {
		return err
	}
	defer dir.Close()
	t := &tree{top: p, fixed: p.workspace.fixed.watch(), moves: true}
	return t.survey(ctx, dir, len(p.path()))
}

// movable refuses what may not be moved.
func (p *location) movable(ctx context.Context) error {
	switch {
	case p.info == nil:
		return fail(NotFound, p.given, "does not exist")
	case p.slash && !p.info.IsDir():
		return fail(NotADirectory, p.given, "is not a directory")
	}
	return p.changeable(ctx)
}

// moveTo moves what is at p to the location to. Both are locked.
func (p *location) moveTo(to *location) error {
	source, err := p.dir().Open(".")
	if err != nil {
		return err
	}
	defer source.Close()
	target, err := to.dir().Open(".")
	if err != nil {
		return err
	}
	defer target.Close()
	p.workspace.trace("move")
	err = renameNew(source, p.name, target, to.name, p.info.IsDir())
	switch {
	case isCrossDevice(err):
		return fail(CrossDevice, p.given, "cannot be moved to %s: they are on different file systems; "+
			"write a copy with writeTextFile and delete the original, or run mv with exec", quote(to.given))
	case isIntoItself(err) && p.info.IsDir():
		return intoItself(p.given)
	case err != nil:
		return err
	}
	// A rename moves what has the name at that moment. If it was replaced since the look, it
	// is moved back.
	if moved, err := to.dir().Lstat(to.name); err != nil || !sameKind(moved, p.info) {
		if err == nil {
			_ = renameNew(target, to.name, source, p.name, moved.IsDir()) // if that fails, it stays inside the workspace
		}
		return errChanged
	}
	p.workspace.trace("rename")
	to.syncDirs()
	p.syncDirs()
	return nil
}

func intoItself(given string) error {
	return fail(InvalidPath, given, "cannot be moved into itself")
}

// isIn reports whether the location is in the directory n. The kernel refuses to move a
// directory there, but missing directories would have been made by then.
func (p *location) isIn(n *location) bool {
	return n.info.IsDir() && slices.ContainsFunc(p.dirs, func(dir walkedDir) bool { return dir.id.is(identify(n.info)) })
}
