// Package history finds recorded jobs, runs and checkpoints by their ids, or by the beginning of
// an id, and lists jobs. All commands that take an id use it, so that an id means the same
// everywhere.
//
// Finding a job reads no journal. Finding a run or a checkpoint without a job reads them all.
// Start reading at [Match], and for lists at [List].
package history

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"

	"github.com/perstack-go/perstack/engine"
	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/store"
)

// A Kind is what an id is of.
type Kind string

// The kinds of ids that users name.
const (
	JobID        Kind = "job"
	RunID        Kind = "run"
	CheckpointID Kind = "checkpoint"
)

const (
	// minPrefix is how many characters name something, unless they are a whole id. Fewer would
	// mean something else with the next job.
	minPrefix = 4
	// maxMatches is how many ids an error lists.
	maxMatches = 10
)

// An IDError says that a text names nothing, or several things.
type IDError struct {
	Kind    Kind
	Text    string
	Job     string   // that was searched; "" for all
	Matches []string // ids that begin with the text, sorted; the first 10
	More    int      // other such ids
	// Unread says why some journals could not be searched.
	Unread error
}

// None reports whether no id begins with the text.
func (e *IDError) None() bool { return len(e.Matches) == 0 }

func (e *IDError) Error() string {
	of := ""
	if e.Job != "" {
		of = " of job " + e.Job
	}
	switch {
	case e.None():
		return fmt.Sprintf("there is no %s %s%s", e.Kind, e.Text, of)
	case len(e.Text) < minPrefix:
		return fmt.Sprintf("%q is too short to name a %s; write at least %d characters of its id, or the whole id", e.Text, e.Kind, minPrefix)
	}
	more := ""
	if e.More > 0 {
		more = fmt.Sprintf(" and %d more", e.More)
	}
	return fmt.Sprintf("several %ss%s begin with %s: %s%s; write more of the id", e.Kind, of, e.Text, strings.Join(e.Matches, " "), more)
}

// Match returns the id that a text names: the id that it is, or else the only one that it begins,
// if it has at least 4 characters. The error is an [*IDError].
func Match(kind Kind, text string, ids iter.Seq[string]) (string, error) {
	found := make(map[string]bool)
	for id := range ids {
		if id == text {
			return id, nil
		}
		if text != "" && strings.HasPrefix(id, text) {
			found[id] = true
		}
	}
	all := slices.Sorted(maps.Keys(found))
	if len(all) == 1 && len(text) >= minPrefix {
		return all[0], nil
	}
	shown := all[:min(len(all), maxMatches)]
	return "", &IDError{Kind: kind, Text: text, Matches: shown, More: len(all) - len(shown)}
}

// A namer is a store that knows the ids of its jobs without reading them.
type namer interface {
	JobIDs(ctx context.Context) ([]string, error)
}

// Job returns the id of the job that a text names. If there is none, the error wraps
// [store.ErrNotFound].
func Job(ctx context.Context, s store.Store, text string) (string, error) {
	if err := store.CheckID(text); err != nil {
		return "", err
	}
	ids, err := JobIDs(ctx, s)
	if err != nil {
		return "", err
	}
	id, err := Match(JobID, text, slices.Values(ids))
	if wrong, ok := errors.AsType[*IDError](err); ok && wrong.None() {
		err = store.NotFound(text)
	}
	return id, err
}

// Prefix returns the shortest beginning of an id that [Job] finds the job by.
func Prefix(ctx context.Context, s store.Store, id string) (string, error) {
	ids, err := JobIDs(ctx, s)
	if err != nil {
		return "", err
	}
	slices.Sort(ids)
	return shortest(id, ids), nil
}

// JobIDs returns the ids of all jobs, in no order. It reads no journal, if the store can do that.
func JobIDs(ctx context.Context, s store.Store) (ids []string, err error) {
	if n, ok := s.(namer); ok {
		return n.JobIDs(ctx)
	}
	for info, err := range s.Jobs(ctx) {
		if err != nil && info.ID == "" {
			return nil, err
		}
		ids = append(ids, info.ID)
	}
	return ids, nil
}

