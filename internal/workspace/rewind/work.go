package rewind

import (
	"slices"
	"strings"

	"github.com/perstack-go/perstack/internal/workspace/snapshot"
)

// Work is what a job did to the files of a workspace, by path.
type Work map[string]Part

// A Part is what a job did to one path.
type Part struct {
	Left  *snapshot.Entry // what it left there; nil if it removed the path
	Mixed bool            // others changed the path too, before or between the changes of the job
}

// A State is a snapshot of a workspace in the order they were taken.
type State struct {
	Tree snapshot.ID
	// Job and Others say who can have changed what differs from the state before. If it is not
	// known, it is both: then the change is the job's, and restoring it is a conflict.
	Job, Others bool
	// Restored is the state that a restore went back to; zero for other states. It undoes what the
	// job and others did to a path since then.
	Restored snapshot.ID
}

// WorkOf returns what a job did since the first of the states.
func WorkOf(store *snapshot.Store, states []State) (Work, error) {
	all := map[string]past{}
	for i := 1; i < len(states); i++ {
		changes, err := store.Diff(states[i-1].Tree, states[i].Tree)
		if err != nil {
			return nil, err
		}
		back := slices.IndexFunc(states[:i], func(s State) bool { return s.Tree == states[i].Restored })
		var target snapshot.Tree
		if back >= 0 {
			if target, err = store.Load(states[back].Tree); err != nil {
				return nil, err
			}
		}
		var opened string // a directory of the job that could not be read before
		for _, c := range changes {
			was := all[c.Path]
			part := was.at(i)
			switch in := opened != "" && strings.HasPrefix(c.Path, opened+"/"); {
			case back >= 0 && snapshot.Same(c.After, entry(target, c.Path)):
				part = was.at(back)
			case in, revealed(c):
				// Nothing changed: the state before did not have what the job had made unreadable.
				if part.own = part.own || in; !part.own {
					continue
				}
				part.left = c.After
				if !in && c.After.Kind == snapshot.Directory {
					opened = c.Path
				}
			default:
				part.mixed = part.mixed || states[i].Others
				if states[i].Job {
					part.left, part.own = c.After, true
				}
			}
			part.state = i
			all[c.Path] = append(was, part)
		}
	}
	work := Work{}
	for path, was := range all {
		if part := was.at(len(states)); part.own {
			work[path] = Part{Left: part.left, Mixed: part.mixed}
		}
	}
	return work, nil
}

// revealed reports whether a change only shows what was there: its mode kept it from being read. A
// restore that is killed can leave it readable.
func revealed(c snapshot.Change) bool {
	return c.Before != nil && c.After != nil && !c.Before.Captured() && c.Before.Closed() && c.After.Captured() &&
		c.Before.Kind == c.After.Kind && (c.Before.Mode^c.After.Mode)&^0o500 == 0 && c.Before.Size == c.After.Size
}

// A past is what happened to one path, one entry for each state that changed it.
type past []change

type change struct {
	state      int             // that it led to
	left       *snapshot.Entry // by the job
	own, mixed bool            // until then, the job changed it, and so did others
}

// at returns what had happened up to a state.
func (p past) at(state int) change {
	for _, c := range slices.Backward(p) {
		if c.state <= state {
			return c
		}
	}
	return change{}
}
