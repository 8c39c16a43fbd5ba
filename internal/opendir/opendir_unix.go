//go:build unix

package opendir

import (
	"errors"
	"io"
	"io/fs"
	"os"

	"golang.org/x/sys/unix"
)

const separators = "/\x00"

// A Dir is an open directory. It must be closed once.
type Dir struct{ fd int }

// Open opens a directory by a path that the user or perstack chose.
func Open(path string) (Dir, error) { return open(unix.AT_FDCWD, path, 0) }

func open(in int, name string, flags int) (Dir, error) {
	fd, err := openat(in, name, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NONBLOCK|flags, 0)
	if err != nil {
		return Dir{}, &fs.PathError{Op: "open", Path: name, Err: err}
	}
	return Dir{fd}, nil
}

func openat(in int, name string, flags int, mode uint32) (int, error) {
	for {
		fd, err := unix.Openat(in, name, flags|unix.O_CLOEXEC, mode)
		if err != unix.EINTR {
			return fd, err
		}
	}
}

// Sub opens a directory in the directory.
func (d Dir) Sub(name string) (Dir, error) {
	if err := checkName(name); err != nil {
		return Dir{}, err
	}
	return open(d.fd, name, unix.O_NOFOLLOW)
}

// Close closes the directory.
func (d Dir) Close() error { return unix.Close(d.fd) }

// Names returns the names in the directory, in no order.
func (d Dir) Names() (names []string, err error) {
	if _, err := unix.Seek(d.fd, 0, io.SeekStart); err != nil { // another call can have read them
		return nil, &fs.PathError{Op: "list", Path: ".", Err: err}
	}
	buffer := make([]byte, 16<<10)
	for {
		n, err := unix.ReadDirent(d.fd, buffer)
		switch {
		case err == unix.EINTR:
			continue
		case err != nil:
			return names, &fs.PathError{Op: "list", Path: ".", Err: err}
		case n == 0:
			return names, nil
		}
		_, _, names = unix.ParseDirent(buffer[:n], -1, names)
	}
}

// Stat describes what has a name.
func (d Dir) Stat(name string) (Info, error) {
	if err := checkName(name); err != nil {
		return Info{}, err
	}
	var st unix.Stat_t
	for {
		err := unix.Fstatat(d.fd, name, &st, unix.AT_SYMLINK_NOFOLLOW)
		switch err {
		case nil:
			return info(&st), nil
		case unix.EINTR:
		default:
			return Info{}, &fs.PathError{Op: "stat", Path: name, Err: err}
		}
	}
}

// Self describes the directory.
func (d Dir) Self() (Info, error) {
	var st unix.Stat_t
	if err := unix.Fstat(d.fd, &st); err != nil {
		return Info{}, &fs.PathError{Op: "stat", Path: ".", Err: err}
	}
	return info(&st), nil
}

// StatFile describes an open file.
func StatFile(f *os.File) (Info, error) { return StatFD(int(f.Fd())) }

// StatFD describes an open file by its descriptor.
func StatFD(fd int) (Info, error) { return Dir{fd}.Self() }

func info(st *unix.Stat_t) Info {
	i := Info{
		Mode: uint16(st.Mode & 0o777), Size: st.Size, Names: int(st.Nlink),
		Stamp: Stamp{uint64(st.Dev), st.Ino, st.Mtim.Nano(), st.Ctim.Nano()}, //nolint:unconvert // the types differ between systems
	}
	switch st.Mode & unix.S_IFMT {
	case unix.S_IFREG:
		i.Kind = File
	case unix.S_IFDIR:
		i.Kind = Directory
	case unix.S_IFLNK:
		i.Kind = Link
	default:
		i.Kind = Other
	}
	return i
}

// Read opens a regular file for reading.
func (d Dir) Read(name string) (*os.File, error) { return d.openFile(name, unix.O_RDONLY, 0) }

// Update opens a regular file for reading and writing, and makes it if needed.
func (d Dir) Update(name string, mode uint16) (*os.File, error) {
	return d.openFile(name, unix.O_RDWR|unix.O_CREAT, mode)
}

