package log

import (
	"context"
	"errors"
	"fmt"
	"iter"

	"github.com/perstack-go/perstack/internal/cli/host"
	"github.com/perstack-go/perstack/internal/history"
	"github.com/perstack-go/perstack/internal/terminal"
	"github.com/perstack-go/perstack/internal/wording"
	"github.com/perstack-go/perstack/store"
	"github.com/perstack-go/perstack/store/file"
)

// history says where the jobs of the project are recorded.
func (o *Options) history() (host.History, error) {
	return o.Host.History(o.Storage, o.Config, o.Host.Dir)
}

// open returns the history that the command reads: that of the project, or with --all those
// of every project.
func (o *Options) open() (store.Store, error) {
	switch {
	case o.Store != nil:
		return o.Store, nil
	case o.All:
		return o.openAll()
	}
	h, err := o.history()
	if err != nil {
		return nil, err
	}
	return file.New(h.Dir, &file.Options{AllowLink: h.Chosen}), nil
}

func (o *Options) openAll() (store.Store, error) {
	dir, err := o.Host.StateDir()
	if err != nil {
		return nil, &host.ExitError{Code: host.ExitUsage, Err: err}
	}
	projects, err := dir.Projects()
	if err != nil {
		return nil, err
	}
	all := &everyProject{}
	for _, p := range projects {
		all.projects = append(all.projects, project{p.Path, file.New(p.State, nil)})
	}
	return all, nil
}

// nothing says that there is no job at all, and where: another project has another history.
func (o *Options) nothing() error {
	if o.JSON || o.Records {
		return nil
	}
	if o.All {
		_, err := fmt.Fprintln(o.Host.Stdout, "No project has a job yet.")
		return err
	}
	history, err := o.history()
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(o.Host.Stdout, "No data found in "+terminal.CleanLine(history.Dir))
	if !history.Chosen && err == nil {
		err = o.hintAtMoved()
	}
	if old := history.OldHistory(o.Host.Dir); old != "" && err == nil {
		by, how := o.Host.RecordedBy(old)
		_, err = fmt.Fprintf(o.Host.Stdout, "%s holds jobs of %s. %s\n", terminal.CleanLine(old), by, how)
	}
	return err
}

// tellOriginals says how jobs of the original can be read.
func (o *Options) tellOriginals(n int) {
	were := " were"
	if n == 1 {
		were = " was"
	}
	fmt.Fprintf(o.Host.Stderr, "perstack: %s%s recorded by the original Perstack (TypeScript); to read them, import them: %s\n",
		wording.Count(n, "job"), were, o.importCommand())
}

// importCommand is the command that imports the jobs of the original from the history in use.
func (o *Options) importCommand() string {
	dir := "<directory>"
	if history, err := o.history(); err == nil && !o.All {
		dir = terminal.ShellJoin(history.Dir)
	}
	return o.command() + " jobs import " + dir
}

// everyProject is the histories of all projects of the user, as one that is only read.
type everyProject struct{ projects []project }

type project struct {
	path  string
	store *file.Store
}

// sources returns the histories that a store consists of.
func sources(s store.Store) []history.Source {
	every, ok := s.(*everyProject)
	if !ok {
		return []history.Source{{Store: s}}
	}
	var all []history.Source
	for _, p := range every.projects {
		all = append(all, history.Source{Project: p.path, Store: p.store})
	}
	return all
}

// Open implements [store.Store].
func (*everyProject) Open(context.Context, string) (store.Journal, error) {
	return nil, errors.New("the histories of all projects together are only read")
}

// Read implements [store.Store].
func (a *everyProject) Read(ctx context.Context, jobID string, after int64) iter.Seq2[store.Record, error] {
	return func(yield func(store.Record, error) bool) {
		p, err := a.of(ctx, jobID)
		if err != nil {
			yield(store.Record{}, err)
			return
		}
		p.store.Read(ctx, jobID, after)(yield)
	}
}

// Follow implements [store.Follower].
func (a *everyProject) Follow(ctx context.Context, jobID string, wait func() error) iter.Seq2[store.Record, error] {
	return func(yield func(store.Record, error) bool) {
		p, err := a.of(ctx, jobID)
		if err != nil {
			yield(store.Record{}, err)
			return
		}
		p.store.Follow(ctx, jobID, wait)(yield)
	}
}

// Jobs implements [store.Store]: the jobs of all projects, newest first.
func (a *everyProject) Jobs(ctx context.Context) iter.Seq2[store.JobInfo, error] {
	return history.Jobs(ctx, sources(a))
}

// JobIDs returns the ids of all jobs, in no order.
func (a *everyProject) JobIDs(ctx context.Context) (all []string, err error) {
	for _, p := range a.projects {
		ids, err := p.store.JobIDs(ctx)
		if err != nil {
			return nil, err
		}
		all = append(all, ids...)
	}
	return all, nil
}

// FindJob implements [store.JobFinder].
func (a *everyProject) FindJob(ctx context.Context, jobID string) (store.JobInfo, error) {
	p, err := a.of(ctx, jobID)
	if err != nil {
		return store.JobInfo{}, err
	}
	return p.store.FindJob(ctx, jobID)
}

// RecordedHead implements [store.HeadKeeper].
func (a *everyProject) RecordedHead(ctx context.Context, jobID string) (store.Recorded, error) {
	p, err := a.of(ctx, jobID)
	if err != nil {
		return store.Recorded{}, err
	}
	return p.store.RecordedHead(ctx, jobID)
}

// of returns the project that has a job, readable or not. Users can name their jobs, so several
// projects can have one of the same id.
func (a *everyProject) of(ctx context.Context, jobID string) (project, error) {
	var found []project
	for _, p := range a.projects {
		if _, err := p.store.FindJob(ctx, jobID); !errors.Is(err, store.ErrNotFound) {
			found = append(found, p)
		}
	}
	switch len(found) {
	case 0:
		return project{}, store.NotFound(jobID)
	case 1:
		return found[0], nil
	}
	return project{}, host.Usagef("several projects have a job %s, such as %s and %s; call perstack log in one of them, without --all",
		jobID, found[0].path, found[1].path)
}

// hintAtMoved says how to find the history of a project that was moved, if a project is gone.
func (o *Options) hintAtMoved() error {
	dir, err := o.Host.StateDir()
	if err != nil {
		return err
	}
	gone, err := dir.Gone()
	if err != nil || len(gone) == 0 {
		return err
	}
	_, err = fmt.Fprintln(o.Host.Stdout, "If this project was moved, run: perstack jobs adopt <old path>. perstack log --all shows the old paths.")
	return err
}
