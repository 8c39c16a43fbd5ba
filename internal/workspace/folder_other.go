//go:build !linux

package workspace

import (
	"io/fs"
	"os"
	"syscall"
	"time"
)

// A folder is an open directory. Here it is an [os.Root], which is given one name at a
// time. It follows links inside the workspace, past the guard, so a name is looked at,
// opened, and compared with what was opened.
type folder struct{ *os.Root }

// keepsWay is false: on Windows an open directory cannot be moved.
const keepsWay = false

// openFolder opens a directory by its path, which a user or the runtime chose.
func openFolder(path string) (folder, error) {
	root, err := os.OpenRoot(path)
	return folder{root}, err
}

// OpenRoot opens a directory in the folder.
func (d folder) OpenRoot(name string) (folder, error) {
	root, err := d.Root.OpenRoot(name)
	return folder{root}, err
}

// Remove removes a file or a link. The system has one call for files and directories, so
// the name is looked at before.
func (d folder) Remove(name string) error {
	if info, err := d.Lstat(name); err == nil && info.IsDir() {
		return syscall.EISDIR
	}
	return d.Root.Remove(name)
}

// RemoveDir removes an empty directory; the same holds.
func (d folder) RemoveDir(name string) error {
	if info, err := d.Lstat(name); err == nil && !info.IsDir() {
		return syscall.ENOTDIR
	}
	return d.Root.Remove(name)
}

// lastChange returns when a file was last written: more is not known on every system.
func lastChange(info fs.FileInfo) time.Time { return info.ModTime() }

// openAt opens a trusted path. With "/." a pipe that was put there does not block us.
func openAt(_ folder, path string) (folder, error) { return openFolder(path + "/.") }

// vantage returns from where a trusted path is looked at: its beginning.
func vantage(_ folder, _, path string) (folder, string) { return folder{}, path }

// peek tells what is at a trusted path.
func peek(_ folder, path string, follow bool) (id fileID, isDir bool, err error) {
	look := os.Lstat
	if follow {
		look = os.Stat
	}
	info, err := look(path)
	if err != nil {
		return fileID{}, false, err
	}
	return identify(info), info.IsDir(), nil
}

// A found is what a name in a folder stood for when it was looked at.
type found struct {
	in   folder
	name string
	seen fs.FileInfo // nil when there is nothing
}

// look describes what has the name, without following it.
func (d folder) look(name string) (found, error) {
	info, err := d.Lstat(name)
	return found{in: d, name: name, seen: info}, err
}

func (x *found) id() fileID { return identify(x.seen) }

func (x *found) isDir() bool { return x.seen != nil && x.seen.IsDir() }

func (x *found) isLink() bool { return x.seen != nil && x.seen.Mode()&fs.ModeSymlink != 0 }

// info describes what was found; nil when it was nothing.
func (x *found) info() fs.FileInfo { return x.seen }

// enter opens the directory that was found. os.Root would follow a link that was put
// there since the look, past the guard; so afterwards the name must still be a
// directory, and the one that was opened.
func (x *found) enter() (folder, error) {
	// With "/." the name is opened as a directory or not at all. Without it a pipe
	// that was put there would block the call for good.
	root, err := x.in.OpenRoot(x.name + "/.")
	if err != nil {
		if info, lerr := x.in.Lstat(x.name); lerr != nil || !info.IsDir() {
			return folder{}, errChanged
		}
		return folder{}, err
	}
	opened, err := root.Stat(".")
	if err == nil && !sameFile(x.seen, opened) {
		err = errChanged
	}
	if err == nil {
		err = x.in.still(x.name, opened)
	}
	if err != nil {
		root.Close()
		return folder{}, err
	}
	return root, nil
}

// target reads the link that was found.
func (x *found) target() (string, error) {
	target, err := x.in.Readlink(x.name)
	if err != nil {
		return "", errChanged
	}
	return target, nil
}

// still reports errChanged unless what was opened has the name, itself and not through
// a link.
func (d folder) still(name string, opened fs.FileInfo) error {
	info, err := d.Lstat(name)
	if err != nil || info.Mode()&fs.ModeSymlink != 0 || !sameFile(info, opened) {
		return errChanged
	}
	return nil
}

// drop has nothing to close.
func (x *found) drop() {}

// A fileID tells two files apart, whatever their names.
type fileID struct{ info fs.FileInfo }

func identify(info fs.FileInfo) fileID { return fileID{info} }

func (id fileID) is(other fileID) bool {
	return id.info != nil && other.info != nil && os.SameFile(id.info, other.info)
}
