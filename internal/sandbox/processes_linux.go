package sandbox

import (
	"bytes"
	"errors"
	"fmt"
	"iter"
	"maps"
	"math"
	"os"
	"slices"
	"strconv"

	"golang.org/x/sys/unix"
)

// A proc is a process as /proc shows it at one moment. Its state is not kept: a process
// whose first thread has ended is shown as a zombie while its other threads run.
type proc struct {
	pid, parent, group, session int
	begun                       uint64 // clock ticks since the system started
}

// snapshot lists the descendants of this process; see descendants.
func snapshot() (all map[int]proc, vanished bool, err error) { return descendants(os.Getpid()) }

// descendants lists the descendants of a process. The list is not atomic and can miss a
// process while another one ends. A caller that must be sure takes several, and always
// another one when a process vanished meanwhile: it may have left a child.
func descendants(top int) (all map[int]proc, vanished bool, err error) {
	if _, err := os.Stat(childList(top, top)); err != nil {
		return allProcesses() // a kernel without CONFIG_PROC_CHILDREN
	}
	all = make(map[int]proc)
	for next := []int{top}; len(next) > 0; next = next[1:] {
		for _, pid := range children(next[0]) {
			if _, seen := all[pid]; seen || pid == top {
				continue
			}
			p, err := readProc(pid)
			if err != nil {
				// It has ended, or it made itself unreadable and /proc hides it (hidepid).
				// Use what the kernel tells without /proc.
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
	for _, thread := range numericEntries("/proc/" + strconv.Itoa(pid) + "/task") {
		data, _ := os.ReadFile(childList(pid, thread))
		for field := range bytes.FieldsSeq(data) {
			if n, err := strconv.Atoi(string(field)); err == nil {
				pids = append(pids, n)
			}
		}
	}
	return pids
}

// allProcesses lists all processes of the system. Some always vanish meanwhile, and which
// of them were ours cannot be told, so none is reported as vanished.
func allProcesses() (all map[int]proc, vanished bool, err error) {
	pids := numericEntries("/proc")
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

func readProc(pid int) (proc, error) {
	data, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return proc{}, err
	}
	return parseStat(pid, data)
}

// statFields returns the fields of proc_pid_stat(5) after the name; the first is field 3. The
// name is in parentheses and can itself contain parentheses.
func statFields(stat []byte) [][]byte {
	return bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
}

func parseStat(pid int, stat []byte) (proc, error) {
	fields := statFields(stat)
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

// startTime returns when a process began. If that cannot be read, it returns the largest
// value, so that no process counts as started later.
func startTime(pid int) uint64 {
	p, err := readProc(pid)
	if err != nil {
		return math.MaxUint64
	}
	return p.begun
}

// lineages goes through the descendants of top, each with its ancestors; see lineage. All
// of them at once would take memory by the square of a chain that a program can make long.
func lineages(all map[int]proc, top int) iter.Seq[[]proc] {
	return func(yield func([]proc) bool) {
		for pid := range all {
			if line := lineage(all, pid, top); len(line) > 0 && !yield(line) {
				return
			}
		}
	}
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
	return nil // a cycle: process numbers were reused meanwhile
}

// signal signals exactly this process. Its number may belong to another process by now. A
// pidfd cannot, if the process behind it began at the same time.
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

// isLimited reports whether a program has a limit that is checked regularly.
func (k *supervisorLoop) isLimited() bool {
	for _, w := range k.running {
		if (w.maxTasks > 0 || w.maxMemory > 0) && w.exceeded == "" {
			return true
		}
	}
	return false
}

// count kills the programs that have more processes and threads than allowed. When the
// program itself has ended, collect kills what it started.
func (k *supervisorLoop) count() {
	if !slices.ContainsFunc(slices.Collect(maps.Values(k.running)), func(w *runningProgram) bool { return w.maxTasks > 0 }) {
		return
	}
	all, _, err := snapshot()
	if err != nil {
		return
	}
	for _, w := range k.running {
		if w.maxTasks > 0 && w.exceeded == "" && k.tasks(w, all) > w.maxTasks {
			w.exceeded = fmt.Sprintf("more than %d processes and threads", w.maxTasks)
			_ = unix.Kill(-w.pid, unix.SIGKILL)
		}
	}
}

// tasks counts the processes and threads of a program, and stops above its limit. A
// process that left the session of its program and lost its parent can belong to any
// program that started before it, and counts for each of them.
func (k *supervisorLoop) tasks(w *runningProgram, all map[int]proc) (n int) {
	for p := range k.processes(w, all) {
		n += max(1, len(numericEntries("/proc/"+strconv.Itoa(p.pid)+"/task")))
		if n > w.maxTasks {
			break
		}
	}
	return n
}

// processes goes through the processes that count for a program.
func (k *supervisorLoop) processes(w *runningProgram, all map[int]proc) iter.Seq[proc] {
	return func(yield func(proc) bool) {
		for line := range lineages(all, k.self) {
			mine, owned := false, false
			for _, p := range line {
				mine = mine || p.session == w.pid || p.pid == w.pid
				owned = owned || k.running[p.session] != nil || k.running[p.pid] != nil
			}
			if (mine || !owned && line[0].begun >= w.begun) && !yield(line[0]) {
				return
			}
		}
	}
}

// descendants lists the processes of the programs of a supervisor process. The first process of a
// command at level full is ours and has no files of the program; others cannot read its files.
func (l *link) descendants() (pids []int) {
	top := l.process.Pid
	all, _, err := descendants(top)
	if err != nil {
		return nil
	}
	for pid := range all {
		line := lineage(all, pid, top)
		if len(line) > 1 || len(line) == 1 && !l.holds {
			pids = append(pids, pid)
		}
	}
	return pids
}