// Find searches the journals of all jobs for a run or a checkpoint, or only the journal of jobID
// if that is not empty. It returns the job that has it, and the whole id. A journal that is
// damaged is searched up to the damage.
func Find(ctx context.Context, s store.Store, kind Kind, jobID, text string) (in, id string, err error) {
	jobs := func(yield func(store.JobInfo, error) bool) { yield(store.JobInfo{Job: event.Job{ID: jobID}}, nil) }
	if jobID == "" {
		jobs = s.Jobs(ctx)
	}
	var unread error
	of := make(map[string]string) // ids that begin with the text, and their jobs
	id, err = Match(kind, text, func(yield func(string) bool) {
		for info, err := range jobs {
			if err != nil && unread == nil {
				unread = err
			}
			if info.ID == "" {
				continue
			}
			for found, err := range idsOf(ctx, s, kind, info.ID) {
				if err != nil {
					if unread == nil {
						unread = err
					}
					break
				}
				// A job and a copy of it have the same checkpoints: the newer one counts.
				if _, known := of[found]; !known && strings.HasPrefix(found, text) {
					of[found] = info.ID
				}
				if !yield(found) {
					return
				}
			}
		}
	})
	if wrong, ok := errors.AsType[*IDError](err); ok {
		wrong.Job, wrong.Unread = jobID, unread
	}
	return of[id], id, err
}

// idsOf yields the ids of the runs or of the checkpoints of a job.
func idsOf(ctx context.Context, s store.Store, kind Kind, jobID string) iter.Seq2[string, error] {
	if kind == RunID {
		return runs(ctx, s, jobID)
	}
	return func(yield func(string, error) bool) {
		for c, err := range Checkpoints(ctx, s, jobID) {
			if !yield(c.ID, err) {
				return
			}
		}
	}
}

// runs yields the ids of the runs of a job, some more than once.
func runs(ctx context.Context, s store.Store, jobID string) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		for r, err := range s.Read(ctx, jobID, 0) {
			if errors.Is(err, event.ErrUnknownType) {
				continue
			}
			_, starts := r.Event.Body.(event.StartRun)
			if (err != nil || starts) && !yield(r.Event.RunID, err) {
				return
			}
		}
	}
}

// CheckpointIn returns the id of the checkpoint of a folded job that a text names. The error is an
// [*IDError].
func CheckpointIn(h *engine.History, text string) (string, error) {
	id, err := Match(CheckpointID, text, slices.Values(h.Checkpoints()))
	if wrong, ok := errors.AsType[*IDError](err); ok {
		wrong.Job = h.Job.ID
	}
	return id, err
}

// A Checkpoint is one that a run has reached.
type Checkpoint struct {
	ID    string
	Event event.Event // that ended its step
}

// Checkpoints yields the checkpoints of a job in the order in which they were reached. An error
// ends the sequence. It does not fold the job, so it needs little memory.
func Checkpoints(ctx context.Context, s store.Store, jobID string) iter.Seq2[Checkpoint, error] {
	return func(yield func(Checkpoint, error) bool) {
		var t Tracker
		for r, err := range s.Read(ctx, jobID, 0) {
			if errors.Is(err, event.ErrUnknownType) {
				continue
			}
			if err != nil {
				yield(Checkpoint{}, err)
				return
			}
			if reached := t.Reached(r.Event); reached != "" && !yield(Checkpoint{reached, r.Event}, nil) {
				return
			}
		}
	}
}

// A Tracker says which checkpoints the events of a job reach. The zero Tracker is ready for the
// first event.
type Tracker struct {
	next map[string]string // the checkpoint that each run works towards
}

// Reached returns the id of the checkpoint that e leaves; "" if it leaves none. It must be given
// every event of the job, in order.
func (t *Tracker) Reached(e event.Event) (id string) {
	if t.next == nil {
		t.next = make(map[string]string)
	}
	switch b := e.Body.(type) {
	case event.StartRun:
		t.next[e.RunID] = b.CheckpointID
	case event.ContinueToNextStep:
		id, t.next[e.RunID] = t.next[e.RunID], b.NextCheckpointID
	default:
		if e.IsTerminal() {
			id = t.next[e.RunID]
		}
	}
	return id
}
