package run

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/perstack-go/perstack/engine"
	"github.com/perstack-go/perstack/internal/cli/files"
	"github.com/perstack-go/perstack/internal/cli/host"
	"github.com/perstack-go/perstack/internal/restore"
	"github.com/perstack-go/perstack/internal/wording"
	"github.com/perstack-go/perstack/internal/workspace/rewind"
	"github.com/perstack-go/perstack/internal/workspace/snapshot"
	"github.com/perstack-go/perstack/job"
	"github.com/perstack-go/perstack/store"
)

// goBack brings files back to the checkpoint that the run continues from, if that is asked for. Else
// it says which files are different. The model is told what is not as it was.
func (pl *plan) goBack(ctx context.Context, s store.Store) (note string, err error) {
	o := pl.opts
	if o.ResumeFrom == "" || pl.target.history == nil {
		return "", nil
	}
	if o.RestoreFiles && pl.spec.Snapshots.Mode == job.SnapshotsOff {
		return "", host.Usagef("--restore-files needs the stored files of the job, but snapshots are off; see [snapshots] in perstack.toml")
	}
	target, err := restore.Find(pl.target.history, o.ResumeFrom)
	switch {
	case errors.Is(err, restore.ErrNoFiles) && o.RestoreFiles && pl.target.recorded.Snapshots.Mode == job.SnapshotsOff:
		return "", host.Usagef("job %s ran with snapshots off, so its files cannot be restored; leave --restore-files out", pl.target.jobID)
	case errors.Is(err, restore.ErrNoFiles): // it has only read
		return "", nil
	case err != nil && o.RestoreFiles:
		return "", err
	case err != nil:
		return "", nil // the engine says that there is no such checkpoint
	case o.RestoreFiles:
		return pl.restoreFiles(ctx, s, target)
	}
	return pl.tellFiles(ctx, target)
}

// restoreFiles restores the files, and reads the journal again, which says so.
func (pl *plan) restoreFiles(ctx context.Context, s store.Store, target engine.FileState) (note string, err error) {
	o := pl.opts
	j := files.NewJob(o.Host, files.Flags{Config: o.Config, Storage: o.Storage, TrustHistory: o.TrustHistory}, pl.project.history, s, pl.target.jobID)
	session, err := j.Open(ctx, false)
	if err != nil {
		return "", err
	}
	result, report, err := apply(ctx, session, target)
	if err = errors.Join(j.Explain(err), session.Close()); err != nil {
		return "", err
	}
	if result.Changed > 0 {
		for line := range strings.Lines(j.Done(report, result)) {
			fmt.Fprint(o.Host.Stderr, "perstack: "+line) // it has commands, in which blanks count
		}
	}
	if pl.target.history, err = engine.Load(ctx, s, pl.target.jobID); err != nil {
		return "", err
	}
	left := files.LeftText(result.Skipped)
	if left == "" {
		return "", nil
	}
	return "The files of the workspace are as they were at this point of the conversation, apart from these:\n" + left, nil
}

func apply(ctx context.Context, s *restore.Session, target engine.FileState) (result restore.Result, report files.Report, err error) {
	plan, err := s.Plan(ctx, target, rewind.Options{})
	if err == nil {
		report, err = files.NewReport(s, plan)
	}
	if err == nil {
		result, err = files.Apply(ctx, s, plan)
	}
	return result, report, err
}

// tellFiles says which files are not as they were at the checkpoint.
func (pl *plan) tellFiles(ctx context.Context, target engine.FileState) (note string, err error) {
	if pl.spec.Snapshots.Mode == job.SnapshotsOff || pl.opts.MoveWorkspace {
		return "", nil
	}
	changes, err := restore.Since(ctx, pl.project.history.Files(), pl.spec, target)
	if err != nil {
		pl.opts.logger().Warn("which files have changed since the checkpoint is not known", "error", err)
		return "", nil
	}
	changes = slices.DeleteFunc(changes, func(c snapshot.Change) bool { return slices.Contains(strings.Split(c.Path, "/"), ".git") })
	var names []string
	for _, row := range files.Rows(changes) {
		names = append(names, row.String())
	}
	if len(names) == 0 {
		return "", nil
	}
	are := " are"
	if len(names) == 1 {
		are = " is"
	}
	fmt.Fprintf(pl.opts.Host.Stderr, "perstack: %s%s not as at the checkpoint: %s; --restore-files brings back what the job changed\n", wording.Count(len(names), "file"), are, files.Join(names, "  "))
	return fmt.Sprintf("The conversation continues from an earlier point. The files of the workspace were not brought back: %s%s different now (A added, M modified, D removed): %s",
		wording.Count(len(names), "file"), are, files.Join(names, "  ")), nil
}
