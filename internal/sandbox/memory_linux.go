package sandbox

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"strconv"

	"golang.org/x/sys/unix"

	"github.com/perstack-go/perstack/internal/sandbox/disk"
	"github.com/perstack-go/perstack/internal/sandbox/policy"
	"github.com/perstack-go/perstack/internal/wording"
)

// Memory of a program is limited by reading what its processes use, every 500 ms, and killing
// it. A kernel that lets this user limit groups of processes would do it without delay, but
// most do not: see group_linux.go.

// tooMuchMemory says which limit a program has exceeded.
func tooMuchMemory(limit int64) string { return "more than " + wording.Bytes(limit) + ofMemory }

// memoryLimit is the memory that a program can use: what its policy says, and three quarters of
// the machine's at most, so that the kernel does not run out of it and kill something else.
func memoryLimit(wanted int64) int64 {
	var info unix.Sysinfo_t
	if wanted == 0 || unix.Sysinfo(&info) != nil {
		return wanted
	}
	total := uint64(info.Totalram) * uint64(info.Unit) //nolint:unconvert // the types differ between machines
	return min(wanted, int64(total/4*3))
}

// weigh kills the programs that use more memory than allowed.
func (k *supervisorLoop) weigh() {
	var all map[int]proc
	for _, w := range k.running {
		if w.maxMemory == 0 || w.exceeded != "" {
			continue
		}
		if all == nil {
			var err error
			if all, _, err = snapshot(); err != nil {
				return
			}
		}
		if k.memory(w, all) > w.maxMemory {
			w.exceeded = tooMuchMemory(w.maxMemory)
			_ = unix.Kill(-w.pid, unix.SIGKILL)
		}
	}
}

// memory returns how much memory a program uses. What the kernel can read again from a disk does
// not count. The cheap sum counts shared memory once for each process; only if that is too much,
// or shared memory has grown on the whole machine, the exact one is taken.
func (k *supervisorLoop) memory(w *runningProgram, all map[int]proc) int64 {
	var upper memoryUse
	var pids []int
	for p := range k.processes(w, all) {
		use, _ := readStatus(p.pid)
		upper.add(use)
		pids = append(pids, p.pid)
	}
	grown := max(0, sharedMemory()-w.sharedBefore)
	if upper.own+upper.shared <= w.maxMemory && grown <= w.maxMemory/2 {
		return upper.own + upper.shared
	}
	var sum memoryUse
	for _, pid := range pids {
		sum.add(exactUse(pid))
	}
	// Files in memory that are open but not mapped, and segments of shared memory. Those that are
	// mapped as well would count twice, so the growth on the whole machine is the upper bound.
	files, complete := memoryFiles(pids)
	if !complete {
		files = max(files, grown)
	}
	segments := sharedSegments()
	return sum.own + min(sum.shared+files+segments, max(sum.shared, files, segments, grown))
}

// A memoryUse is what processes use: of their own, and shared with other processes. Both are
// bytes, and include what was moved to a swap area.
type memoryUse struct{ own, shared int64 }

func (u *memoryUse) add(more memoryUse) {
	u.own += more.own
	u.shared += more.shared
}

// exactUse divides what processes share between them. A process can forbid to read that; then
// all of it counts.
func exactUse(pid int) memoryUse {
	upper, threads := readStatus(pid)
	if !threads {
		return upper // its first thread has ended, and the kernel shows nothing for the others
	}
	data, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/smaps_rollup")
	if err != nil || len(data) == 0 {
		return upper
	}
	anonymous, ok := amount(data, "Pss_Anon:")
	if !ok {
		return upper // Linux before 5.4
	}
	shared, _ := amount(data, "Pss_Shmem:")
	swapped, _ := amount(data, "SwapPss:")
	return memoryUse{anonymous + swapped, shared}
}

// readStatus reads how much memory a process has at most. If its first thread has ended, another
// one is asked, and first is false.
func readStatus(pid int) (use memoryUse, first bool) {
	dir := "/proc/" + strconv.Itoa(pid)
	if use, ok := parseStatus(dir + "/status"); ok {
		return use, true
	}
	for _, thread := range numericEntries(dir + "/task") {
		if use, ok := parseStatus(dir + "/task/" + strconv.Itoa(thread) + "/status"); ok {
			return use, false
		}
	}
	return memoryUse{}, true // it has ended
}

func parseStatus(path string) (use memoryUse, ok bool) {
	data, err := os.ReadFile(path)
	if err != nil {
		return memoryUse{}, false
	}
	own, ok := amount(data, "RssAnon:")
	shared, _ := amount(data, "RssShmem:")
	swapped, _ := amount(data, "VmSwap:")
	return memoryUse{own + swapped, shared}, ok
}

// amount finds a line like "Name:   12 kB" and returns the bytes.
func amount(data []byte, name string) (int64, bool) {
	for line := range bytes.Lines(data) {
		rest, found := bytes.CutPrefix(line, []byte(name))
		if !found {
			continue
		}
		if fields := bytes.Fields(rest); len(fields) > 0 {
			n, err := strconv.ParseInt(string(fields[0]), 10, 53)
			return n << 10, err == nil
		}
	}
	return 0, false
}

// sharedMemory is the shared memory of the whole machine, with files in memory; 0 if unknown.
func sharedMemory() int64 {
	data, err := os.ReadFile("/proc/meminfo")
	if err != nil {
		return 0
	}
	n, _ := amount(data, "Shmem:")
	return n
}

// memoryFiles adds up the files in memory that have no name, and that these processes have open.
func memoryFiles(pids []int) (sum int64, complete bool) {
	open := disk.Unlinked(pids)
	for _, f := range open.Files {
		if f.InMemory {
			sum += f.Bytes
		}
	}
	return sum, open.Complete
}

// sharedSegments adds up the segments of System V shared memory in the sandbox. Only a process
// that holds one has a table of its own; at level landlock programs cannot make any.
func sharedSegments() (sum int64) {
	if os.Getpid() != 1 {
		return 0
	}
	data, err := os.ReadFile("/proc/sysvipc/shm")
	if errors.Is(err, fs.ErrNotExist) {
		return 0
	}
	for line := range bytes.Lines(data) {
		if fields := bytes.Fields(line); len(fields) == 16 {
			resident, err := strconv.ParseInt(string(fields[14]), 10, 64)
			swapped, other := strconv.ParseInt(string(fields[15]), 10, 64)
			if err == nil && other == nil {
				sum += resident + swapped
			}
		}
	}
	return sum
}

// limitedProgram is a program that was started, with the limits that this process checks. Those of
// its control group are checked by the kernel.
func limitedProgram(pid int, l policy.Limits, group *programGroup) *runningProgram {
	w := &runningProgram{pid: pid, maxTasks: l.Tasks, group: group}
	if group == nil && l.Memory > 0 {
		w.maxMemory, w.sharedBefore = memoryLimit(l.Memory), sharedMemory()
	}
	return w
}
