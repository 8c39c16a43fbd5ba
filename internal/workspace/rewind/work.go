package rewind

import "github.com/perstack-go/perstack/internal/workspace/snapshot"

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
	Own  bool // the job was at work since the state before: what differs is its work
}

// WorkOf returns what a job did since the first of the states.
func WorkOf(store *snapshot.Store, states []State) (Work, error) {
	work, others := Work{}, map[string]bool{}
	for i := 1; i < len(states); i++ {
		changes, err := store.Diff(states[i-1].Tree, states[i].Tree)
		if err != nil {
			return nil, err
		}
		for _, c := range changes {
			if !states[i].Own {
				others[c.Path] = true
				continue
			}
			work[c.Path] = Part{Left: c.After}
		}
	}
	for path := range others {
		if part, ok := work[path]; ok {
			part.Mixed = true
			work[path] = part
		}
	}
	return work, nil
}
