package start

import (
	"context"
	"errors"
	"iter"
	"slices"
	"strings"
	"time"

	"github.com/perstack-go/perstack/engine"
	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/internal/history"
	"github.com/perstack-go/perstack/internal/restore"
	"github.com/perstack-go/perstack/internal/tui"
	"github.com/perstack-go/perstack/internal/workspace/snapshot"
	"github.com/perstack-go/perstack/job"
	"github.com/perstack-go/perstack/store"
)

// poll is how often the journal of a job that another process runs is looked at.
const poll = 100 * time.Millisecond

// Events implements [tui.Project].
func (p *project) Events(ctx context.Context, jobID string, follow bool) iter.Seq2[event.Event, error] {
	records := p.journals.Read(ctx, jobID, 0)
	if follow {
		records = p.journals.Follow(ctx, jobID, func() error { return wait(ctx) })
	}
	return func(yield func(event.Event, error) bool) {
		for r, err := range records {
			if errors.Is(err, event.ErrUnknownType) { // a newer perstack recorded it
				continue
			}
			if !yield(r.Event, err) || err != nil {
				return
			}
		}
	}
}

func wait(ctx context.Context) error {
	timer := time.NewTimer(poll)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// comparedCheckpoints is for how many checkpoints the changed files are counted. To count them, the
// stored files are compared.
const comparedCheckpoints = 100

// Doubt implements [tui.Project].
func (p *project) Doubt(ctx context.Context, jobID string) string {
	sealer, err := p.host.Verifier()
	info, failed := p.journals.FindJob(ctx, jobID)
	if err != nil || failed != nil {
		return "" // what cannot be read is reported when it is read
	}
	e := history.Entry{Info: info, Source: history.Source{Store: p.journals}}
	return strings.Trim(history.SealNote(e.CheckSeal(ctx, sealer)), " ()")
}

// Checkpoints implements [tui.Project].
func (p *project) Checkpoints(ctx context.Context, jobID string) ([]tui.Checkpoint, error) {
	h, err := engine.Load(ctx, p.journals, jobID)
	if err != nil {
		return nil, engine.StoreError(err)
	}
	var all []tui.Checkpoint
	for c, err := range history.Checkpoints(ctx, p.journals, jobID) {
		if err != nil {
			return nil, err
		}
		point, ok := h.At(c.ID)
		if !ok {
			continue // it was taken back
		}
		all = append(all, tui.Checkpoint{
			ID: c.ID, Seq: point.Seq, Step: c.Event.StepNumber, At: c.Event.Timestamp, Expert: point.State.Expert.Key, Files: -1,
		})
	}
	slices.Reverse(all)
	return all, p.countFiles(ctx, h, all)
}

// countFiles counts what was changed since the checkpoint before each one. all has the newest first.
func (p *project) countFiles(ctx context.Context, h *engine.History, all []tui.Checkpoint) error {
	spec, err := h.NewestSpec()
	if err != nil || spec.Snapshots.Mode == job.SnapshotsOff {
		return err
	}
	for i := range all[:min(len(all), comparedCheckpoints)] {
		c, before := &all[i], int64(0)
		if i+1 < len(all) {
			before = all[i+1].Seq
		}
		if c.Files, err = p.changed(ctx, h, before, c.Seq); err != nil {
			return err
		}
	}
	return nil
}

// changed counts the files that the job changed from one record to another; -1 if that is not known.
func (p *project) changed(ctx context.Context, h *engine.History, from, to int64) (n int, err error) {
	last, ok := h.FilesBefore(to)
	if !ok {
		return 0, nil // nothing was changed up to there
	}
	first, ok := h.FilesBefore(from)
	if !ok {
		first = h.Files()[0]
	}
	if first.Seq == last.Seq {
		return 0, nil
	}
	changes, err := restore.Compare(ctx, p.history.Files(), h, first, last, nil)
	if errors.Is(err, restore.ErrNoFiles) || errors.As(err, new(*restore.GoneError)) {
		return -1, nil
	}
	if err != nil {
		return -1, err
	}
	for _, c := range changes.List {
		if !inGit(c) {
			n++
		}
	}
	return n, changes.Close()
}

func inGit(c snapshot.Change) bool { return slices.Contains(strings.Split(c.Path, "/"), ".git") }

// Record implements [tui.Project].
func (p *project) Record(ctx context.Context, jobID, eventID string) (number int64, line []byte, err error) {
	for r, err := range p.journals.Read(ctx, jobID, 0) {
		switch {
		case errors.Is(err, event.ErrUnknownType):
		case err != nil:
			return 0, nil, err
		case r.Event.ID == eventID:
			return r.Seq, r.Line, nil
		}
	}
	return 0, nil, store.NotFound(eventID)
}
