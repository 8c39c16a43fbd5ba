package disk

import (
	"bufio"
	"errors"
	"os"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// Unlinked finds the files without a name that processes keep open or mapped. Each counts once.
//
// All threads are looked at: a thread can have open files of its own, and the first thread of a
// process can end while others continue.
func Unlinked(pids []int) Open {
	s := scan{open: Open{Files: make(map[ID]File), Complete: true}, memory: make(map[uint64]bool)}
	for _, pid := range pids {
		if !s.process(pid) {
			s.unread = append(s.unread, pid)
		}
	}
	if len(s.unread) > 0 { // a process that is about to execute its program cannot be read yet
		time.Sleep(startTime)
	}
	for _, pid := range s.unread {
		if !s.process(pid) {
			s.open.Complete = false
		}
	}
	return s.open
}

// startTime is how long a process may take to execute its program.
const startTime = 20 * time.Millisecond

type scan struct {
	open   Open
	memory map[uint64]bool // which devices have their files in memory
	unread []int
}

// process adds the files of a process, and reports whether all of them could be seen.
func (s *scan) process(pid int) bool {
	dir := "/proc/" + strconv.Itoa(pid)
	threads, err := names(dir + "/task")
	if err != nil {
		return isGone(pid)
	}
	complete, mapped := true, false
	for _, thread := range threads {
		of := dir + "/task/" + thread
		files, err := names(of + "/fd")
		if errors.Is(err, unix.EACCES) || errors.Is(err, unix.EPERM) {
			return false
		}
		for _, fd := range files {
			s.file(of + "/fd/" + fd)
		}
		if !mapped { // threads share their memory
			var all bool
			mapped, all = s.maps(pid, of)
			complete = complete && all
		}
	}
	return complete
}

// isGone decides about a process that /proc does not show: it has ended, or hides.
func isGone(pid int) bool {
	_, err := unix.Getsid(pid)
	return err != nil
}

func names(dir string) ([]string, error) {
	d, err := os.Open(dir)
	if err != nil {
		return nil, err
	}
	defer d.Close()
	return d.Readdirnames(-1)
}

// file adds the file behind a link of /proc, and returns whether it could be read.
func (s *scan) file(link string) bool {
	var st unix.Statx_t
	if err := unix.Statx(unix.AT_FDCWD, link, unix.AT_NO_AUTOMOUNT, wanted, &st); err != nil {
		return errors.Is(err, unix.ENOENT) // closed meanwhile
	}
	if st.Nlink > 0 || st.Mode&unix.S_IFMT != unix.S_IFREG {
		return true
	}
	id := identity(&st)
	if _, known := s.memory[id.Dev]; !known {
		s.memory[id.Dev] = isMemory(link)
	}
	s.open.Files[id] = File{Bytes: int64(st.Blocks) * 512, InMemory: s.memory[id.Dev], Made: made(&st)}
	return true
}

// maps adds the mapped files of a process. It reports whether the process has a memory, and whether
// all could be read. Only root can read the size of a mapped file that is not open.
func (s *scan) maps(pid int, of string) (any, all bool) {
	f, err := os.Open(of + "/maps")
	if err != nil {
		return false, errors.Is(err, unix.ENOENT) || errors.Is(err, unix.ESRCH)
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	lines.Buffer(make([]byte, 0, 8<<10), 64<<10) // the kernel writes a page at most
	all = true
	var last string
	for lines.Scan() {
		any = true
		m, ok := parseMapping(lines.Text())
		if !ok || m.file == last {
			continue
		}
		last = m.file
		if _, known := s.open.Files[m.id]; known || s.inMemory(pid, m.id.Dev) {
			continue
		}
		all = s.file("/proc/"+strconv.Itoa(pid)+"/map_files/"+m.addresses) && all
	}
	return any, all
}

// inMemory reports whether a device has its files in memory: the kernel's own, or one that a
// process has mounted.
func (s *scan) inMemory(pid int, device uint64) bool {
	if memory, known := s.memory[device]; known {
		return memory
	}
	s.memory[device] = unix.Major(device) == 0 && (device == internalDevice() || isMounted(pid, device))
	return s.memory[device]
}

// internalDevice is that of files in memory which no mount shows.
func internalDevice() uint64 {
	fd, err := unix.MemfdCreate("perstack", unix.MFD_CLOEXEC|unix.MFD_NOEXEC_SEAL)
	if err != nil {
		return 0
	}
	defer unix.Close(fd)
	var st unix.Stat_t
	if unix.Fstat(fd, &st) != nil {
		return 0
	}
	return st.Dev //nolint:unconvert // the types differ between machines
}

// isMounted reports whether a process sees a device as a tmpfs.
func isMounted(pid int, device uint64) bool {
	data, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/mountinfo")
	if err != nil {
		return false
	}
	number := strconv.Itoa(int(unix.Major(device))) + ":" + strconv.Itoa(int(unix.Minor(device)))
	for line := range strings.Lines(string(data)) {
		fields := strings.Fields(line)
		_, kind, _ := strings.Cut(line, " - ")
		if len(fields) > 2 && fields[2] == number {
			return strings.HasPrefix(kind, "tmpfs ") || strings.HasPrefix(kind, "hugetlbfs ") || strings.HasPrefix(kind, "ramfs ")
		}
	}
	return false
}

// A mapping is a line of proc_pid_maps(5) about a file without a name.
type mapping struct {
	addresses string
	file      string // the text about the file
	id        ID
}

func parseMapping(line string) (mapping, bool) {
	if !isDeleted(line) {
		return mapping{}, false
	}
	fields := strings.Fields(line)
	if len(fields) < 6 {
		return mapping{}, false
	}
	major, minor, _ := strings.Cut(fields[3], ":")
	high, err := strconv.ParseUint(major, 16, 32)
	low, other := strconv.ParseUint(minor, 16, 32)
	ino, last := strconv.ParseUint(fields[4], 10, 64)
	if err != nil || other != nil || last != nil {
		return mapping{}, false
	}
	return mapping{fields[0], fields[3] + " " + fields[4], ID{unix.Mkdev(uint32(high), uint32(low)), ino}}, true
}
