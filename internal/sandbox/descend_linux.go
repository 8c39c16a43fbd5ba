package sandbox

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// A proc is a process as /proc shows it at one moment. That it is a zombie there means
// nothing: so is one whose first thread has ended while others run on.
type proc struct {
	pid, parent, group, session int
	begun                       uint64 // clock ticks since the system started
}

// snapshot lists the descendants of this process. It is not of one instant, and can miss
// one while another ends: who must be sure looks again, and does so in any case when one
// vanished meanwhile. It may have left a child.
func snapshot() (all map[int]proc, vanished bool, err error) {
	self := os.Getpid()
	if _, err := os.Stat(childList(self, self)); err != nil {
		return everyone() // a kernel without CONFIG_PROC_CHILDREN
	}
	all = make(map[int]proc)
	for next := []int{self}; len(next) > 0; next = next[1:] {
		for _, pid := range children(next[0]) {
			if _, seen := all[pid]; seen || pid == self {
				continue
			}
			p, err := readProc(pid)
			if err != nil {
				// It is gone by now; or it made itself unreadable, and /proc hides it
				// (hidepid). What the kernel tells without /proc has to do.
				p = proc{pid: pid, parent: next[0], begun: math.MaxUint64}
				p.group, _ = unix.Getpgid(pid)
				if p.session, err = unix.Getsid(pid); err != nil {
					vanished = true
					continue
				}
			}
			all[pid] = p
			next = append(next, pid)
		}
	}
	return all, vanished, nil
}

func childList(pid, thread int) string {
	return "/proc/" + strconv.Itoa(pid) + "/task/" + strconv.Itoa(thread) + "/children"
}

// children lists the children of all threads of a process.
func children(pid int) (pids []int) {
	for _, thread := range numbers("/proc/" + strconv.Itoa(pid) + "/task") {
		data, _ := os.ReadFile(childList(pid, thread))
		for _, field := range bytes.Fields(data) {
			if n, err := strconv.Atoi(string(field)); err == nil {
				pids = append(pids, n)
			}
		}
	}
	return pids
}

// everyone lists all processes of the system. Which of those that vanish meanwhile were
// ours nobody knows, and some always do.
func everyone() (all map[int]proc, vanished bool, err error) {
	pids := numbers("/proc")
	all = make(map[int]proc, len(pids))
	for _, pid := range pids {
		if p, err := readProc(pid); err == nil {
			all[pid] = p
		}
	}
	if len(all) == 0 {
		return nil, false, errors.New("/proc lists no process")
	}
	return all, false, nil
}

// numbers lists the entries of a directory of /proc that are numbers.
func numbers(path string) (list []int) {
	d, err := os.Open(path)
	if err != nil {
		return nil
	}
	defer d.Close()
	names, _ := d.Readdirnames(-1)
	for _, name := range names {
		if n, err := strconv.Atoi(name); err == nil {
			list = append(list, n)
		}
	}
	return list
}

func readProc(pid int) (proc, error) {
	data, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return proc{}, err
	}
	return parseStat(pid, data)
}

// parseStat reads the fields after the name, which is in parentheses and can contain
// anything, parentheses too.
func parseStat(pid int, stat []byte) (proc, error) {
	_, rest, _ := bytes.Cut(stat[bytes.LastIndexByte(stat, ')')+1:], []byte(" "))
	fields := bytes.Fields(rest) // the first is field 3 of proc_pid_stat(5)
	if len(fields) < 20 {
		return proc{}, fmt.Errorf("process %d: status cut short", pid)
	}
	p := proc{pid: pid}
	for i, target := range []*int{&p.parent, &p.group, &p.session} {
		n, err := strconv.Atoi(string(fields[1+i]))
		if err != nil {
			return proc{}, err
		}
		*target = n
	}
	var err error
	p.begun, err = strconv.ParseUint(string(fields[19]), 10, 64)
	return p, err
}

// startTime returns when a process began, or the end of time if that cannot be read:
// then nothing began before it.
func startTime(pid int) uint64 {
	p, err := readProc(pid)
	if err != nil {
		return math.MaxUint64
	}
	return p.begun
}

// lineage lists a process and its ancestors up to the child of top. It is empty if the
// process does not descend from top.
func lineage(all map[int]proc, pid, top int) (line []proc) {
	for range len(all) {
		p, ok := all[pid]
		if !ok || pid == top {
			return nil
		}
		line = append(line, p)
		if p.parent == top {
			return line
		}
		pid = p.parent
	}
	return nil // a circle: numbers were used again while we looked
}

// signal signals exactly this process. Its number could belong to another by now; the
// descriptor cannot, if it still began when it did.
func (p proc) signal(s unix.Signal) {
	fd, err := unix.PidfdOpen(p.pid, 0)
	if err != nil {
		if err == unix.ENOSYS || err == unix.EPERM { // before Linux 5.3, or not allowed
			_ = unix.Kill(p.pid, s)
		}
		return
	}
	defer unix.Close(fd)
	if now, err := readProc(p.pid); err == nil && now.begun != p.begun && p.begun != math.MaxUint64 {
		return
	}
	_ = unix.PidfdSendSignal(fd, s, nil, 0)
}
