package workspace

import (
	"context"
	"io/fs"
)

// EditFile replaces the content of a file of at most max bytes by what change makes of
// it, as [Workspace.WriteFile] would. Nothing that goes through the workspace changes
// the file in between. An error of change leaves the file as it is and is returned as
// it is. change may be called more than once, and must not use the workspace.
func (w *Workspace) EditFile(ctx context.Context, name string, max int64, change func(old []byte) ([]byte, error)) (Info, error) {
	var refusal error
	info, err := w.change(ctx, name, changing, func(p *location) (fs.FileInfo, error) {
		return p.replace(ctx, func() (changed []byte, err error) {
			old, err := p.content(ctx, max)
			if err != nil {
				return nil, err
			}
			changed, refusal = change(old)
			return changed, refusal
		})
	})
	if refusal != nil {
		return Info{}, refusal
	}
	return info, err
}

// change walks to a file that may be changed, locks it and calls do. The file is regular and
// exists, unless the purpose is making. Only then are directories made on the way.
func (w *Workspace) change(ctx context.Context, name string, purpose purpose, do func(*location) (fs.FileInfo, error)) (out Info, err error) {
	done, err := w.begin(ctx, name, false)
	if err != nil {
		return Info{}, err
	}
	defer done()
	err = w.at(ctx, name, purpose, func(p *location) error {
		if err := p.regular(); err != nil {
			return err
		}
		return p.locked(ctx, func() error {
			if isLink(p.info) || p.info != nil && p.info.IsDir() {
				return errChanged
			}
			if err := p.refuseChange(); err != nil {
				return err
			}
			if err := p.regular(); err != nil {
				return err
			}
			if p.info != nil && !writable(p.info) {
				return notWritable(name)
			}
			info, err := do(p)
			if err == nil {
				out = p.describe(info)
			}
			return err
		})
	})
	return out, err
}

// content reads the file at the location with all checks of a reader: a file that may not be read,
// like a hard link to an env file, must not become readable by being rewritten.
func (p *location) content(ctx context.Context, limit int64) ([]byte, error) {
	f, err := p.workspace.open(ctx, request{given: p.given, steps: stepsTo(p.path())})
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if !sameFile(f.info, p.info) {
		return nil, errChanged
	}
	return readAll(ctx, f, p.given, f.Size, limit)
}
