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
	var out Info
	var refusal error
	err := w.changing(ctx, name, func(p *place) error {
		if err := writableDir(p.dir(), name); err != nil {
			return err
		}
		old, err := w.content(ctx, p, max)
		if err != nil {
			return err
		}
		changed, err := change(old)
		if err != nil {
			refusal = err
			return fail(IO, name, "was not changed")
		}
		if err := ctx.Err(); err != nil {
			return interrupted(name, err)
		}
		info, err := p.replace(changed)
		if err != nil {
			return err
		}
		out = w.describe(p.path(), info)
		return nil
	})
	if refusal != nil {
		return Info{}, refusal
	}
	return out, err
}

// changing walks to a regular file that exists and may be changed, and calls do with it
// in its turn. Nothing is made on the way.
func (w *Workspace) changing(ctx context.Context, name string, do func(*place) error) error {
	if _, _, err := w.split(name, true); err != nil {
		return err
	}
	return w.sharing(ctx, name, func() error {
		return w.at(ctx, name, false, func(p *place) error {
			if err := p.regular(); err != nil {
				return err
			}
			return w.inTurn(ctx, p, func() error {
				if err := p.regular(); err != nil {
					return err
				}
				if err := w.refuseChange(name, p.path(), p.info); err != nil {
					return err
				}
				if !writable(p.info) {
					return notWritable(name)
				}
				return translate(name, do(p), true)
			})
		})
	})
}

// sharing calls do while no directory is moved.
func (w *Workspace) sharing(ctx context.Context, given string, do func() error) error {
	done, err := w.turns.share(ctx)
	if err != nil {
		return interrupted(given, err)
	}
	defer done()
	return do()
}

// inTurn calls do when it is the turn of the place, and looks again before: the call
// that had its turn before has probably replaced the file.
func (w *Workspace) inTurn(ctx context.Context, p *place, do func() error) error {
	done, err := w.turns.claim(ctx, p.path())
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

// content reads the file at p through the door that every reader takes: what may not be
// read must not become readable by being written anew, like a hard link to an env file.
func (w *Workspace) content(ctx context.Context, p *place, limit int64) ([]byte, error) {
	f, err := w.OpenFile(ctx, w.absolute(p.path()))
	if err != nil {
		return nil, retitle(err, w.absolute(p.path()), p.given)
	}
	defer f.Close()
	if !sameFile(f.info, p.info) {
		return nil, errChanged
	}
	return readAll(ctx, f, p.given, f.Size, limit)
}
