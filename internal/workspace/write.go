package workspace

import (
	"context"
	"io/fs"
	"os"
	"slices"
)

// WriteFile makes name hold data. Missing directories are created. The file appears
// or is replaced in one instant: a reader sees the old content or the new, and a
// failed write leaves the old. An existing file keeps its permissions and owner.
//
// A link to a file of the workspace leads to that file. Other names of the same file
// (hard links) keep the old content: they may be outside.
//
// When it returns, the file survives a power cut: the journal will say that it was written.
func (w *Workspace) WriteFile(ctx context.Context, name string, data []byte) (Info, error) {
	return w.change(ctx, name, making, func(p *location) (fs.FileInfo, error) {
		return p.replace(ctx, func() ([]byte, error) { return data, nil })
	})
}

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

// syncDirs makes the new name survive a power cut, and the directories that were made for
// it. It is a best effort: not every system supports it, and the file is written.
func (p *location) syncDirs() {
	dirs := p.dirs[len(p.dirs)-1:]
	if p.made {
		dirs = p.dirs
	}
	for _, dir := range slices.Backward(dirs) {
		if d, err := dir.folder.Open("."); err == nil {
			_ = p.sync(d, "directory")
			d.Close()
		}
	}
}

func (p *location) sync(f *os.File, what string) error {
	p.workspace.trace("sync " + what)
	return f.Sync()
}

// writable looks at the owner's bit, even if the process runs as root: root too respects
// that a user made a file read-only.
func writable(info fs.FileInfo) bool { return info.Mode().Perm()&0o200 != 0 }

func notWritable(given string) error {
	return fail(NotWritable, given, "is not writable: its owner may not write it")
}

// writableDir refuses to change the names in a directory that its owner may not write.
func (p *location) writableDir() error {
	info, err := p.dir().Stat(".")
	if err != nil {
		return err
	}
	if !writable(info) {
		return fail(NotWritable, p.given, "cannot be changed: its directory is not writable")
	}
	return nil
}