func (d Dir) openFile(name string, flags int, mode uint16) (*os.File, error) {
	if err := checkName(name); err != nil {
		return nil, err
	}
	fd, err := openat(d.fd, name, flags|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_NOCTTY, uint32(mode))
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: name, Err: err}
	}
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil || st.Mode&unix.S_IFMT != unix.S_IFREG {
		unix.Close(fd)
		return nil, &fs.PathError{Op: "open", Path: name, Err: unix.EINVAL}
	}
	return os.NewFile(uintptr(fd), name), nil
}

// Target returns the text of a link.
func (d Dir) Target(name string) (string, error) {
	if err := checkName(name); err != nil {
		return "", err
	}
	buffer := make([]byte, 4097)
	n, err := unix.Readlinkat(d.fd, name, buffer)
	if err == nil && n == len(buffer) {
		err = unix.ENAMETOOLONG
	}
	if err != nil {
		return "", &fs.PathError{Op: "read link", Path: name, Err: err}
	}
	return string(buffer[:n]), nil
}

// Create makes a file, which must not exist, and opens it for writing.
func (d Dir) Create(name string, mode uint16) (*os.File, error) {
	if err := checkName(name); err != nil {
		return nil, err
	}
	fd, err := openat(d.fd, name, unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL|unix.O_NOFOLLOW, uint32(mode))
	if err != nil {
		return nil, &fs.PathError{Op: "create", Path: name, Err: err}
	}
	return os.NewFile(uintptr(fd), name), nil
}

// Mkdir makes a directory.
func (d Dir) Mkdir(name string, mode uint16) error {
	return d.change("make directory", name, func() error { return unix.Mkdirat(d.fd, name, uint32(mode)) })
}

// Symlink makes a link.
func (d Dir) Symlink(target, name string) error {
	return d.change("make link", name, func() error { return unix.Symlinkat(target, d.fd, name) })
}

// Remove removes what is not a directory.
func (d Dir) Remove(name string) error {
	return d.change("remove", name, func() error { return unix.Unlinkat(d.fd, name, 0) })
}

// RemoveDir removes an empty directory.
func (d Dir) RemoveDir(name string) error {
	return d.change("remove", name, func() error { return unix.Unlinkat(d.fd, name, unix.AT_REMOVEDIR) })
}

// MoveTo gives a file or a link a name in another directory, and replaces a file or a link that has it.
func (d Dir) MoveTo(to Dir, name, as string) error {
	if err := checkName(as); err != nil {
		return err
	}
	return d.change("move", name, func() error { return unix.Renameat(d.fd, name, to.fd, as) })
}

// Chmod sets the permission bits of the directory.
func (d Dir) Chmod(mode uint16) error {
	if err := unix.Fchmod(d.fd, uint32(mode)); err != nil {
		return &fs.PathError{Op: "chmod", Path: ".", Err: err}
	}
	return nil
}

// isPlain reports whether permissions of a file or a directory can be changed: it has the device and
// the inode of a stamp, and no other name.
func isPlain(st *unix.Stat_t, is Stamp) bool {
	now := info(st)
	return now.Stamp.Device == is.Device && now.Stamp.Inode == is.Inode &&
		(now.Kind == Directory || now.Kind == File && now.Names == 1)
}

// changeBits returns a mode with its permission bits set or cleared.
func changeBits(st *unix.Stat_t, bits uint16, on bool) uint32 {
	mode := uint32(st.Mode) & 0o7777 //nolint:unconvert // the types differ between systems
	if on {
		return mode | uint32(bits)
	}
	return mode &^ uint32(bits)
}

// Sync makes the entries of the directory durable, where the file system can.
func (d Dir) Sync() error {
	if err := unix.Fsync(d.fd); err != nil && err != unix.EINVAL && err != unix.ENOTSUP {
		return &fs.PathError{Op: "sync", Path: ".", Err: err}
	}
	return nil
}

func (d Dir) change(op, name string, call func() error) error {
	err := checkName(name)
	for err == nil {
		if err = call(); err == nil {
			return nil
		}
		if errors.Is(err, unix.EINTR) {
			err = nil
		}
	}
	return &fs.PathError{Op: op, Path: name, Err: err}
}
