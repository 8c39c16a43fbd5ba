package workspace

import (
	"io/fs"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

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

// A fileID tells two files apart, whatever their names. The zero value is that
// of nothing.
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
