package workspace

import (
	"context"
	"crypto/rand"
	"io/fs"
	"os"
	"slices"
	"strings"
)

// WriteFile makes name hold data. Missing directories are created. The file appears
// or is replaced in one instant: a reader sees the old content or the new, and a
// failed write leaves the old. An existing file keeps its permissions and owner.
//
// A link to a file of the workspace leads to that file. Other names of the same file
// (hard links) keep the old content: they may be outside.
//
// When it returns, the file survives a power cut: the journal is about to say for good
// that it was written.
func (w *Workspace) WriteFile(ctx context.Context, name string, data []byte) (Info, error) {
	var out Info
	err := w.sharing(ctx, name, func() error {
		return w.at(ctx, name, true, func(p *place) error {
			if p.name == "" {
				return fail(IsADirectory, name, "is a directory")
			}
			return w.inTurn(ctx, p, func() error {
				info, err := w.write(ctx, p, data)
				if err == nil {
					out = w.describe(p.path(), info)
				}
				return err
			})
		})
	})
	return out, err
}

func (w *Workspace) write(ctx context.Context, p *place, data []byte) (fs.FileInfo, error) {
	if err := w.refuseChange(p.given, p.path(), p.info); err != nil {
		return nil, err
	}
	if p.info != nil {
		if err := p.regular(); err != nil {
			return nil, err
		}
		if !writable(p.info) {
			return nil, fail(NotWritable, p.given, "is not writable")
		}
	}
	if err := writableDir(p.dir(), p.given); err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, interrupted(p.given, err)
	}
	return p.replace(data)
}

// replace writes beside the file and then takes its name. The rename acts on the name
// itself: a link that was put there since the walk is replaced, not followed.
func (p *place) replace(data []byte) (info fs.FileInfo, err error) {
	tmp := temporary()
	mode := fs.FileMode(0o666) // minus the user's umask
	if p.info != nil {
		// Permission bits only: what a model wrote must not run with the rights of
		// another user, so setuid and setgid are not carried over.
		mode = p.info.Mode().Perm()
	}
	f, err := p.dir().OpenFile(tmp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			f.Close()
			_ = p.dir().Remove(tmp) // best effort: the error that counts is returned
		}
	}()
	if p.info != nil {
		// Both are courtesies. Where the file system has no owners or modes the file
		// was created with mode minus umask, which is never wider than before.
		keepOwner(f, p.info)
		_ = f.Chmod(mode)
	}
	if _, err = f.Write(data); err != nil {
		return nil, err
	}
	// Before the rename: a file system may keep the new name and lose the content, and
	// after a power cut the old file would have become an empty one.
	if err = p.sync(f, "file"); err != nil {
		return nil, err
	}
	if info, err = f.Stat(); err != nil {
		return nil, err
	}
	if err = f.Close(); err != nil {
		return nil, err
	}
	if err = p.dir().Rename(tmp, p.name); err != nil {
		return nil, err
	}
	p.trace("rename")
	p.syncDirs()
	return info, nil
}

// temporary returns a name for something that is not finished.
func temporary() string { return ".perstack-" + strings.ToLower(rand.Text()[:12]) + ".tmp" }

// syncDirs makes the new name survive a power cut too, and the directories that were
// made for it. It is a best effort: not every system can, and the file is written.
func (p *place) syncDirs() {
	dirs := p.dirs[len(p.dirs)-1:]
	if p.made {
		dirs = p.dirs
	}
	for _, dir := range slices.Backward(dirs) {
		if d, err := dir.Open("."); err == nil {
			_ = p.sync(d, "directory")
			d.Close()
		}
	}
}

func (p *place) sync(f *os.File, what string) error {
	p.trace("sync " + what)
	return f.Sync()
}

// writable looks at the owner's bit, whoever runs the process: root, too, respects
// that a user marked a file as not to be changed.
func writable(info fs.FileInfo) bool { return info.Mode().Perm()&0o200 != 0 }

func writableDir(dir folder, given string) error {
	info, err := dir.Stat(".")
	if err != nil {
		return err
	}
	if !writable(info) {
		return fail(NotWritable, given, "cannot be created: its parent directory is not writable")
	}
	return nil
}
