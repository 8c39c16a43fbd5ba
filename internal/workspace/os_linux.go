package workspace

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"github.com/perstack-go/perstack/internal/opendir"
)

// A reader is a regular file that is open for reading. An os.File would be registered with
// the poller and have a finalizer, which takes longer than reading a small file.
type reader struct {
	lease
	fd    int
	names int          // how many names the file has
	left  atomic.Int64 // bytes of the size it had when it was opened that are not read yet
}

// read opens a file for reading that was seen in the folder. seen only keeps pipes and
// devices from being opened: the caller decides by the handle.
func (d folder) read(name string, seen fs.FileInfo) (*reader, fs.FileInfo, error) {
	if err := checkName(name); err != nil {
		return nil, nil, err
	}
	// Opening a file of the kernel can have side effects.
	if identify(seen).dev != d.disk {
		there, err := d.look(name)
		if err != nil {
			return nil, nil, errChanged
		}
		defer there.drop()
		if isKernelFS(there.fd) {
			return nil, nil, errKernelFile
		}
	}
	// Without blocking: a pipe can have taken the name, and another process can delay the
	// opening by a lease on the file.
	fd, err := openat(d.fd, name, unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
	if errors.Is(err, unix.ELOOP) || errors.Is(err, unix.ENOENT) || errors.Is(err, unix.ENXIO) {
		return nil, nil, errChanged // it became a link, nothing, or a socket
	}
	if err != nil {
		return nil, nil, err
	}
	st := &status{name: name}
	err = fstat(fd, &st.Stat_t)
	if err == nil && st.fileID().dev != d.disk && isKernelFS(fd) {
		err = errKernelFile
	}
	if err != nil {
		unix.Close(fd)
		return nil, nil, err
	}
	r := &reader{fd: fd, names: int(st.Nlink)}
	r.left.Store(st.Size())
	return r, st, nil
}

// stamp returns what changes when the file does.
func (r *reader) stamp() (opendir.Stamp, error) {
	if !r.use() {
		return opendir.Stamp{}, fs.ErrClosed
	}
	defer func() {
		if r.done() {
			unix.Close(r.fd)
		}
	}()
	info, err := opendir.StatFD(r.fd)
	return info.Stamp, err
}

func (r *reader) Read(p []byte) (int, error) {
	if !r.use() {
		return 0, fs.ErrClosed
	}
	defer func() {
		if r.done() {
			unix.Close(r.fd)
		}
	}()
	for {
		n, err := unix.Read(r.fd, p)
		switch {
		case err == unix.EINTR:
			continue
		case err != nil:
			return 0, err
		case n == 0 && len(p) > 0:
			return 0, io.EOF
		}
		// The whole size was read and the buffer was not full: this is the end, without
		// another read. A size of 0 proves nothing.
		if left := r.left.Add(-int64(n)); left == 0 && n > 0 && n < len(p) {
			return n, io.EOF
		}
		return n, nil
	}
}

func (r *reader) Close() error {
	first, last := r.end()
	switch {
	case !first:
		return fs.ErrClosed
	case last:
		return unix.Close(r.fd)
	}
	return nil
}

// createUnnamed creates a file in the folder that has no name yet. No other process can
// find it while it is written, and the kernel removes it if we are killed. Not every file
// system can do that. The caller then uses another way, whatever the error was.
func (d folder) createUnnamed(mode fs.FileMode) (*os.File, error) {
	fd, err := openat(d.fd, ".", unix.O_TMPFILE|unix.O_WRONLY, uint32(mode.Perm()))
	if err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(fd), "new file"), nil
}

// nameUnnamed gives an unnamed file a name. If the name is taken, it returns [fs.ErrExist].
func (d folder) nameUnnamed(f *os.File, name string) error {
	if err := checkName(name); err != nil {
		return err
	}
	err := unix.Linkat(int(f.Fd()), "", d.fd, name, unix.AT_EMPTY_PATH)
	if err == nil || errors.Is(err, unix.EEXIST) {
		return err
	}
	// Older kernels require a privilege for AT_EMPTY_PATH, but not for this.
	return unix.Linkat(unix.AT_FDCWD, opened(f), d.fd, name, unix.AT_SYMLINK_FOLLOW)
}

// opened is a path to a file that this process has open.
func opened(f *os.File) string { return fmt.Sprintf("/proc/self/fd/%d", f.Fd()) }

const aclAttribute = "system.posix_acl_access"

// keepACL gives f the access list of the old file, and returns the mode that f must have.
// With a list, the group bits of the mode are the most that any entry of the list gets.
// Without the list they would admit a group that the list excludes.
//
// A list that a new file inherited from its directory is removed, unless the old file had
// one.
func keepACL(f *os.File, in folder, name string, old fs.FileInfo) fs.FileMode {
	list, err := readACL(in, name, old)
	return setACL(f, list, err, old.Mode().Perm())
}

// copyACL is [keepACL] for an old file that is open, and a mode of the new one.
func copyACL(f, old *os.File, mode fs.FileMode) fs.FileMode {
	list, err := listOf(old)
	return setACL(f, list, err, mode)
}

