package workspace

import (
	"context"
	"errors"
	"io/fs"
)

// EditFile replaces the content of a file of at most max bytes by what change makes of
// it, as [Workspace.WriteFile] would. Nothing that goes through the workspace changes
// the file in between. An error of change leaves the file as it is and is returned as
// it is. change may be called more than once, and must not use the workspace.
func (w *Workspace) EditFile(ctx context.Context, name string, max int64, change func(old []byte) ([]byte, error)) (Info, error) {
	var refusal error
	info, err := w.changing(ctx, name, func(p *location) (fs.FileInfo, error) {
		return w.rewrite(ctx, p, max, func(old []byte) (changed []byte, err error) {
			changed, refusal = change(old)
			return changed, refusal
		})
	})
	if refusal != nil {
		return Info{}, refusal
	}
	return info, err
}

// changing walks to a regular file that exists and may be changed, locks it and calls do.
// It creates no directories.
func (w *Workspace) changing(ctx context.Context, name string, do func(*location) (fs.FileInfo, error)) (out Info, err error) {
	err = w.sharing(ctx, name, func() error {
		return w.at(ctx, name, changing, func(p *location) error {
			if err := p.regular(); err != nil {
				return err
			}
			return w.locked(ctx, p, func() error {
				if err := p.regular(); err != nil {
					return err
				}
				if err := w.refuseChange(name, p.path(), p.info); err != nil {
					return err
				}
				if !writable(p.info) {
					return notWritable(name)
				}
				info, err := do(p)
				if err == nil {
					out = w.describe(p.path(), info)
				}
				return err
			})
		})
	})
	return out, err
}

// rewrite replaces the content of the file at p by what change makes of it.
func (w *Workspace) rewrite(ctx context.Context, p *location, max int64, change func(old []byte) ([]byte, error)) (fs.FileInfo, error) {
	if err := writableDir(p.dir(), p.given); err != nil {
		return nil, err
	}
	old, err := w.content(ctx, p, max)
	if err != nil {
		return nil, err
	}
	changed, err := change(old)
	if err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, interrupted(p.given, err)
	}
	return p.replace(changed)
}

// sharing calls do while no directory is moved or emptied.
func (w *Workspace) sharing(ctx context.Context, given string, do func() error) error {
	done, err := w.begin(ctx, given, false)
	if err != nil {
		return err
	}
	defer done()
	return do()
}

// locked locks the location and calls do. It looks at the file again before: the call that
// had the lock before has probably replaced it.
func (w *Workspace) locked(ctx context.Context, p *location, do func() error) error {
	done, err := w.locks.claim(ctx, p.path())
	if err != nil {
		return interrupted(p.given, err)
	}
	defer done()
	info, err := p.dir().Lstat(p.name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		info = nil
	case err != nil:
		return err
	case info.IsDir() || info.Mode()&fs.ModeSymlink != 0:
		return errChanged
	}
	if err := p.refuse(fold(p.name), info); err != nil {
		return err
	}
	p.info = info
	return do()
}

// content reads the file at p with all checks of a reader: a file that may not be read,
// like a hard link to an env file, must not become readable by being rewritten.
func (w *Workspace) content(ctx context.Context, p *location, limit int64) ([]byte, error) {
	f, err := w.open(ctx, request{given: p.given, steps: stepsTo(p.path())})
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if !sameFile(f.info, p.info) {
		return nil, errChanged
	}
	return readAll(ctx, f, p.given, f.Size, limit)
}
