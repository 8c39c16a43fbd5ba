package start

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync"

	"github.com/perstack-go/perstack/internal/attachment"
	"github.com/perstack-go/perstack/internal/cli/diff"
	"github.com/perstack-go/perstack/internal/cli/files"
	"github.com/perstack-go/perstack/internal/cli/host"
	"github.com/perstack-go/perstack/internal/cli/run"
	"github.com/perstack-go/perstack/internal/history"
	"github.com/perstack-go/perstack/internal/inputs"
	"github.com/perstack-go/perstack/internal/manifest"
	"github.com/perstack-go/perstack/internal/restore"
	"github.com/perstack-go/perstack/internal/tui"
	"github.com/perstack-go/perstack/internal/tui/paths"
	"github.com/perstack-go/perstack/internal/workspace"
	"github.com/perstack-go/perstack/store/file"
)

// A project is the [tui.Project] of the working directory.
type project struct {
	settings *run.Options // of every job
	host     *host.Host
	history  host.History
	journals *file.Store
	inputs   inputs.File
	notices  *notices
	hint     func(string) // says which job is open, to who can tell it after a crash; nil for none

	running sync.Mutex // held while a job runs: questions go to one asker
	outcome error      // of the last job; nil if it completed
}

func openProject(o *run.Options, n *notices) (*project, error) {
	h := o.Host
	p := &project{settings: o, host: h, notices: n}
	var err error
	if p.history, err = h.History(o.Storage, o.Config, p.workspace()); err != nil {
		return nil, err
	}
	p.journals = file.New(p.history.Dir, &file.Options{Logger: h.Logger(o.Verbose), AllowLink: p.history.Chosen})
	p.inputs = inputs.File{Path: p.history.Project.Inputs(), Secrets: &h.Secrets}
	return p, nil
}

// workspace is the directory that jobs work in.
func (p *project) workspace() string {
	if p.settings.Workspace == "" {
		return p.host.Dir
	}
	return p.host.Path(p.settings.Workspace)
}

// name is what a header calls the project.
func (p *project) name() string { return filepath.Base(p.workspace()) }

// checkExpert returns an error for an Expert that is not in perstack.toml. A published one is looked for
// when it runs.
func (p *project) checkExpert(key string) error {
	config, err := p.host.LoadConfig(p.settings.Config, key)
	switch {
	case errors.Is(err, manifest.ErrNotFound) && p.settings.Config == "" && manifest.NamesPublished(key):
		return nil
	case err == nil && config.Fetched(key):
		return nil
	case err == nil:
		_, err = host.FindExpert(config, key)
	}
	return err
}

// recentJobs is how many jobs are looked at for Experts that are not in perstack.toml.
const recentJobs = 50

// Experts implements [tui.Project].
func (p *project) Experts(ctx context.Context) ([]tui.Expert, error) {
	path, err := p.host.Locate(p.settings.Config)
	if err != nil {
		return nil, err
	}
	// Warnings are printed when a job runs.
	config, problems, err := manifest.Load(path)
	if err == nil {
		err = problems.Err()
	}
	if err != nil {
		return nil, err
	}
	var all []tui.Expert
	seen := make(map[string]bool)
	for _, e := range config.Experts {
		seen[e.Key] = true
		all = append(all, tui.Expert{Key: e.Key, Description: e.Description})
	}
	jobs, err := p.Jobs(ctx, recentJobs)
	for _, j := range jobs {
		if !seen[j.Expert] && j.Expert != "" {
			seen[j.Expert] = true
			all = append(all, tui.Expert{Key: j.Expert, Recent: true, Job: j.ID})
		}
	}
	return all, err
}

// Jobs implements [tui.Project].
func (p *project) Jobs(ctx context.Context, most int) ([]tui.Job, error) {
	page, err := history.List(ctx, []history.Source{{Store: p.journals}}, 0, most)
	var jobs []tui.Job
	for _, e := range page.Jobs {
		j := tui.Job{
			ID: e.Info.ID, Prefix: e.Prefix, Expert: e.Info.CoordinatorExpertKey, Status: string(e.Status()), Running: e.Running(),
			Steps: e.Info.TotalSteps, At: max(e.Info.StartedAt, e.Info.UpdatedAt), Query: e.Query(),
		}
		if cost, known := e.Cost(); known {
			j.Cost = cost
		}
		jobs = append(jobs, j)
	}
	return jobs, err
}

// flags are those of the commands that look at one job.
func (p *project) flags() files.Flags {
	o := p.settings
	return files.Flags{Config: o.Config, Storage: o.Storage, TrustHistory: o.TrustHistory}
}

// Diff implements [tui.Project].
func (p *project) Diff(ctx context.Context, jobID, checkpointID string) (string, error) {
	var text strings.Builder
	err := diff.Write(ctx, p.host, p.flags(), jobID, checkpointID, &text)
	if errors.Is(err, restore.ErrNoFiles) { // the job has only read
		err = nil
	}
	return text.String(), err
}

// Delete implements [tui.Project].
func (p *project) Delete(ctx context.Context, jobID string) error {
	deleted, err := restore.Delete(ctx, p.journals, p.history.Files(), p.host.Source.Now(), jobID)
	if err == nil && len(deleted.Running) > 0 {
		err = fmt.Errorf("job %s is running, and is not deleted", jobID)
	}
	return err
}

// Paths implements [tui.Project].
func (p *project) Paths(ctx context.Context) (_ []string, cut bool, err error) {
	w, err := workspace.Open(p.workspace(), workspace.Options{Protected: p.history.Hidden()})
	if err != nil {
		return nil, false, err
	}
	defer func() { err = errors.Join(err, w.Close()) }()
	list, err := paths.Scan(ctx, w)
	return list.Paths, list.Cut, err
}

// Attach implements [tui.Project].
func (p *project) Attach(ctx context.Context, path string) (tui.Attachment, error) {
	whole := p.attached(path)
	f, err := attachment.Read(ctx, whole, p.workspace())
	if err != nil {
		return tui.Attachment{}, err
	}
	kind := "text"
	switch mediaType := f.Info.MIMEType; {
	case strings.HasPrefix(mediaType, "image/"):
		kind = "image"
	case mediaType == "application/pdf":
		kind = "PDF"
	}
	return tui.Attachment{Path: whole, Name: f.Info.Name, Kind: kind, Size: int64(len(f.Data)), Outside: f.Outside}, nil
}

// attached is the path of a file as the user wrote it: from the workspace on, whose paths are offered
// while it is typed, or from the home directory.
func (p *project) attached(path string) string {
	if rest, ok := strings.CutPrefix(path, "~/"); ok && p.host.Home != "" {
		return filepath.Join(p.host.Home, rest)
	}
	if filepath.IsAbs(path) {
		return filepath.Clean(path)
	}
	return filepath.Join(p.workspace(), path)
}

// Inputs implements [tui.Project].
func (p *project) Inputs(context.Context) ([]string, error) { return p.inputs.Load() }

// Remember implements [tui.Project].
func (p *project) Remember(ctx context.Context, input string) error { return p.inputs.Add(ctx, input) }

// Resume implements [tui.Project].
func (p *project) Resume(jobID string) string { return p.settings.Continued("start", jobID) }
