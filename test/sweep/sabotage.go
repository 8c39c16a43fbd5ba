package sweep

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/perstack-go/perstack/store"
)

// The faults that a resumed victim can have, for a test of the sweep itself.
const (
	forgets = "forgets" // the end of the journal
	repeats = "repeats" // calls with effects
	strays  = "strays"  // from the plan
	shouts  = "shouts"  // what it never records
	reneges = "reneges" // on the whole job
	dawdles = "dawdles" // with flushing the journal; those that are killed have it, too
	trusts  = "trusts"  // every history

	// No fault: the user continues with another query, instead of resuming.
	somethingElse = "something else"
)

// spoil gives the victim a fault.
func (v *victim) spoil(dir, fault string) error {
	if take, ok := takes[fault]; ok {
		v.points.take = func() bool { return take(journalPath(dir)) == nil }
		return nil
	}
	switch fault {
	case "", trusts: // which is a fault of those that are attacked
	case forgets:
		// A store that checks seals would not let it continue.
		v.history = v.history.(store.Sealing).WithSeal(sealer.Trusting())
		return forget(filepath.Join(dir, storageName, "jobs", jobID))
	case repeats:
		v.careless = true
	case strays:
		plan := slices.Clone(v.job.Plans[v.job.Coordinator])
		plan[len(plan)-1].text += " Or not."
		v.job.Plans[v.job.Coordinator] = plan
	case shouts:
		return v.shown.note("nothing\ttrue")
	case dawdles:
		v.lazy = true
	case somethingElse:
		v.overtake = somethingElse
	case reneges:
		v.job.Plans[v.job.Coordinator] = nil
	default:
		return fmt.Errorf("there is no fault %q", fault)
	}
	return nil
}

// faultOfAll is the fault that all killed victims have.
func (t trial) faultOfAll() string {
	if t.sabotage == dawdles {
		return dawdles
	}
	return ""
}

// forget takes the last records away, and the note of how many there were.
func forget(dir string) error {
	name := filepath.Join(dir, "journal.jsonl")
	data, err := os.ReadFile(name)
	if os.IsNotExist(err) {
		return nil
	}
	if err != nil {
		return err
	}
	for range 3 {
		data = data[:bytes.LastIndexByte(bytes.TrimSuffix(data, []byte("\n")), '\n')+1]
	}
	for _, note := range []string{"head", "job.json"} {
		if err := ignoreMissing(os.Remove(filepath.Join(dir, note))); err != nil {
			return err
		}
	}
	return os.WriteFile(name, data, 0o600)
}
