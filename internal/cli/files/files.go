// Package files is what the commands restore, undo and diff share: which job is meant, how it is
// opened, and how changes of files are shown.
//
// Start reading at [Find].
package files

import (
	"context"
	"errors"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/perstack-go/perstack/engine"
	"github.com/perstack-go/perstack/internal/cli/complete"
	"github.com/perstack-go/perstack/internal/cli/host"
	"github.com/perstack-go/perstack/internal/restore"
	"github.com/perstack-go/perstack/internal/state"
	"github.com/perstack-go/perstack/internal/terminal"
	"github.com/perstack-go/perstack/store"
	"github.com/perstack-go/perstack/store/file"
)

// Flags say where the history is, and whether it is believed.
type Flags struct {
	Config, Storage string
	TrustHistory    bool
}

// Add adds the flags to a command. One that only shows something needs no trust.
func (f *Flags) Add(cmd *cobra.Command, trust bool) {
	host.AddLocalConfigFlag(cmd, &f.Config)
	cmd.Flags().StringVar(&f.Storage, "storage", "", "directory of the history (default: $PERSTACK_STORAGE_PATH, else that of the project)")
	if err := cmd.MarkFlagDirname("storage"); err != nil {
		panic(err) // the flag is defined above
	}
	if trust {
		cmd.Flags().BoolVar(&f.TrustHistory, "trust-history", false, "use a job that is not sealed by your key: everything that it records is believed")
	}
}

// Open returns the history of the project.
func (f *Flags) Open(h *host.Host) (host.History, *file.Store, error) {
	if err := host.RefuseRemote(f.Config); err != nil {
		return host.History{}, nil, err
	}
	history, err := h.History(f.Storage, f.Config, h.Dir)
	if err != nil {
		return history, nil, err
	}
	return history, file.New(history.Dir, &file.Options{AllowLink: history.Chosen}), nil
}

// A Job is a recorded job.
type Job struct {
	ID    string
	Store store.Store
	Files string // directory of the stored files

	host    *host.Host
	flags   Flags
	history host.History
}

// Find finds a job by a unique beginning of its id. "" means the newest.
func Find(ctx context.Context, h *host.Host, f Flags, id string) (*Job, error) {
	history, s, err := f.Open(h)
	if err != nil {
		return nil, err
	}
	j := NewJob(h, f, history, s, "")
	if id != "" {
		j.ID, err = host.FindJob(ctx, s, id, "perstack log lists the jobs")
		return j, err
	}
	newest, err := host.NewestJob(ctx, s, "name the job that you mean")
	if err == nil && newest.ID == "" {
		err = host.Usagef("there is no job yet; start one with: perstack run <expert> <query>")
	}
	j.ID = newest.ID
	return j, err
}

// NewJob returns a job of a history by its id.
func NewJob(h *host.Host, f Flags, history host.History, s store.Store, id string) *Job {
	return &Job{ID: id, Store: s, Files: history.Files(), host: h, flags: f, history: history}
}

// Load folds the journal of the job.
func (j *Job) Load(ctx context.Context) (*engine.History, error) {
	h, err := engine.Load(ctx, j.Store, j.ID)
	if err == nil && h.Job.Imported != nil {
		err = restore.ErrNoFiles
	}
	return h, j.Explain(err)
}

// Open locks everything that a restore needs.
func (j *Job) Open(ctx context.Context, abort bool) (*restore.Session, error) {
	place, err := j.history.Place(j.flags.TrustHistory)
	if err != nil {
		return nil, err
	}
	s, err := restore.Open(ctx, restore.Options{State: j.host.StatePath(), Place: place, Job: j.ID, Source: j.host.Source, Abort: abort})
	if err == nil && !abort {
		j.host.TellFinished(s.Finished)
	}
	return s, j.Explain(err)
}

// Apply carries a plan out. It is not stopped by a first signal: files that are partly restored would
// be of no use, and the next command had to finish it.
func Apply(ctx context.Context, s *restore.Session, p *restore.Plan) (restore.Result, error) {
	if err := ctx.Err(); err != nil {
		return restore.Result{}, err
	}
	return s.Apply(context.WithoutCancel(ctx), p)
}

// Again is a command about the job that can be pasted into a shell.
func (j *Job) Again(command string, args ...string) string {
	words := append([]string{command, j.ID}, args...)
	if j.flags.Config != "" {
		words = append(words, "--config", j.flags.Config)
	}
	if j.flags.Storage != "" {
		words = append(words, "--storage", j.flags.Storage)
	}
	return j.host.Command + " " + terminal.ShellJoin(words...)
}

// Explain adds to an error what the user can do.
func (j *Job) Explain(err error) error {
	var target *restore.TargetError
	var gone *restore.GoneError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &target):
		return host.Usagef("%w; %s lists the checkpoints", err, j.Again("log"))
	case errors.Is(err, restore.ErrNoFiles):
		return host.Usagef("job %s has stored no files: it changed none, or snapshots were off", j.ID)
	case errors.As(err, &gone):
		return host.Usagef("%w; if it was moved, continue the job there first, with: perstack run --continue-job %s --workspace <path> --move-workspace", err, j.ID)
	case errors.Is(err, restore.ErrNoRestore):
		return host.Usagef("no restore of job %s was interrupted, so there is nothing to take back", j.ID)
	}
	if refused := (*restore.RefusedError)(nil); errors.As(err, &refused) {
		return refuse(refused)
	}
	return host.ExplainRestore(host.ExplainSeal(err))
}

// Paths turns what the user wrote into paths of the workspace.
func Paths(h *host.Host, workspace string, args []string) ([]string, error) {
	root, err := state.Resolve(workspace)
	if err != nil {
		return nil, err
	}
	var paths []string
	for _, arg := range args {
		path := h.Path(arg)
		// The path itself can be a link, which is meant and not followed.
		dir, err := state.Resolve(filepath.Dir(path))
		if err != nil {
			return nil, err
		}
		rest, err := filepath.Rel(root, filepath.Join(dir, filepath.Base(path)))
		if err != nil || !filepath.IsLocal(rest) {
			if real, err := state.Resolve(path); err != nil || real != root { // else a link to the workspace
				return nil, host.Usagef("%s is not in the workspace of the job, %s", terminal.ShellJoin(arg), terminal.ShellJoin(workspace))
			}
			rest = "."
		}
		if rest == "." {
			return nil, nil // everything
		}
		paths = append(paths, filepath.ToSlash(rest))
	}
	return paths, nil
}

// Complete offers jobs for the first argument, and their checkpoints for others.
func Complete(h *host.Host, f *Flags, most int) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, start string) ([]cobra.Completion, cobra.ShellCompDirective) {
		_, s, err := f.Open(h)
		switch {
		case err != nil:
			return nil, cobra.ShellCompDirectiveNoFileComp
		case len(args) == 0:
			return complete.Jobs(cmd, s, start)
		case len(args) < most:
			return complete.Checkpoints(cmd, s, args[0], false)
		}
		return nil, cobra.ShellCompDirectiveDefault
	}
}
