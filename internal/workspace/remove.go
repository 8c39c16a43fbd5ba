package workspace

import (
	"context"
	"errors"
	"io/fs"
	"syscall"
)

// RemoveFile deletes a file, or a link and not its target. It returns the absolute path.
func (w *Workspace) RemoveFile(ctx context.Context, name string) (path string, err error) {
	err = w.sharing(ctx, name, func() error {
		return w.atName(ctx, name, func(n *dirEntry) error {
			done, err := w.locks.claim(ctx, n.path())
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
			if err := w.changeable(ctx, n); err != nil {
				return err
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

// changeable refuses to remove or move what a protected path goes through, and what is not
// writable for its owner. The mode of a link does not matter: the right to write to its
// directory is enough.
func (w *Workspace) changeable(ctx context.Context, n *dirEntry) error {
	if err := w.refuseRoute(n.given, n.path()); err != nil {
		return err
	}
	if n.info.Mode()&fs.ModeSymlink == 0 && !writable(n.info) {
		return notWritable(n.given)
	}
	if err := writableDir(n.in.dir(), n.given); err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return interrupted(n.given, err)
	}
	return nil
}

// RemoveDir deletes an empty directory, or with recursive a directory and everything in
// it. Nothing is deleted if it contains something protected, something read-only, or a
// repository. It returns the absolute path.
func (w *Workspace) RemoveDir(ctx context.Context, name string, recursive bool) (path string, err error) {
	done, err := w.begin(ctx, name, recursive)
	if err != nil {
		return "", err
	}
	defer done()
	err = w.atName(ctx, name, func(n *dirEntry) error {
		switch {
		case n.info == nil:
			return fail(NotFound, name, "does not exist")
		case n.info.Mode()&fs.ModeSymlink != 0:
			return fail(NotADirectory, name, "is not a directory: it is a symbolic link, which can be deleted like a file")
		case !n.info.IsDir():
			return fail(NotADirectory, name, "is not a directory")
		}
		if err := w.changeable(ctx, n); err != nil {
			return err
		}
		if recursive {
			if err := w.empty(ctx, n); err != nil {
				return err
			}
			// Not errChanged: a retry would delete what has the name now.
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
func (w *Workspace) empty(ctx context.Context, n *dirEntry) error {
	dir, err := n.in.dir().step(n.name, n.info)
	if err != nil {
		return err
	}
	defer dir.Close()
	t := &tree{given: n.given, watch: n.in.watch, fixed: w.fixed.watch(), trace: w.trace}
	if err := t.survey(ctx, dir, n.path()); err != nil {
		return err
	}
	return t.clear(ctx, dir, n.path())
}

// sameKind reports whether both are one file of one kind. The kind is compared because the
// inode number of a deleted file is reused.
func sameKind(a, b fs.FileInfo) bool {
	return sameFile(a, b) && a.Mode().Type() == b.Mode().Type()
}
