package workspace

import (
	"errors"
	"io/fs"
	"os"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// Lstat describes what has the name. A link is not followed.
func (d folder) Lstat(name string) (fs.FileInfo, error) {
	if err := single(name); err != nil {
		return nil, err
	}
	st := &status{name: name}
	if err := fstatat(d.fd, name, &st.Stat_t, unix.AT_SYMLINK_NOFOLLOW); err != nil {
		return nil, err
	}
	return st, nil
}

// Stat describes the directory itself, by the name ".". Of others it tells what Lstat
// does: nothing here follows a link.
func (d folder) Stat(name string) (fs.FileInfo, error) {
	if name != "." {
		return d.Lstat(name)
	}
	st := &status{name: name}
	if err := fstat(d.fd, &st.Stat_t); err != nil {
		return nil, err
	}
	return st, nil
}

// Open opens a name for reading; with ".", the directory.
func (d folder) Open(name string) (*os.File, error) { return d.OpenFile(name, os.O_RDONLY, 0) }

// OpenFile opens a name. A link is not followed: errChanged says that there is one.
func (d folder) OpenFile(name string, flags int, mode fs.FileMode) (*os.File, error) {
	if err := single(name); err != nil {
		return nil, err
	}
	if name == "." {
		flags |= unix.O_DIRECTORY
	}
	fd, err := openat(d.fd, name, flags|unix.O_NOFOLLOW, uint32(mode.Perm()))
	if errors.Is(err, unix.ELOOP) {
		return nil, errChanged
	}
	if err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(fd), name), nil
}

// Mkdir makes a directory.
func (d folder) Mkdir(name string, mode fs.FileMode) error {
	if err := single(name); err != nil {
		return err
	}
	return unix.Mkdirat(d.fd, name, uint32(mode.Perm()))
}

// Remove removes a file or a link, and never a directory. What took the name since it was
// looked at must not go only because it can.
func (d folder) Remove(name string) error {
	if err := single(name); err != nil {
		return err
	}
	return unix.Unlinkat(d.fd, name, 0)
}

// RemoveDir removes an empty directory, and never a file.
func (d folder) RemoveDir(name string) error {
	if err := single(name); err != nil {
		return err
	}
	return unix.Unlinkat(d.fd, name, unix.AT_REMOVEDIR)
}

// Rename gives another name of the same directory.
func (d folder) Rename(from, to string) error { return d.renameTo(from, d, to) }

// renameTo moves a name to another directory, where it takes the name to.
func (d folder) renameTo(from string, dir folder, to string) error {
	for _, name := range []string{from, to} {
		if err := single(name); err != nil {
			return err
		}
	}
	return unix.Renameat(d.fd, from, dir.fd, to)
}

// Readlink reads a link.
func (d folder) Readlink(name string) (string, error) {
	if err := single(name); err != nil {
		return "", err
	}
	return readlink(d.fd, name)
}

// OpenRoot opens a directory, and nothing else that has the name. With "." it opens the
// folder a second time.
func (d folder) OpenRoot(name string) (folder, error) {
	there, err := d.look(strings.TrimSuffix(name, "/."))
	if err != nil {
		return folder{}, err
	}
	if !there.isDir() {
		there.drop()
		return folder{}, unix.ENOTDIR
	}
	return there.enter()
}

// Symlink makes a link.
func (d folder) Symlink(target, name string) error {
	if err := single(name); err != nil {
		return err
	}
	return unix.Symlinkat(target, d.fd, name)
}

// Chtimes sets the times of a file, or of a link itself.
func (d folder) Chtimes(name string, accessed, modified time.Time) error {
	if err := single(name); err != nil {
		return err
	}
	times := make([]unix.Timespec, 2)
	for i, t := range []time.Time{accessed, modified} {
		var err error
		if times[i], err = unix.TimeToTimespec(t); err != nil {
			return err
		}
	}
	return unix.UtimesNanoAt(d.fd, name, times, unix.AT_SYMLINK_NOFOLLOW)
}

// RemoveAll removes what has the name and all that is in it. It follows no link.
func (d folder) RemoveAll(name string) error {
	err := d.Remove(name)
	if err == nil || errors.Is(err, unix.ENOENT) || d.RemoveDir(name) == nil {
		return nil
	}
	dir, openErr := d.OpenRoot(name)
	if openErr != nil {
		return err
	}
	defer dir.Close()
	f, err := dir.Open(".")
	if err != nil {
		return err
	}
	defer f.Close()
	names, err := f.Readdirnames(-1)
	if err != nil {
		return err
	}
	for _, name := range names {
		if err := dir.RemoveAll(name); err != nil {
			return err
		}
	}
	return d.RemoveDir(name)
}

// lastChange returns when a file was last changed in any way. No program can set that time
// back, as it can the time of the last write.
func lastChange(info fs.FileInfo) time.Time {
	if st, ok := info.(*status); ok {
		return time.Unix(st.Ctim.Unix())
	}
	return info.ModTime()
}

// Close gives the directory back. It must be called once.
func (d folder) Close() error { return unix.Close(d.fd) }
