package jobs

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/perstack-go/perstack/internal/cli/host"
	"github.com/perstack-go/perstack/internal/jobarchive"
	"github.com/perstack-go/perstack/internal/terminal"
	"github.com/perstack-go/perstack/internal/userfile"
	"github.com/perstack-go/perstack/internal/wording"
	"github.com/perstack-go/perstack/internal/workspace/snapshot"
	"github.com/perstack-go/perstack/store"
	"github.com/perstack-go/perstack/store/file"
)

// importArchive imports the job of an archive. It is unpacked beside the history, and moved there when
// all of it is checked.
func importArchive(ctx context.Context, opts *ImportOptions) (err error) {
	h := opts.Host
	name := terminal.CleanLine(opts.From)
	f, err := userfile.OpenRegular(h.Path(opts.From))
	if err != nil {
		return host.Usagef("%w", err)
	}
	defer f.Close()
	place, target, stage, err := opts.target()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, stage.clear()) }()
	if h.StderrIsTerminal { // a large one takes a while
		fmt.Fprintf(h.Stderr, "Checking %s ...\n", name)
	}
	m, err := jobarchive.Read(ctx, f, stage.store(), stage.files())
	if err != nil {
		return &host.ExitError{Code: host.ExitFailure, Err: fmt.Errorf("%s cannot be imported, and nothing was written: %w", name, err)}
	}
	switch same, err := hasJob(ctx, target, m); {
	case err != nil:
		return &host.ExitError{Code: host.ExitFailure, Err: err}
	case same:
		_, err := fmt.Fprintf(h.Stdout, "Job %s is in the history already, with the same records; it is left as it is\n", m.Job)
		return err
	}
	if err := moveIn(ctx, place, target, stage); err != nil {
		return err
	}
	_, err = fmt.Fprintf(h.Stdout, "Imported job %s with %s\nIt is not sealed. %s log %s shows it; to continue it, and believe everything that it records, add --trust-history.\n",
		m.Job, wording.Count(int(m.Records), "record"), h.Command, m.Job)
	return err
}

// hasJob reports whether a history has the job of an archive. Another job of the same id is an error.
func hasJob(ctx context.Context, target *file.Store, m jobarchive.Manifest) (bool, error) {
	_, err := target.FindJob(ctx, m.Job)
	if errors.Is(err, store.ErrNotFound) {
		return false, nil
	}
	if err == nil {
		last := store.Record{}
		for r, err := range target.Read(ctx, m.Job, 0) {
			if err != nil {
				break
			}
			last = r
		}
		if last.Seq == m.Records && last.Digest() == m.Head {
			return true, nil
		}
	}
	return false, fmt.Errorf("job %s: the history has another job of that id, which is not replaced", m.Job)
}

// moveIn moves a job with its stored files into a history. The stored files come first and cannot be
// collected before the job is there, which needs them.
func moveIn(ctx context.Context, place host.History, target *file.Store, s *stage) (err error) {
	if _, missing := os.Stat(s.files()); missing == nil {
		stored, err := snapshot.Open(ctx, place.Files())
		if err != nil {
			return err
		}
		defer stored.Close()
		if err := snapshot.Adopt(place.Files(), s.files()); err != nil {
			return err
		}
	}
	_, err = target.Adopt(ctx, s.store())
	return err
}
