package local

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"

	"github.com/perstack-go/perstack/engine"
	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/internal/sandbox"
	"github.com/perstack-go/perstack/internal/sandbox/disk"
	"github.com/perstack-go/perstack/job"
)

// maxExcesses is how often programs may exceed a limit in a run. The model hears of each, and can
// do better; a model that does not would never end.
const maxExcesses = 3

// limitPrograms limits what sandboxed programs, and all programs of a container, add to the disk. It
// stops the run when they exceed that, or their memory, again and again.
func limitPrograms(spec job.Spec, parts engine.Parts, commands *sandbox.Supervisor, cancel context.CancelCauseFunc) {
	limits := spec.Isolation.SandboxLimits.Or(job.DefaultSandboxLimits())
	var open []string
	if c := parts.Container; c != nil {
		open = []string{c.Workspace} // the other directories are in memory, and have a size
		if c.Data != "" {
			open = append(open, c.Data)
		}
	}
	commands.LimitDisk(disk.Limits{Bytes: limits.DiskGrowth, Files: disk.DefaultFiles}, open...)
	var lost atomic.Int32
	commands.OnLost(func() {
		if lost.Add(1) == maxExcesses {
			cancel(&engine.StopError{Name: "SandboxError", Err: errLost})
		}
	})
	var mu sync.Mutex
	times := make(map[string]int)
	commands.OnExcess(func(e sandbox.Excess) {
		mu.Lock()
		defer mu.Unlock()
		if times[e.Limit]++; times[e.Limit] < maxExcesses {
			return
		}
		used, most := float64(e.Used), float64(e.Max)
		if most == 0 {
			most = float64(limits.DiskGrowth)
			if e.Limit == event.LimitMemory {
				most = float64(limits.Memory)
			}
			used = most // or more
		}
		cancel(&engine.LimitError{Limit: e.Limit, Used: used, Max: most})
	})
}

// errLost ends a run in which something keeps killing the processes of perstack.
var errLost = errors.New("the process that holds the sandbox of commands was killed again and again; find out what kills it, such as a lack of memory, and resume the job")
