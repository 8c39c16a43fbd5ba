// Package disk watches how much the programs of a job add to the disk, and says when it is too
// much.
//
// The free space of the file systems that programs can write to is read four times a second,
// which costs almost nothing. Only when it has fallen by half of what programs may still add,
// their files are measured: files that changed since the job started, and files without a name
// that a process keeps open or mapped. What cannot be measured counts as the fall of the free
// space, so that hiding files does not help a program. What is written between two measurements
// is not prevented. The package deletes nothing and kills nothing.
//
// Start reading at [Watch.Begin], then read observe.go.
package disk

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/perstack-go/perstack/internal/wording"
)

const (
	// interval lies between two looks at the free space.
	interval = 250 * time.Millisecond
	// shortest lies between two looks while the disk fills up.
	shortest = 20 * time.Millisecond
	// perVolume keeps a watch of many file systems within ten system calls a second.
	perVolume = 100 * time.Millisecond
	// minLeft and minLeftPart are the free space that programs must leave: the smaller of the two,
	// so that small disks can be used at all.
	minLeft     = 1 << 30
	minLeftPart = 50 // 2 percent
	// slack is the part of the limit that programs may add after they were stopped: they must be
	// able to run in order to delete something.
	slack = 16
	// finest is the part of the limit by which the free space must fall between two measurements.
	finest = 64
)

// DefaultFiles is how many files programs can add to the disk.
const DefaultFiles = 500_000

// Limits are what the programs of a job can add to the disk; 0 means no limit.
type Limits struct {
	Bytes int64
	Files int64
}

// An Excess says that programs added too much, or that too little is left.
type Excess struct {
	Text      string // "more than 4 GiB added to the disk"
	Used, Max int64  // bytes, or files; of the free space what has to be left, and what is
}

// A Watch watches the disk while programs run. The fields are not changed after the first Begin.
type Watch struct {
	Limits Limits
	// Processes lists the processes of all programs.
	Processes func() []int
	// Exceeded is called when a limit is exceeded, one call at a time. It ends the programs.
	Exceeded func(Excess)

	mu      sync.Mutex
	running int
	roots   map[string]bool
	begun   map[string]space // of each file system, when the first of the running programs started
	since   time.Time        // when the first program of all started
	idle    chan struct{}    // closed when the last program has ended

	observing sync.Mutex // held by the goroutine that observes
	state     observer
	calls     atomic.Int64
}

// Begin is called before a program starts, with the directories that it can write to, and the
// function that it returns when the program has ended.
func (w *Watch) Begin(roots []string) (end func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.running == 0 {
		w.begun = make(map[string]space)
	}
	if w.roots == nil {
		w.roots, w.since = make(map[string]bool), fileClock()
	}
	for _, root := range roots {
		w.roots[root] = true
	}
	for root := range w.roots {
		if _, known := w.begun[root]; !known {
			if s, err := w.free(root); err == nil {
				w.begun[root] = s
			}
		}
	}
	if w.running++; w.running == 1 {
		w.idle = make(chan struct{})
		go w.observe(w.idle)
	}
	return sync.OnceFunc(w.end)
}

func (w *Watch) end() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.running--; w.running == 0 {
		close(w.idle)
	}
}

// trees returns the directories to measure, without those that are in another one, and since when.
func (w *Watch) trees() (tops []string, since time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, root := range slices.Sorted(maps.Keys(w.roots)) { // "/a" comes before "/a/b"
		if !slices.ContainsFunc(tops, func(top string) bool { return strings.HasPrefix(root, strings.TrimSuffix(top, "/")+"/") }) {
			tops = append(tops, root)
		}
	}
	return tops, w.since
}

// Syscalls is how often this watch has called the system.
func (w *Watch) Syscalls() int64 { return w.calls.Load() }

// observe looks at the disk until no program runs, and once more then.
func (w *Watch) observe(idle <-chan struct{}) {
	w.observing.Lock() // the one before may still look for the last time
	defer w.observing.Unlock()
	w.state.resume(w)
	looked := time.Now()
	for wait := w.state.interval(); ; {
		select {
		case <-idle:
			w.state.look(w)
			if w.state.settling {
				w.state.measure(w)
			}
			return
		case <-time.After(wait):
		}
		before, since := w.state.fallen.bytes, looked
		looked = time.Now()
		w.state.look(w)
		// Measuring a large tree takes a quarter of the time at most.
		wait = max(w.state.pause(w.state.fallen.bytes-before, looked.Sub(since)), 3*time.Since(looked))
	}
}

func tooManyBytes(used, limit int64) Excess {
	return Excess{"more than " + wording.Bytes(limit) + " added to the disk", used, limit}
}

func tooManyFiles(used, limit int64) Excess {
	return Excess{fmt.Sprintf("more than %d files added to the disk", limit), used, limit}
}

func tooLittleLeft(left, floor int64) Excess {
	return Excess{"less than " + wording.Bytes(floor) + " left on the disk", floor, left}
}
