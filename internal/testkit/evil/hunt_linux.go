package evil

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// processes looks at those that /proc shows, and closer at those above this one: a skill
// is a child of the runtime, which has the keys.
func (h *hunter) processes(levels int, everywhere bool) {
	who, top := ancestry(levels)
	dirs, err := filepath.Glob("/proc/[0-9]*")
	if _, closed := os.ReadDir("/proc"); closed != nil && everywhere {
		dirs = guessed()
		if _, known := who[1]; !known {
			who[1] = "ancestor" // of everybody
		}
	}
	if err != nil || len(dirs) == 0 {
		h.found = append(h.found, Find{Place: "/proc", Error: "absent"})
		return
	}
	for _, dir := range dirs {
		if h.ctx.Err() != nil {
			return
		}
		pid, err := strconv.Atoi(filepath.Base(dir))
		if err != nil || !everywhere && !isBelow(pid, top) {
			continue
		}
		kin, related := who[pid]
		if !related {
			kin = "other"
		}
		h.read(dir+"/environ", kin)
		h.read(dir+"/cmdline", kin)
		if related && kin != "self" {
			h.openFiles(dir, kin)
			h.memory(dir, kin)
			h.trace(pid, kin)
		}
	}
}

// ancestry says how the processes above this one are related to it, and which is the
// topmost.
func ancestry(levels int) (who map[int]string, top int) {
	top = os.Getpid()
	who = map[int]string{top: "self"}
	kin := "parent"
	for range levels {
		pid := parentOf(top)
		if top == os.Getpid() {
			pid = os.Getppid()
		}
		if pid <= 0 {
			break
		}
		who[pid], top, kin = kin, pid, "ancestor"
	}
	return who, top
}

// guessed are the running processes, where they cannot be listed: a signal that does
// nothing tells whether there is one to get it.
func guessed() (dirs []string) {
	const most = 2000
	for pid := 1; pid < most; pid++ {
		if err := unix.Kill(pid, 0); err == nil || errors.Is(err, unix.EPERM) {
			dirs = append(dirs, "/proc/"+strconv.Itoa(pid))
		}
	}
	return dirs
}

// isBelow reports whether a process is top or was started below it.
func isBelow(pid, top int) bool {
	for range 100 { // nothing nests deeper, and a process that dies meanwhile has no parent
		if pid == top || pid <= 0 {
			break
		}
		pid = parentOf(pid)
	}
	return pid == top
}

func parentOf(pid int) int {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0
	}
	_, rest, _ := strings.Cut(string(status), "\nPPid:")
	line, _, _ := strings.Cut(rest, "\n")
	parent, err := strconv.Atoi(strings.TrimSpace(line))
	if err != nil {
		return 0
	}
	return parent
}

// openFiles tries to open what the process has open: a journal, an env file.
func (h *hunter) openFiles(dir, who string) {
	names, err := os.ReadDir(dir + "/fd")
	if err != nil {
		h.found = append(h.found, Find{Place: dir + "/fd", Who: who, Error: reason(err)})
		return
	}
	h.found = append(h.found, Find{Place: dir + "/fd", Who: who})
	for _, name := range names {
		path := dir + "/fd/" + name.Name()
		if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() {
			h.read(path, who)
		}
	}
}

// maxMemory bounds what is read of one process.
const maxMemory = 256 << 20

// memory reads what the process can write to, where its variables are.
func (h *hunter) memory(dir, who string) {
	find := Find{Place: dir + "/mem", Who: who}
	defer func() { h.found = append(h.found, find) }()
	maps, err := os.Open(dir + "/maps")
	if err != nil {
		find.Error = reason(err)
		return
	}
	defer maps.Close()
	mem, err := os.Open(dir + "/mem")
	if err != nil {
		find.Error = reason(err)
		return
	}
	defer mem.Close()
	read := 0
	lines := bufio.NewScanner(maps)
	for lines.Scan() && read < maxMemory && h.ctx.Err() == nil {
		var from, to int64
		var rights string
		if n, err := fmt.Sscanf(lines.Text(), "%x-%x %s", &from, &to, &rights); n != 3 || err != nil || !strings.HasPrefix(rights, "rw") {
			continue
		}
		part := make([]byte, min(to-from, 8<<20))
		n, err := mem.ReadAt(part, from)
		if n == 0 && err != nil && read == 0 {
			find.Error = reason(err) // some kernels refuse here and not at open
			continue
		}
		find.Error = ""
		read += n
		if h.marker != "" && bytes.Contains(part[:n], []byte(h.marker)) {
			find.Planted = append(find.Planted, lines.Text())
		}
	}
}

// trace tries to become the debugger of a process. It holds it for no longer than the
// thread lives that asked.
func (h *hunter) trace(pid int, who string) {
	asked := make(chan error)
	go func() {
		runtime.LockOSThread() // never unlocked: the end of the thread lets the process go
		asked <- unix.PtraceSeize(pid)
	}()
	find := Find{Place: fmt.Sprintf("ptrace %d", pid), Who: who}
	if err := <-asked; err != nil {
		find.Error = "denied"
	}
	h.found = append(h.found, find)
}
