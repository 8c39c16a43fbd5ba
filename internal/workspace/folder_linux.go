package workspace

import (
	"errors"
	"io/fs"
	"os"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// A folder is an open directory. Its methods have the names of [os.Root], and take one
// name in the directory, never a path.
//
// On Linux it is a descriptor with O_PATH. A name is opened first, without following a
// link and without opening a device, and every decision is made on the open handle: there
// is no time between a check and an opening. It also takes a fifth of the time of os.Root.
type folder struct {
	fd   int
	disk uint64 // a device that is known not to be a file system of the kernel; 0 if unknown
}

// keepsDirsOpen says that an open directory can still be moved and removed.
const keepsDirsOpen = true

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
	// While the directory is open, its device keeps its number. Files on the same device
	// need no check whether the kernel generates them.
	if !isKernelFS(d.fd) {
		d.disk = identify(st).dev
	}
	return d, nil
}

// openAt opens a trusted path that begins at in, links followed.
func openAt(in folder, path string) (folder, error) {
	fd, err := openat(in.fd, path, unix.O_PATH|unix.O_DIRECTORY, 0)
	return folder{fd: fd}, err
}

// lookFrom returns the directory from which looking at a trusted path is cheapest, and its
// name there. dir is the path of root.
func lookFrom(root folder, dir, path string) (folder, string) {
	if base, ok := strings.CutPrefix(path, strings.TrimSuffix(dir, "/")+"/"); ok && checkName(base) == nil {
		return root, base
	}
	return folder{fd: unix.AT_FDCWD}, path
}

// peek returns the identity of what is at a trusted path that begins at in.
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

// A handle is what has a name in a folder, opened with O_PATH.
type handle struct {
	folder // open on a file of any kind
	opened bool
	status status
}

// look opens what has the name, without following it.
func (d folder) look(name string) (handle, error) {
	if err := checkName(name); err != nil {
		return handle{}, err
	}
	fd, err := openat(d.fd, name, unix.O_PATH|unix.O_NOFOLLOW, 0)
	if err != nil {
		return handle{}, err
	}
	x := handle{folder: folder{fd: fd, disk: d.disk}, opened: true, status: status{name: name}}
	if err := fstat(fd, &x.status.Stat_t); err != nil {
		x.drop()
		return handle{}, err
	}
	return x, nil
}

func (x *handle) id() fileID { return x.status.fileID() }

func (x *handle) isDir() bool { return x.opened && x.status.IsDir() }

func (x *handle) isLink() bool { return x.opened && x.status.isLink() }

// info describes what was opened; nil if nothing was.
func (x *handle) info() fs.FileInfo {
	if !x.opened {
		return nil
	}
	st := x.status
	return &st
}

// enter returns the open directory, which then belongs to the caller.
func (x *handle) enter() (folder, error) { return x.folder, nil }

// target reads the open link.
func (x *handle) target() (string, error) { return readlink(x.fd, "") }

// drop closes the handle.
func (x *handle) drop() {
	if x.opened {
		x.Close()
		x.opened = false
	}
}

