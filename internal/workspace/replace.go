package workspace

import (
	"context"
	"crypto/rand"
	"errors"
	"io/fs"
	"os"
	"strings"
)

// replace writes a new file and then gives it the name. The rename acts on the name
// itself: a link that was put there since the walk is replaced, not followed.
func (p *location) replace(ctx context.Context, content func() ([]byte, error)) (fs.FileInfo, error) {
	if err := p.writableDir(); err != nil {
		return nil, err
	}
	data, err := content()
	if err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, interrupted(p.given, err)
	}
	info, err := p.replaceUnnamed(data)
	if errors.Is(err, errNoUnnamed) {
		info, err = p.replaceNamed(data)
	}
	if err != nil {
		return nil, err
	}
	p.syncDirs()
	return info, nil
}

// errNoUnnamed says that the file system does not support unnamed files.
var errNoUnnamed = errors.New("unnamed files are not supported")

// replaceUnnamed writes a file that has no name until it is complete, so that a killed
// process leaves nothing behind. If an old file is replaced, the new one has a temporary
// name between two system calls: the kernel cannot name a file and replace another in one
// call.
func (p *location) replaceUnnamed(data []byte) (fs.FileInfo, error) {
	f, err := p.dir().createUnnamed(p.mode())
	if err != nil {
		return nil, errNoUnnamed
	}
	defer f.Close() // sync has reported all errors
	if p.info == nil {
		// Before Linux 6.0 some file systems ignored the umask here. If the mode shows none,
		// the other way is used, which respects it.
		if made, err := f.Stat(); err != nil || made.Mode().Perm() == p.mode() {
			return nil, errNoUnnamed
		}
	}
	info, err := p.fill(f, data)
	if err != nil {
		return nil, err
	}
	if err := p.giveName(f); err != nil {
		return nil, err
	}
	p.workspace.trace("rename")
	// Some file systems lose an unnamed file that was synced (btrfs does not log it), so it is
	// synced again.
	p.workspace.trace("settle")
	_ = f.Sync() // best effort, as for directories
	return info, nil
}

// giveName gives an unnamed file the name of the location.
func (p *location) giveName(f *os.File) error {
	if p.info == nil {
		err := p.dir().nameUnnamed(f, p.name)
		if err == nil {
			return nil
		}
		if !errors.Is(err, fs.ErrExist) { // if the name was taken meanwhile, replace it
			return errNoUnnamed
		}
	}
	tmp := temporary()
	if err := p.dir().nameUnnamed(f, tmp); err != nil {
		return errNoUnnamed
	}
	err := p.dir().Rename(tmp, p.name)
	if err != nil {
		_ = p.dir().Remove(tmp) // best effort: the error that counts is returned
	}
	return err
}

// replaceNamed writes a file under a temporary name, and renames it.
func (p *location) replaceNamed(data []byte) (info fs.FileInfo, err error) {
	tmp := temporary()
	f, err := p.dir().OpenFile(tmp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, p.mode())
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			f.Close()
			_ = p.dir().Remove(tmp) // best effort: the error that counts is returned
		}
	}()
	if info, err = p.fill(f, data); err != nil {
		return nil, err
	}
	if err = f.Close(); err != nil {
		return nil, err
	}
	if err = p.dir().Rename(tmp, p.name); err != nil {
		return nil, err
	}
	p.workspace.trace("rename")
	return info, nil
}

// mode returns the mode of a file that replaces what is at the location.
func (p *location) mode() fs.FileMode {
	if p.info == nil {
		return 0o666 // minus the user's umask
	}
	// Permission bits only: a program that a model wrote must not run with the rights of
	// another user, so setuid and setgid are not kept.
	return p.info.Mode().Perm()
}

// fill writes a new file and syncs it.
func (p *location) fill(f *os.File, data []byte) (fs.FileInfo, error) {
	if p.info != nil {
		keepRights(f, p.dir(), p.name, p.info)
	}
	if _, err := f.Write(data); err != nil {
		return nil, err
	}
	// Before it has the name: otherwise a power cut could keep the new name and lose the
	// content, and leave an empty file.
	if err := p.sync(f, "file"); err != nil {
		return nil, err
	}
	return f.Stat()
}

// keepRights gives f the owner, the access list and the mode of the old file. What cannot
// be set is left out: f was created with the mode minus the umask, which is never wider,
// and another group does not get the rights of the old one.
func keepRights(f *os.File, in folder, name string, old fs.FileInfo) {
	sameGroup := keepOwner(f, old)
	mode := keepACL(f, in, name, old)
	if !sameGroup {
		mode &^= 0o070
	}
	_ = f.Chmod(mode)
}

// KeepRights gives f the owner and the access list of the open file that it replaces, and a mode. As
// for the file tools, what cannot be set is left out, and takes rights away rather than giving some.
func KeepRights(f, old *os.File, mode fs.FileMode) error {
	info, err := old.Stat()
	if err != nil {
		return err
	}
	sameGroup := keepOwner(f, info)
	mode = copyACL(f, old, mode)
	if !sameGroup {
		mode &^= 0o070
	}
	return f.Chmod(mode)
}

// temporary returns a name for an unfinished file.
func temporary() string {
	return temporaryHead + strings.ToLower(rand.Text()[:temporaryLetters]) + temporaryTail
}

const (
	temporaryHead, temporaryTail = ".perstack-", ".tmp"
	temporaryLetters             = 12
)

// isTemporary recognises such a name. Listings leave it out: it is a write in progress, or
// was left by a killed process. It can be used like any other name, so that tools can
// delete what was left.
func isTemporary(name string) bool {
	middle, head := strings.CutPrefix(name, temporaryHead)
	middle, tail := strings.CutSuffix(middle, temporaryTail)
	return head && tail && len(middle) == temporaryLetters && strings.Trim(middle, "abcdefghijklmnopqrstuvwxyz234567") == ""
}