// setACL sets the access list of f, unless it could not be read.
func setACL(f *os.File, list []byte, err error, mode fs.FileMode) fs.FileMode {
	switch {
	case err == nil && list == nil:
		if err := unix.Fremovexattr(int(f.Fd()), aclAttribute); err == nil || isNoACL(err) {
			return mode
		}
	case err == nil:
		if unix.Fsetxattr(int(f.Fd()), aclAttribute, list, 0) == nil {
			return mode
		}
	}
	return mode &^ 0o070 // too few rights are safe
}

// readACL returns the access list of the file that has the name, nil if it has none.
func readACL(in folder, name string, old fs.FileInfo) ([]byte, error) {
	there, err := in.OpenFile(name, os.O_RDONLY|noFollow|noBlock, 0)
	if err != nil {
		return nil, err
	}
	defer there.Close()
	if info, err := there.Stat(); err != nil || !sameFile(info, old) {
		return nil, errChanged
	}
	return listOf(there)
}

// listOf returns the access list of an open file, nil if it has none.
func listOf(there *os.File) ([]byte, error) {
	for range 3 { // the list may grow between the two calls
		size, err := unix.Fgetxattr(int(there.Fd()), aclAttribute, nil)
		if isNoACL(err) || err == nil && size == 0 {
			return nil, nil
		}
		if err != nil {
			return nil, err
		}
		list := make([]byte, size)
		if size, err = unix.Fgetxattr(int(there.Fd()), aclAttribute, list); err == nil {
			return list[:size], nil
		}
	}
	return nil, errChanged
}

// isNoACL reports that a file has no list, or that the file system has none.
func isNoACL(err error) bool {
	return errors.Is(err, unix.ENODATA) || errors.Is(err, unix.ENOTSUP) || errors.Is(err, unix.ENOSYS)
}

func onKernelFS(f *os.File) bool { return isKernelFS(int(f.Fd())) }

// isKernelFS reports whether the kernel generates an open file. In a workspace that
// contains /proc, such as "/", /proc/self/environ would reveal the secrets of the runtime,
// and some of these files never end.
func isKernelFS(fd int) bool {
	var st unix.Statfs_t
	if err := unix.Fstatfs(fd, &st); err != nil {
		return true
	}
	switch uint32(st.Type) { // where it has 32 bits it is signed
	case unix.PROC_SUPER_MAGIC, unix.SYSFS_MAGIC, unix.DEBUGFS_MAGIC, unix.TRACEFS_MAGIC,
		unix.CGROUP_SUPER_MAGIC, unix.CGROUP2_SUPER_MAGIC, unix.SECURITYFS_MAGIC, unix.BPF_FS_MAGIC,
		unix.BINFMTFS_MAGIC, unix.SELINUX_MAGIC, unix.SMACK_MAGIC, unix.AAFS_MAGIC, unix.EFIVARFS_MAGIC,
		unix.PSTOREFS_MAGIC, unix.RDTGROUP_SUPER_MAGIC, unix.NSFS_MAGIC, unix.XENFS_SUPER_MAGIC,
		configfsMagic, fusectlMagic, mqueueMagic:
		return true
	}
	return false
}

// Numbers that are not in the public headers of the kernel: see fs/configfs/mount.c,
// fs/fuse/control.c and ipc/mqueue.c.
const (
	configfsMagic = 0x62656570
	fusectlMagic  = 0x65735543
	mqueueMagic   = 0x19800202
)

// hasShortNames reports whether a file may have a second, short name in the folder. File
// systems of Windows have them, local and remote; so every file system that is not known
// counts as one.
func (d folder) hasShortNames() bool {
	var st unix.Statfs_t
	if err := unix.Fstatfs(d.fd, &st); err != nil {
		return true
	}
	switch uint32(st.Type) {
	case unix.EXT4_SUPER_MAGIC, unix.XFS_SUPER_MAGIC, unix.BTRFS_SUPER_MAGIC, unix.F2FS_SUPER_MAGIC, unix.TMPFS_MAGIC, unix.RAMFS_MAGIC,
		unix.OVERLAYFS_SUPER_MAGIC, unix.NFS_SUPER_MAGIC, unix.SQUASHFS_MAGIC, unix.EROFS_SUPER_MAGIC_V1, unix.PROC_SUPER_MAGIC, unix.SYSFS_MAGIC,
		zfsMagic, bcachefsMagic:
		return false
	}
	return true
}

// Numbers of file systems that are developed outside of the kernel.
const (
	zfsMagic      = 0x2fc12fc1
	bcachefsMagic = 0xca451a4e
)

// times returns when a file was created and last read. Not every file system stores the first.
func (p *location) times(info fs.FileInfo) (created, accessed time.Time) {
	if st, ok := info.(*status); ok {
		accessed = time.Unix(st.Atim.Unix())
	}
	var st unix.Statx_t
	err := unix.Statx(p.dir().fd, p.name, unix.AT_SYMLINK_NOFOLLOW|unix.AT_EMPTY_PATH|unix.AT_STATX_DONT_SYNC, unix.STATX_BTIME, &st)
	if err == nil && st.Mask&unix.STATX_BTIME != 0 {
		created = time.Unix(st.Btime.Sec, int64(st.Btime.Nsec))
	}
	return created, accessed
}

func renameExclusive(from int, old string, to int, name string) error {
	return unix.Renameat2(from, old, to, name, unix.RENAME_NOREPLACE)
}