// checkName refuses what is not a single name: the kernel would resolve a path by itself,
// without asking the guard.
func checkName(name string) error {
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

// Lstat describes what has the name. A link is not followed.
func (d folder) Lstat(name string) (fs.FileInfo, error) {
	if err := checkName(name); err != nil {
		return nil, err
	}
	st := &status{name: name}
	if err := fstatat(d.fd, name, &st.Stat_t, unix.AT_SYMLINK_NOFOLLOW); err != nil {
		return nil, err
	}
	return st, nil
}

// Stat describes the directory itself, by the name ".". For other names it is Lstat:
// nothing here follows a link.
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
	if err := checkName(name); err != nil {
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
	if err := checkName(name); err != nil {
		return err
	}
	return unix.Mkdirat(d.fd, name, uint32(mode.Perm()))
}

// Remove removes a file or a link, and never a directory that took the name meanwhile.
func (d folder) Remove(name string) error {
	if err := checkName(name); err != nil {
		return err
	}
	return unix.Unlinkat(d.fd, name, 0)
}

// RemoveDir removes an empty directory, and never a file.
func (d folder) RemoveDir(name string) error {
	if err := checkName(name); err != nil {
		return err
	}
	return unix.Unlinkat(d.fd, name, unix.AT_REMOVEDIR)
}

// Rename gives a file another name in the same directory.
func (d folder) Rename(from, to string) error {
	for _, name := range []string{from, to} {
		if err := checkName(name); err != nil {
			return err
		}
	}
	return unix.Renameat(d.fd, from, d.fd, to)
}

// Readlink reads a link.
func (d folder) Readlink(name string) (string, error) {
	if err := checkName(name); err != nil {
		return "", err
	}
	return readlink(d.fd, name)
}

// Close closes the directory. It must be called once.
func (d folder) Close() error { return unix.Close(d.fd) }

// A status is what the kernel says about a file, as an [fs.FileInfo].
type status struct {
	unix.Stat_t
	name string
}

func (s *status) Name() string       { return s.name }
func (s *status) Size() int64        { return s.Stat_t.Size }
func (s *status) IsDir() bool        { return s.Stat_t.Mode&unix.S_IFMT == unix.S_IFDIR }
func (s *status) isLink() bool       { return s.Stat_t.Mode&unix.S_IFMT == unix.S_IFLNK }
func (s *status) ModTime() time.Time { return time.Unix(s.Mtim.Unix()) }

// Mode translates the bits of the kernel to those of Go.
func (s *status) Mode() fs.FileMode {
	mode := fs.FileMode(s.Stat_t.Mode & 0o777)
	switch s.Stat_t.Mode & unix.S_IFMT {
	case unix.S_IFREG:
	case unix.S_IFDIR:
		mode |= fs.ModeDir
	case unix.S_IFLNK:
		mode |= fs.ModeSymlink
	case unix.S_IFIFO:
		mode |= fs.ModeNamedPipe
	case unix.S_IFSOCK:
		mode |= fs.ModeSocket
	case unix.S_IFBLK:
		mode |= fs.ModeDevice
	case unix.S_IFCHR:
		mode |= fs.ModeDevice | fs.ModeCharDevice
	default:
		mode |= fs.ModeIrregular
	}
	if s.Stat_t.Mode&unix.S_ISUID != 0 {
		mode |= fs.ModeSetuid
	}
	if s.Stat_t.Mode&unix.S_ISGID != 0 {
		mode |= fs.ModeSetgid
	}
	if s.Stat_t.Mode&unix.S_ISVTX != 0 {
		mode |= fs.ModeSticky
	}
	return mode
}

// Sys returns what the infos of package os return.
func (s *status) Sys() any {
	return &syscall.Stat_t{
		Dev: s.Dev, Ino: s.Ino, Nlink: s.Nlink, Mode: s.Stat_t.Mode, Uid: s.Uid, Gid: s.Gid, Rdev: s.Rdev,
		Size: s.Stat_t.Size, Blksize: s.Blksize, Blocks: s.Blocks,
		Atim: syscall.Timespec(s.Atim), Mtim: syscall.Timespec(s.Mtim), Ctim: syscall.Timespec(s.Ctim),
	}
}

// A fileID tells two files apart, whatever their names. The zero value equals none.
type fileID struct{ dev, ino uint64 }

func (s *status) fileID() fileID { return fileID{uint64(s.Dev), s.Ino} }

func identify(info fs.FileInfo) fileID {
	switch info := info.(type) {
	case nil:
		return fileID{}
	case *status:
		return info.fileID()
	}
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		return fileID{uint64(st.Dev), st.Ino}
	}
	return fileID{}
}

func (id fileID) is(other fileID) bool { return id == other && id != fileID{} }

// mayHaveNames reports whether a file can have other names than the one it was found by.
func mayHaveNames(info fs.FileInfo) bool {
	if s, ok := info.(*status); ok {
		return s.Nlink > 1
	}
	return true
}
