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
