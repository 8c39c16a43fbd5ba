package space

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/perstack-go/perstack/internal/sandbox/policy"
)

// When a program outside replaces a protected file by another one, as editors do, the mount goes
// with the old file, in the sandbox of every running command. So the holder watches the names of
// protected files and of the directories around them, and mounts again. A program that keeps
// reading can be faster.

// A watch says which names of which directories have to be protected.
type watch struct {
	events *os.File                // nil: nothing is watched
	fd     int                     // of events
	names  map[int]map[string]bool // by the number of the directory
}

// newWatch returns a watch of nothing. The kernel can refuse it, because other programs of the
// user have too many: protected files are then mounted again for the next command only.
func newWatch() *watch {
	fd, err := unix.InotifyInit1(unix.IN_CLOEXEC | unix.IN_NONBLOCK)
	if err != nil {
		return &watch{}
	}
	return &watch{events: os.NewFile(uintptr(fd), "inotify"), fd: fd}
}

// watchPaths watches the paths of a policy, instead of those before. It has to be done before they are
// mounted, so that no change is missed.
func (s *Space) watchPaths(p *policy.Policy) {
	w := s.watch
	if w.events == nil {
		return
	}
	before := w.names
	w.names = make(map[int]map[string]bool)
	numbers := make(map[string]int)
	for _, path := range slices.Concat(p.Hidden, p.Frozen, p.Pinned) {
		for parent := filepath.Dir(path); ; path, parent = parent, filepath.Dir(parent) {
			number, known := numbers[parent]
			if !known {
				number = s.watchDir(parent)
				numbers[parent] = number
			}
			if w.names[number] == nil {
				w.names[number] = make(map[string]bool)
			}
			w.names[number][filepath.Base(path)] = true
			if parent == filepath.Dir(parent) {
				break
			}
		}
	}
	for number := range before {
		if w.names[number] == nil {
			_, _ = unix.InotifyRmWatch(w.fd, uint32(number)) // its directory may be gone
		}
	}
}

// watchDir returns the number of a directory; -1 if it cannot be watched.
func (s *Space) watchDir(path string) int {
	dir, name := s.place(path)
	if dir < 0 {
		return -1
	}
	at, err := openBeneath(dir, name)
	if err != nil {
		return -1
	}
	defer unix.Close(at)
	number, err := unix.InotifyAddWatch(s.watch.fd, fmt.Sprintf("/proc/self/fd/%d", at), unix.IN_CREATE|unix.IN_MOVED_TO|unix.IN_ONLYDIR)
	if err != nil {
		return -1
	}
	return number
}

// renew mounts again what was replaced, for as long as the process lives.
func (s *Space) renew() {
	buffer := make([]byte, 64<<10)
	for {
		n, err := s.watch.events.Read(buffer)
		if err != nil {
			return
		}
		s.mu.Lock()
		if s.watch.concern(buffer[:n]) {
			// A file that cannot be protected now is looked at again before the next command,
			// which does not start without.
			_ = s.protectAll(s.current)
		}
		s.mu.Unlock()
	}
}

// concern reports whether one of several events is about a protected name. If there were too many
// for the kernel, it can be.
func (w *watch) concern(events []byte) bool {
	for len(events) >= unix.SizeofInotifyEvent {
		number := int(int32(binary.NativeEndian.Uint32(events)))
		mask := binary.NativeEndian.Uint32(events[4:])
		end := unix.SizeofInotifyEvent + int(binary.NativeEndian.Uint32(events[12:]))
		name := string(bytes.TrimRight(events[unix.SizeofInotifyEvent:end], "\x00"))
		if mask&unix.IN_Q_OVERFLOW != 0 || w.names[number][name] {
			return true
		}
		events = events[end:]
	}
	return false
}
