package workspace

import (
	"errors"
	"io/fs"
	"strings"

	"golang.org/x/sys/unix"
)

// A folder is an open directory. Its methods have the names of [os.Root], and take one
// name in the directory, never a path.
//
// Here it is a bare descriptor that only stands for the directory (O_PATH). So a name
// is opened first, without following it and without waking a device, and what is
// decided about it is decided on the open handle: there is no moment between a look
// and an opening. It also takes a fifth of the time of os.Root.
type folder struct {
	fd   int
	disk uint64 // a device that is known not to be the kernel's own; 0 when none is
}

// keepsWay says that an open directory is in nobody's way: it can be moved and removed.
const keepsWay = true

// openFolder opens a directory by its path, which a user or the runtime chose.
func openFolder(path string) (folder, error) {
	d, err := openAt(folder{fd: unix.AT_FDCWD}, path)
	if err != nil {
		return d, err
	}
	st, err := d.Stat(".")
	if err != nil {
		d.Close()
		return d, err
	}
	// As long as the directory is open its device keeps its number. Files on it need
	// not be asked, one by one, whether the kernel makes them up.
	if !madeUp(d.fd) {
		d.disk = identify(st).dev
	}
	return d, nil
}

// openAt opens a trusted path that begins at in, links followed.
func openAt(in folder, path string) (folder, error) {
	fd, err := openat(in.fd, path, unix.O_PATH|unix.O_DIRECTORY, 0)
	return folder{fd: fd}, err
}

// vantage returns from where a trusted path is looked at most cheaply, and its name
// there. dir is the path of root.
func vantage(root folder, dir, path string) (folder, string) {
	if base, ok := strings.CutPrefix(path, strings.TrimSuffix(dir, "/")+"/"); ok && single(base) == nil {
		return root, base
	}
	return folder{fd: unix.AT_FDCWD}, path
}

// peek tells what is at a trusted path that begins at in.
func peek(in folder, path string, follow bool) (id fileID, isDir bool, err error) {
	flags := 0
	if !follow {
		flags = unix.AT_SYMLINK_NOFOLLOW
	}
	var st status
	if err := fstatat(in.fd, path, &st.Stat_t, flags); err != nil {
		return fileID{}, false, err
	}
	return st.fileID(), st.IsDir(), nil
}

// A found is what a name in a folder stands for. It has the thing itself open.
type found struct {
	folder // open on it, of whatever kind it is
	opened bool
	status status
}

// look opens what has the name, without following it.
func (d folder) look(name string) (found, error) {
	if err := single(name); err != nil {
		return found{}, err
	}
	fd, err := openat(d.fd, name, unix.O_PATH|unix.O_NOFOLLOW, 0)
	if err != nil {
		return found{}, err
	}
	x := found{folder: folder{fd: fd, disk: d.disk}, opened: true, status: status{name: name}}
	if err := fstat(fd, &x.status.Stat_t); err != nil {
		x.drop()
		return found{}, err
	}
	return x, nil
}

func (x *found) id() fileID { return x.status.fileID() }

func (x *found) isDir() bool { return x.opened && x.status.IsDir() }

func (x *found) isLink() bool { return x.opened && x.status.isLink() }

// info describes what was found; nil when it was nothing.
func (x *found) info() fs.FileInfo {
	if !x.opened {
		return nil
	}
	st := x.status
	return &st
}

// enter returns the directory that was found; it belongs to the caller from then on.
func (x *found) enter() (folder, error) { return x.folder, nil }

// target reads the link that was found.
func (x *found) target() (string, error) { return readlink(x.fd, "") }

// drop closes what was found.
func (x *found) drop() {
	if x.opened {
		x.Close()
		x.opened = false
	}
}

// single refuses what is not one name: the kernel would walk a path on its own, past
// the guard.
func single(name string) error {
	if name == "" || name == ".." || strings.IndexByte(name, '/') >= 0 {
		return errors.New("not the name of one file")
	}
	return nil
}

func openat(dir int, path string, flags int, mode uint32) (int, error) {
	for {
		fd, err := unix.Openat(dir, path, flags|unix.O_CLOEXEC, mode)
		if err != unix.EINTR {
			return fd, err
		}
	}
}

func fstat(fd int, st *unix.Stat_t) error {
	for {
		if err := unix.Fstat(fd, st); err != unix.EINTR {
			return err
		}
	}
}

func fstatat(dir int, path string, st *unix.Stat_t, flags int) error {
	for {
		if err := unix.Fstatat(dir, path, st, flags); err != unix.EINTR {
			return err
		}
	}
}

// readlink reads the link of that name in dir; without a name, the link that is open.
func readlink(dir int, name string) (string, error) {
	buf := make([]byte, maxPath+1)
	n, err := unix.Readlinkat(dir, name, buf)
	if err != nil {
		return "", err
	}
	return string(buf[:n]), nil
}
