package workspace

import (
	"context"
	"errors"
	"io/fs"
	"syscall"
)

// RemoveFile deletes a file, or a link and not its target. It returns the absolute path.
func (w *Workspace) RemoveFile(ctx context.Context, name string) (path string, err error) {
	done, err := w.begin(ctx, name, false)
	if err != nil {
		return "", err
	}
	defer done()
	err = w.atName(ctx, name, func(p *location) error {
		return p.locked(ctx, func() error {
			switch {
			case p.info == nil:
				return fail(NotFound, name, "does not exist")
			case p.info.IsDir():
				return fail(IsADirectory, name, "is a directory")
			case p.slash:
				return fail(NotADirectory, name, "is not a directory")
			}
			if err := p.changeable(ctx); err != nil {
				return err
			}
			w.trace("remove")
			err := p.dir().Remove(p.name)
			if errors.Is(err, syscall.EISDIR) {
				return errChanged
			}
			if err != nil {
				return err
			}
			p.syncDirs()
			path = p.absolute()
			return nil
		})
	})
	return path, err
}

// changeable refuses to remove or move what a protected path goes through, and what is not
// writable for its owner. The mode of a link does not matter: the right to write to its
// directory is enough.
func (p *location) changeable(ctx context.Context) error {
	if err := p.refuseRoute(p.path()); err != nil {
		return err
	}
	if !isLink(p.info) && !writable(p.info) {
		return notWritable(p.given)
	}
	if err := p.writableDir(); err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return interrupted(p.given, err)
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
	err = w.atName(ctx, name, func(p *location) error {
		switch {
		case p.info == nil:
			return fail(NotFound, name, "does not exist")
		case isLink(p.info):
			return fail(NotADirectory, name, "is not a directory: it is a symbolic link, which can be deleted like a file")
		case !p.info.IsDir():
			return fail(NotADirectory, name, "is not a directory")
		}
		if err := p.changeable(ctx); err != nil {
			return err
		}
		changed := errChanged
		if recursive {
			// A retry would delete what has the name now.
			changed = fail(Changed, name, "was replaced while it was deleted")
			if err := p.empty(ctx); err != nil {
				return err
			}
			if now, err := p.dir().Lstat(p.name); err != nil || !sameKind(now, p.info) {
				return changed
			}
		}
		w.trace("remove")
		err := p.dir().RemoveDir(p.name)
		if errors.Is(err, syscall.ENOTDIR) {
			return changed
		}
		if err != nil {
			return err
		}
		p.syncDirs()
		path = p.absolute()
		return nil
	})
	return path, err
}

// sameKind reports whether both are one file of one kind. The kind is compared because the
// inode number of a deleted file is reused.
func sameKind(a, b fs.FileInfo) bool {
	return sameFile(a, b) && a.Mode().Type() == b.Mode().Type()
}
