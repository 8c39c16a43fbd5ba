package owner

import (
	"bytes"
	"errors"
	"io"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

func bootID() string { return firstLine("/proc/sys/kernel/random/boot_id") }

// machineID: an image of a system that was never booted says "uninitialized".
func machineID() string {
	for _, name := range []string{"/etc/machine-id", "/var/lib/dbus/machine-id"} {
		if id := firstLine(name); id != "" && id != "uninitialized" {
			return id
		}
	}
	return ""
}

// pidNamespace returns the number of the PID namespace: a container has its own, in which
// the same process ids exist.
func pidNamespace() string {
	link, err := os.Readlink("/proc/self/ns/pid") // pid:[4026531836]
	if err != nil {
		return ""
	}
	return strings.TrimSuffix(strings.TrimPrefix(link, "pid:["), "]")
}

// look asks the kernel whether a process exists, and /proc only for its start time: with
// hidepid, /proc does not show the processes of other users.
func look(pid int) process {
	if err := unix.Kill(pid, 0); errors.Is(err, unix.ESRCH) {
		return process{state: gone}
	} else if err != nil && !errors.Is(err, unix.EPERM) {
		return process{}
	}
	s, ok := parseStat(head("/proc/" + strconv.Itoa(pid) + "/stat"))
	if !ok {
		return process{}
	}
	// /proc may be that of another namespace, where the number is another process's.
	if self, ok := parseStat(head("/proc/self/stat")); !ok || self.pid != os.Getpid() {
		return process{}
	}
	// A process whose parent does not wait stays a zombie, in a container without an init for
	// ever. If its other threads still run, it has more than one thread.
	if s.state == "Z" && s.threads <= 1 {
		return process{state: gone}
	}
	return process{state: running, start: s.start}
}

// A stat is what we need of /proc/<pid>/stat.
type stat struct {
	pid     int
	state   string
	threads int
	start   string // clock ticks between the boot and the start
}

func parseStat(data []byte) (stat, bool) {
	number, _, _ := bytes.Cut(data, []byte(" "))
	pid, err := strconv.Atoi(string(number))
	// The second field is the program's name in parentheses, and can contain anything.
	end := bytes.LastIndexByte(data, ')')
	fields := bytes.Fields(data[end+1:])
	const first = 3 // what is left begins with the third field
	const threads, start = 20 - first, 22 - first
	if err != nil || end < 0 || len(fields) <= start {
		return stat{}, false
	}
	count, err := strconv.Atoi(string(fields[threads]))
	return stat{pid: pid, state: string(fields[0]), threads: count, start: string(fields[start])}, err == nil
}

func firstLine(name string) string {
	line, _, _ := bytes.Cut(head(name), []byte("\n"))
	return string(bytes.TrimSpace(line))
}

// head returns the beginning of a file. What cannot be read is empty.
func head(name string) []byte {
	f, err := os.Open(name)
	if err != nil {
		return nil
	}
	defer f.Close()
	data, _ := io.ReadAll(io.LimitReader(f, 4<<10))
	return data
}
