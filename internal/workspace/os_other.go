//go:build !linux

package workspace

import (
	"errors"
	"io/fs"
	"os"
	"runtime"
	"syscall"

	"github.com/perstack-go/perstack/internal/opendir"
)

// A folder is an open directory. Here it is an [os.Root], which is used with one name at a
// time. It follows links inside the workspace without asking the guard, so a name is looked
// at, opened, and compared with what was opened.
type folder struct{ *os.Root }

// keepsDirsOpen is false: on Windows an open directory cannot be moved.
const keepsDirsOpen = false

// openFolder opens a directory by its path, which a user or the runtime chose.
func openFolder(path string) (folder, error) {
	root, err := os.OpenRoot(path)
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

// RemoveDir removes an empty directory, and looks at the name before, as Remove does.
func (d folder) RemoveDir(name string) error {
	if info, err := d.Lstat(name); err == nil && !info.IsDir() {
		return syscall.ENOTDIR
	}
	return d.Root.Remove(name)
}

// openAt opens a trusted path. With "/." a pipe at the path does not block the call.
func openAt(_ folder, path string) (folder, error) { return openFolder(path + "/.") }

// lookFrom returns the path as it is.
func lookFrom(_ folder, _, path string) (folder, string) { return folder{}, path }

// peek returns the identity of what is at a trusted path.
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

// A handle is what had a name in a folder when it was looked at.
type handle struct {
	in   folder
	name string
	seen fs.FileInfo // nil when there is nothing
}

// look describes what has the name, without following it.
func (d folder) look(name string) (handle, error) {
	info, err := d.Lstat(name)
	return handle{in: d, name: name, seen: info}, err
}

func (x *handle) id() fileID { return identify(x.seen) }

func (x *handle) isDir() bool { return x.seen != nil && x.seen.IsDir() }

func (x *handle) isLink() bool { return isLink(x.seen) }

// info describes what was seen; nil if nothing was.
func (x *handle) info() fs.FileInfo { return x.seen }

// enter opens the directory that was seen. os.Root would follow a link that took the name
// meanwhile, without asking the guard; so afterwards the name must still be the directory
// that was opened.
func (x *handle) enter() (folder, error) {
	// With "/." the name is opened as a directory or not at all. Without it a pipe that took
	// the name would block the call for ever.
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
	return folder{root}, nil
}

// target reads the link that was seen.
func (x *handle) target() (string, error) {
	target, err := x.in.Readlink(x.name)
	if err != nil {
		return "", errChanged
	}
	return target, nil
}

// drop does nothing: a handle holds nothing open here.
func (x *handle) drop() {}

// A fileID tells two files apart, whatever their names.
type fileID struct{ info fs.FileInfo }

func identify(info fs.FileInfo) fileID { return fileID{info} }

func (id fileID) is(other fileID) bool {
	return id.info != nil && other.info != nil && os.SameFile(id.info, other.info)
}

// mayHaveNames reports whether a file can have other names than the one it was found by.
func mayHaveNames(fs.FileInfo) bool { return true }

// A reader is a regular file that is open for reading.
type reader struct {
	*os.File
	names int // how many names the file has
}

// stamp returns what changes when the file does.
func (r *reader) stamp() (opendir.Stamp, error) {
	info, err := opendir.StatFile(r.File)
	return info.Stamp, err
}

// read opens a file for reading that was seen in the folder.
func (d folder) read(name string, _ fs.FileInfo) (*reader, fs.FileInfo, error) {
	f, err := d.OpenFile(name, os.O_RDONLY|noBlock, 0)
	if err != nil {
		return nil, nil, err
	}
	info, err := f.Stat()
	if err == nil {
		err = d.still(name, info)
	}
	if err != nil {
		f.Close()
		return nil, nil, err
	}
	return &reader{f, linkCount(f, info)}, info, nil
}

// createUnnamed fails: every file has a name here.
func (d folder) createUnnamed(fs.FileMode) (*os.File, error) { return nil, errors.ErrUnsupported }

func (d folder) nameUnnamed(*os.File, string) error { return errors.ErrUnsupported }

// keepACL returns the mode of a file that replaces another. The access lists of these
// systems do not change the meaning of the mode.
func keepACL(_ *os.File, _ folder, _ string, old fs.FileInfo) fs.FileMode {
	return old.Mode().Perm()
}

func copyACL(_, _ *os.File, mode fs.FileMode) fs.FileMode { return mode }

// onKernelFS is false: no file systems of the kernel are known here.
func onKernelFS(*os.File) bool { return false }

// hasShortNames reports whether a file may have a second, short name in the folder. On
// macOS, file systems of Windows are not recognised.
func (d folder) hasShortNames() bool { return runtime.GOOS == "windows" }
