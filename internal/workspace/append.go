package workspace

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"slices"
)

// maxRewritten bounds a file with several names that is rewritten to append to it.
const maxRewritten = 64 << 20

// AppendFile adds data to the end of a file, which must exist. A failed call leaves the
// file as it was. When it returns, the data survives a power cut.
//
// Other names of the file (hard links) keep the old content: they may be outside. Such a
// file is rewritten, and so is a set-user-ID or set-group-ID file.
func (w *Workspace) AppendFile(ctx context.Context, name string, data []byte) (Info, error) {
	return w.change(ctx, name, changing, func(p *location) (fs.FileInfo, error) {
		info, err := p.extend(ctx, data)
		if errors.Is(err, errShared) {
			return p.replace(ctx, func() ([]byte, error) {
				old, err := p.content(ctx, maxRewritten)
				return slices.Concat(old, data), err
			})
		}
		return info, err
	})
}

// errShared says that a file must not be written in place.
var errShared = errors.New("it has several names or special rights")

// extend writes to the end of the file in place.
func (p *location) extend(ctx context.Context, data []byte) (info fs.FileInfo, err error) {
	p.workspace.trace("extend")
	f, err := p.dir().OpenFile(p.name, os.O_WRONLY|os.O_APPEND|noFollow|noBlock, 0)
	if err != nil {
		if now, lerr := p.dir().Lstat(p.name); lerr != nil || !sameFile(now, p.info) {
			return nil, errChanged
		}
		return nil, err
	}
	defer f.Close()
	p.workspace.trace("extending")
	// Everything is checked again on the handle: the name may have been swapped.
	before, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if err := p.dir().still(p.name, before); err != nil {
		return nil, err
	}
	if !sameFile(before, p.info) {
		return nil, errChanged
	}
	if !before.Mode().IsRegular() || onKernelFS(f) {
		return nil, fail(NotRegular, p.given, "is not a regular file")
	}
	if err := p.watch.refuse(p.given, before); err != nil {
		return nil, err
	}
	if linkCount(f, before) > 1 || before.Mode()&(fs.ModeSetuid|fs.ModeSetgid) != 0 {
		return nil, errShared
	}
	if err := ctx.Err(); err != nil {
		return nil, interrupted(p.given, err)
	}
	n, err := f.Write(data)
	if err == nil {
		err = p.sync(f, "file")
	}
	if err != nil {
		// A part that was written to a full disk is removed, unless another process has
		// appended after it.
		if now, serr := f.Stat(); serr == nil && now.Size() == before.Size()+int64(n) {
			_ = f.Truncate(before.Size())
		}
		return nil, err
	}
	return f.Stat()
}
