package local

import (
	"fmt"

	"github.com/perstack-go/perstack/engine"
	"github.com/perstack-go/perstack/expert"
	"github.com/perstack-go/perstack/internal/sandbox/cell"
	"github.com/perstack-go/perstack/internal/skills"
)

// cells returns how the programs of a job are locked in, with directories for them, and what
// removes these; nil if nobody is. A machine that cannot keep cells runs no job that needs
// one, not even the part that does not.
func (r *Runtime) cells(job engine.Job, workspace string) (*skills.Cells, func(), error) {
	none := func() {}
	if r.SharedCell {
		return nil, none, nil
	}
	wanted := r.Cells
	if wanted == nil {
		wanted = skills.Machine(false)
	}
	who := lockedIn(job, wanted)
	if who == nil {
		return nil, none, nil
	}
	available := r.cellsHere
	if available == nil {
		available = cell.Available
	}
	if err := available(); err != nil {
		return nil, none, fmt.Errorf("expert %q has a skill that must run in a cell: %w; "+
			"without --sandbox and sandbox = \"landlock\" it runs with all that you can do, and --runtime docker puts a container around it", who.Key, err)
	}
	cells, remove, err := wanted.Furnish(workspace)
	if err != nil {
		return nil, none, err
	}
	if r.Gates == nil {
		cells.OwnGates = true // a cell without a gate has no way out, whatever the skill may reach
	}
	return cells, func() {
		if err := remove(); err != nil {
			r.Log.Warn("the directory of cells is still there", "error", err)
		}
	}, nil
}

// lockedIn finds an Expert of a job, the coordinator or whom it can ask, that has a skill to
// be locked in.
func lockedIn(job engine.Job, cells *skills.Cells) *expert.Expert {
	all, seen := []*expert.Expert{job.Expert}, map[string]bool{job.Expert.Key: true}
	for i := 0; i < len(all); i++ {
		if cells.LockAny(all[i]) {
			return all[i]
		}
		for _, key := range all[i].Delegates {
			if job.Lookup == nil || seen[key] {
				continue
			}
			seen[key] = true
			if e, ok := job.Lookup(key); ok {
				all = append(all, e)
			}
		}
	}
	return nil
}
