package workspace

import (
	"crypto/rand"
	"errors"
	"io/fs"
	"os"
	"strings"
)

// replace writes a new file and then gives it the name. The rename acts on the name
// itself: a link that was put there since the walk is replaced, not followed.
func (p *place) replace(data []byte) (fs.FileInfo, error) {
	info, err := p.replaceNameless(data)
	if errors.Is(err, errNameless) {
		info, err = p.replaceNamed(data)
	}
	if err != nil {
		return nil, err
	}
	p.syncDirs()
	return info, nil
}

// errNameless says that a file must have a name while it is written.
var errNameless = errors.New("there are no files without a name here")

// replaceNameless writes a file that has no name until it is complete, so a process that
// is killed leaves nothing behind. If there is an old file to be replaced, the new one
// has a name of its own for the moment between two system calls: the kernel can give a
// name or replace one, not both at once.
func (p *place) replaceNameless(data []byte) (fs.FileInfo, error) {
	f, err := p.dir().nameless(p.mode())
	if err != nil {
		return nil, errNameless
	}
	defer f.Close() // all that can fail has been said by sync
	if p.info == nil {
		// Before Linux 6.0 some file systems forgot the umask here. If none shows, the
		// other way is sure to respect it.
		if made, err := f.Stat(); err != nil || made.Mode().Perm() == p.mode() {
			return nil, errNameless
		}
	}
	info, err := p.fill(f, data)
	if err != nil {
		return nil, err
	}
	if err := p.giveName(f); err != nil {
		return nil, err
	}
	p.trace("rename")
	// Some file systems do not keep what is synced without a name (btrfs puts it into no
	// log), so it is synced again.
	p.trace("settle")
	_ = f.Sync() // as for directories: the file is written
	return info, nil
}

// giveName gives a nameless file the name of the place.
func (p *place) giveName(f *os.File) error {
	if p.info == nil {
		err := p.dir().give(f, p.name)
		if err == nil {
			return nil
		}
		if !errors.Is(err, fs.ErrExist) { // if it does, somebody was faster
			return errNameless
		}
	}
	tmp := temporary()
	if err := p.dir().give(f, tmp); err != nil {
		return errNameless
	}
	err := p.dir().Rename(tmp, p.name)
	if err != nil {
		_ = p.dir().Remove(tmp) // best effort: the error that counts is returned
	}
	return err
}

// replaceNamed writes beside the file, under a temporary name.
func (p *place) replaceNamed(data []byte) (info fs.FileInfo, err error) {
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
	p.trace("rename")
	return info, nil
}

// mode returns the mode of a file that replaces what is at the place.
func (p *place) mode() fs.FileMode {
	if p.info == nil {
		return 0o666 // minus the user's umask
	}
	// Permission bits only: what a model wrote must not run with the rights of another
	// user, so setuid and setgid are not carried over.
	return p.info.Mode().Perm()
}

// fill makes a new file complete and brings it to the disk.
func (p *place) fill(f *os.File, data []byte) (fs.FileInfo, error) {
	if p.info != nil {
		keepRights(f, p.dir(), p.name, p.info)
	}
	if _, err := f.Write(data); err != nil {
		return nil, err
	}
	// Before it has the name: a file system may keep the new name and lose the content,
	// and after a power cut the old file would have become an empty one.
	if err := p.sync(f, "file"); err != nil {
		return nil, err
	}
	return f.Stat()
}

// keepRights gives f the owner, the access list and the mode of the old file that has the
// name. What cannot be given is left out: f was made with the mode minus the umask, which
// is never wider, and what the old group might do is not for another one.
func keepRights(f *os.File, in folder, name string, old fs.FileInfo) {
	sameGroup := keepOwner(f, old)
	mode := keepAccess(f, in, name, old)
	if !sameGroup {
		mode &^= 0o070
	}
	_ = f.Chmod(mode)
}

// temporary returns a name for something that is not finished.
func temporary() string {
	return temporaryHead + strings.ToLower(rand.Text()[:temporaryLetters]) + temporaryTail
}

const (
	temporaryHead, temporaryTail = ".perstack-", ".tmp"
	temporaryLetters             = 12
)

// isTemporary recognises such a name. Listings leave it out: what has it is half of
// something that another call is about to finish, or that a killed process left. It can
// still be used like any other name, or no tool could delete what was left.
func isTemporary(name string) bool {
	middle, head := strings.CutPrefix(name, temporaryHead)
	middle, tail := strings.CutSuffix(middle, temporaryTail)
	return head && tail && len(middle) == temporaryLetters && strings.Trim(middle, "abcdefghijklmnopqrstuvwxyz234567") == ""
}
