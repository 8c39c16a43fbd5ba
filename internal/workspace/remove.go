package workspace

import (
	"context"
	"errors"
	"io/fs"
	"syscall"
)

// RemoveFile deletes a file, or a link: the link itself, wherever it leads. It returns
// the absolute path of what is gone.
func (w *Workspace) RemoveFile(ctx context.Context, name string) (path string, err error) {
	err = w.sharing(ctx, name, func() error {
		return w.atName(ctx, name, func(n *named) error {
			done, err := w.turns.claim(ctx, n.path())
			if err != nil {
				return interrupted(name, err)
			}
			defer done()
			if err := n.look(); err != nil {
				return err
			}
			switch {
			case n.info == nil:
				return fail(NotFound, name, "does not exist")
			case n.info.IsDir():
				return fail(IsADirectory, name, "is a directory")
			case n.slash:
				return fail(NotADirectory, name, "is not a directory")
			}
			if err := w.refuseWay(name, n.path()); err != nil {
				return err
			}
			if err := n.changeable(); err != nil {
				return err
			}
			if err := ctx.Err(); err != nil {
				return interrupted(name, err)
			}
			w.trace("remove")
			err = n.in.dir().Remove(n.name)
			if errors.Is(err, syscall.EISDIR) {
				return errChanged
			}
			if err != nil {
				return err
			}
			n.in.syncDirs()
			path = w.absolute(n.path())
			return nil
		})
	})
	return path, err
}

// changeable refuses what the user marked as not to be changed. The mode of a link says
// nothing: whoever may write to its directory may take it away.
func (n *named) changeable() error {
	if n.info.Mode()&fs.ModeSymlink == 0 && !writable(n.info) {
		return notWritable(n.given)
	}
	return refuseParent(n.in, n.given)
}

// RemoveDir deletes a directory: an empty one, or with recursive one and everything in
// it. Nothing is deleted if anything in it must stay: what is protected, what is read
// only, and a repository. It returns the absolute path of what is gone.
func (w *Workspace) RemoveDir(ctx context.Context, name string, recursive bool) (path string, err error) {
	begin := w.turns.share
	if recursive {
		begin = w.turns.alone
	}
	done, err := begin(ctx)
	if err != nil {
		return "", interrupted(name, err)
	}
	defer done()
	err = w.atName(ctx, name, func(n *named) error {
		switch {
		case n.info == nil:
			return fail(NotFound, name, "does not exist")
		case n.info.Mode()&fs.ModeSymlink != 0:
			return fail(NotADirectory, name, "is not a directory: it is a symbolic link, which can be deleted like a file")
		case !n.info.IsDir():
			return fail(NotADirectory, name, "is not a directory")
		}
		if err := w.refuseWay(name, n.path()); err != nil {
			return err
		}
		if err := n.changeable(); err != nil {
			return err
		}
		if err := ctx.Err(); err != nil {
			return interrupted(name, err)
		}
		if recursive {
			if err := w.empty(ctx, n); err != nil {
				return err
			}
			// Not errChanged: to begin again would delete what has the name now.
			if n.same(n.info) != nil {
				return fail(Changed, name, "was replaced while it was deleted")
			}
		}
		w.trace("remove")
		err := n.in.dir().RemoveDir(n.name)
		switch {
		case errors.Is(err, syscall.ENOTDIR) && recursive:
			return fail(Changed, name, "was replaced while it was deleted")
		case errors.Is(err, syscall.ENOTDIR):
			return errChanged
		case err != nil:
			return err
		}
		n.in.syncDirs()
		path = w.absolute(n.path())
		return nil
	})
	return path, err
}

// empty deletes what is in a directory, after a look at all of it.
func (w *Workspace) empty(ctx context.Context, n *named) error {
	dir, err := w.openNamed(n)
	if err != nil {
		return err
	}
	defer dir.Close()
	t := w.tree(n)
	t.refuse = t.keep
	if err := t.survey(ctx, dir, n.path()); err != nil {
		return err
	}
	return t.clear(ctx, dir, n.path())
}

func (w *Workspace) tree(n *named) *tree {
	return &tree{given: n.given, watch: n.in.watch, fixed: w.fixed.watch(), trace: w.trace}
}

// openNamed opens a directory for work on what is in it. The path may be swapped while
// it is opened, so what counts is that the handle is on what was looked at.
func (w *Workspace) openNamed(n *named) (folder, error) {
	return w.openSeen(n.path(), n.info)
}

func (w *Workspace) openSeen(path []string, seen fs.FileInfo) (folder, error) {
	dir, err := descend(w.root, path)
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return folder{}, errChanged
		}
		return folder{}, err
	}
	opened, err := dir.Stat(".")
	if err == nil && !sameFile(opened, seen) {
		err = errChanged
	}
	if err != nil {
		dir.Close()
		return folder{}, err
	}
	return dir, nil
}

// sameKind reports whether both are one file, of one kind. The kind is compared because
// the number of a deleted file passes on to the next that is made.
func sameKind(a, b fs.FileInfo) bool {
	return sameFile(a, b) && a.Mode().Type() == b.Mode().Type()
}
