package disk

import (
	"cmp"
	"errors"
	"os"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// fileClock is the clock that the kernel takes the times of files from. It is up to a few
// milliseconds behind the one of package time.
func fileClock() time.Time {
	var now unix.Timespec
	if unix.ClockGettime(unix.CLOCK_REALTIME_COARSE, &now) != nil {
		return time.Now().Add(-time.Second)
	}
	return time.Unix(now.Unix())
}

// free asks the file system of a directory.
func (w *Watch) free(dir string) (space, error) {
	w.calls.Add(1)
	var s unix.Statfs_t
	if err := unix.Statfs(dir, &s); err != nil {
		return space{}, err
	}
	size := cmp.Or(s.Frsize, s.Bsize)
	id := uint64(uint32(s.Fsid.Val[0]))<<32 | uint64(uint32(s.Fsid.Val[1]))
	total := int64(s.Blocks) * size
	return space{
		id: id, tells: s.Blocks > 0, small: uint32(s.Type) == unix.TMPFS_MAGIC && total <= w.Limits.Bytes, total: total,
		free: int64(s.Bfree) * size, left: int64(s.Bavail) * size, files: int64(s.Ffree),
	}, nil
}

// measure adds up what programs have written since the first one started.
func (w *Watch) measure(mustStop func() bool) finding {
	roots, since := w.trees()
	m := meter{watch: w, since: since, mustStop: mustStop, seen: make(map[ID]bool), devices: make(map[uint64]bool)}
	m.found.complete = true
	for _, root := range roots {
		m.tree(root)
	}
	open := Unlinked(w.Processes())
	w.calls.Add(int64(len(open.Files)))
	for id, f := range open.Files {
		if (!f.InMemory || m.devices[id.Dev]) && !m.seen[id] {
			m.found.add(f.Bytes, f.after(since))
		}
	}
	m.found.complete = m.found.complete && open.Complete
	return m.found
}

// On adds up the files that are on the file system of a directory.
func (o Open) On(dir string) (sum int64) {
	var st unix.Statx_t
	if unix.Statx(unix.AT_FDCWD, dir, unix.AT_NO_AUTOMOUNT, wanted, &st) != nil {
		return 0
	}
	for id, f := range o.Files {
		if id.Dev == identity(&st).Dev {
			sum += f.Bytes
		}
	}
	return sum
}

// A meter adds up trees of files.
type meter struct {
	watch    *Watch
	since    time.Time
	mustStop func() bool
	found    finding
	seen     map[ID]bool     // files with several names
	devices  map[uint64]bool // of the roots
	entries  int64
}

const (
	// maxDepth bounds the directories that are open at once. What lies deeper is not measured.
	maxDepth = 100
	// maxNames bounds the files with several names that are remembered.
	maxNames = 1 << 20
)

const wanted = unix.STATX_TYPE | unix.STATX_NLINK | unix.STATX_CTIME | unix.STATX_BTIME | unix.STATX_BLOCKS | unix.STATX_INO

// tree adds a directory with all in it, or a single file.
func (m *meter) tree(root string) {
	var st unix.Statx_t
	m.watch.calls.Add(1)
	if err := unix.Statx(unix.AT_FDCWD, root, unix.AT_SYMLINK_NOFOLLOW|unix.AT_NO_AUTOMOUNT, wanted, &st); err != nil {
		return // it does not exist, and programs cannot have made it
	}
	id := identity(&st)
	switch st.Mode & unix.S_IFMT {
	case unix.S_IFDIR:
	case unix.S_IFREG:
		m.count(&st)
		return
	default:
		return // a device
	}
	m.devices[id.Dev] = true
	m.dir(unix.AT_FDCWD, root, id.Dev, 0)
}

// dir adds what is in a directory.
func (m *meter) dir(parent int, name string, device uint64, depth int) {
	fd, err := unix.Openat(parent, name, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	m.watch.calls.Add(1)
	if err != nil {
		if !errors.Is(err, unix.ENOENT) && !errors.Is(err, unix.ENOTDIR) && !errors.Is(err, unix.ELOOP) {
			m.found.complete = false // a program can keep files in a directory that we cannot read
		}
		return
	}
	d := os.NewFile(uintptr(fd), name)
	defer d.Close()
	for {
		names, err := d.Readdirnames(1024)
		m.watch.calls.Add(1)
		for _, name := range names {
			if !m.entry(fd, name, device, depth) {
				return
			}
		}
		if err != nil {
			return // the end
		}
	}
}

// entry adds one name of a directory, and reports whether to continue.
func (m *meter) entry(fd int, name string, device uint64, depth int) bool {
	if m.entries++; m.entries%256 == 0 && (m.mustStop() || m.found.fresh.files > bound(m.watch.Limits.Files)) {
		m.found.complete = false
		return false
	}
	var st unix.Statx_t
	m.watch.calls.Add(1)
	if err := unix.Statx(fd, name, unix.AT_SYMLINK_NOFOLLOW|unix.AT_NO_AUTOMOUNT, wanted, &st); err != nil {
		if errors.Is(err, unix.EACCES) {
			m.found.complete = false // the directory can be listed, but not searched
		}
		return true
	}
	m.count(&st)
	if st.Mode&unix.S_IFMT == unix.S_IFDIR {
		switch id := identity(&st); {
		case id.Dev != device && !isStorage(fd, name):
		case depth == maxDepth:
			m.found.complete = false
		default:
			m.dir(fd, name, id.Dev, depth+1)
		}
	}
	return true
}

// count adds a file that changed since the first program started.
func (m *meter) count(st *unix.Statx_t) {
	if at(st.Ctime).Before(m.since) {
		return
	}
	if st.Nlink > 1 && st.Mode&unix.S_IFMT != unix.S_IFDIR {
		id := identity(st)
		if m.seen[id] {
			return
		}
		if len(m.seen) < maxNames {
			m.seen[id] = true
		}
	}
	m.found.add(int64(st.Blocks)*512, !made(st).Before(m.since))
}

func identity(st *unix.Statx_t) ID {
	return ID{unix.Mkdev(st.Dev_major, st.Dev_minor), st.Ino}
}

func at(t unix.StatxTimestamp) time.Time { return time.Unix(t.Sec, int64(t.Nsec)) }

// made is when a file was made; the zero time if the file system does not say.
func made(st *unix.Statx_t) time.Time {
	if st.Mask&unix.STATX_BTIME == 0 {
		return time.Time{}
	}
	return at(st.Btime)
}

// isStorage reports whether a directory on another file system holds files, and nothing that the
// kernel makes up.
func isStorage(fd int, name string) bool {
	d, err := unix.Openat(fd, name, unix.O_PATH|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return true
	}
	defer unix.Close(d)
	var s unix.Statfs_t
	if unix.Fstatfs(d, &s) != nil {
		return true
	}
	switch s.Type {
	case unix.PROC_SUPER_MAGIC, unix.SYSFS_MAGIC, unix.CGROUP_SUPER_MAGIC, unix.CGROUP2_SUPER_MAGIC, unix.DEVPTS_SUPER_MAGIC,
		unix.DEBUGFS_MAGIC, unix.TRACEFS_MAGIC, unix.SECURITYFS_MAGIC:
		return false
	}
	return true
}

// isMemory reports whether a file system has its files in memory.
func isMemory(path string) bool {
	var s unix.Statfs_t
	if unix.Statfs(path, &s) != nil {
		return false
	}
	return s.Type == unix.TMPFS_MAGIC || s.Type == unix.RAMFS_MAGIC || s.Type == unix.HUGETLBFS_MAGIC
}

// isDeleted reports whether a path of /proc is that of a file without a name.
func isDeleted(path string) bool { return strings.HasSuffix(path, " (deleted)") }
