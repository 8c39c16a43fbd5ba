package jobs

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/internal/cli/host"
	"github.com/perstack-go/perstack/internal/env"
	"github.com/perstack-go/perstack/internal/original"
	"github.com/perstack-go/perstack/internal/owner"
	"github.com/perstack-go/perstack/internal/terminal"
	"github.com/perstack-go/perstack/internal/wording"
	"github.com/perstack-go/perstack/store"
	"github.com/perstack-go/perstack/store/file"
)

// ImportOptions are what import works with.
type ImportOptions struct {
	Host    *host.Host
	Config  string
	Storage string
	From    string // an archive, or the directory with the jobs of the original
}

func newImport(h *host.Host, runF func(context.Context, *ImportOptions) error) *cobra.Command {
	opts := &ImportOptions{Host: h}
	if runF == nil {
		runF = importJobs
	}
	cmd := &cobra.Command{
		Use:   "import <archive or directory>",
		Short: "Import a job that was exported, or jobs of the original Perstack",
		Long: `Import a job from a file of perstack jobs export, or the jobs that the original Perstack,
written in TypeScript, recorded.

An archive can come from anyone. Perstack checks that its records are a whole chain and that
nothing else in it is wrong, and then adds the job to the history of this project. If
something is wrong, nothing is written. An archive has at most 1 GiB of unpacked data and
100,000 files. The imported job is not sealed: you can read it, and to continue it, you have
to believe everything that it records, with --trust-history.

The directory of the original is its "perstack" directory, which contains "jobs", or the
project around it. For each job, perstack reads the checkpoints and events of the original and
writes a journal into the history of this project. The files of the original do not change.
Keys of providers, including those in the original's env files and settings, are removed
from the text. You cannot continue such a job: its files do not prove what happened, and
they do not say what the job was allowed to do. perstack log says that another program
recorded it.

A job that is already in the history is left as it is.

Exit codes: 0 if all jobs are imported, now or earlier; 1 if a job cannot be imported; 2
if there is no such archive or directory, or if the directory contains no jobs.`,
		Example: `  perstack jobs import job.tar.gz      a job that was exported
  perstack jobs import perstack        the original's directory in this project
  perstack jobs import ~/old-project   the original's jobs of another project`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return host.Usagef("name an archive of perstack jobs export, or the directory of the original's jobs: the one that contains \"jobs\", or the project around it")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := host.RefuseRemote(opts.Config); err != nil {
				return err
			}
			opts.From = args[0]
			return runF(cmd.Context(), opts)
		},
	}
	host.AddLocalConfigFlag(cmd, &opts.Config)
	cmd.Flags().StringVar(&opts.Storage, "storage", "", "directory of the history (default: $PERSTACK_STORAGE_PATH, else that of the project)")
	return cmd
}

func importJobs(ctx context.Context, opts *ImportOptions) error {
	if info, err := os.Stat(opts.Host.Path(opts.From)); err == nil && info.Mode().IsRegular() {
		return importArchive(ctx, opts)
	}
	return importOriginals(ctx, opts)
}

// target returns the history that jobs are imported into, and a place to write them first.
func (o *ImportOptions) target() (place host.History, target *file.Store, s *stage, err error) {
	if place, err = o.Host.History(o.Storage, o.Config, o.Host.Dir); err != nil {
		return place, nil, nil, err
	}
	if err := errors.Join(place.Begin(), place.RecordStorage()); err != nil {
		return place, nil, nil, err
	}
	target = file.New(place.Dir, &file.Options{AllowLink: place.Chosen})
	if err := target.Prepare(); err != nil {
		return place, nil, nil, err
	}
	s, err = newStage(place.Dir)
	return place, target, s, err
}

func importOriginals(ctx context.Context, opts *ImportOptions) (err error) {
	h := opts.Host
	old, err := original.Open(h.Path(opts.From))
	if err != nil {
		return host.Usagef("%w; name the directory that contains \"jobs\", or the project that it lies in, or an archive of perstack jobs export", err)
	}
	defer old.Close()
	jobs, problems := old.Jobs()
	if len(problems) == 1 && errors.Is(problems[0], original.ErrNone) {
		return host.Usagef("%w", problems[0])
	}
	history, target, stage, err := opts.target()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, stage.clear()) }()
	opts.hideSecrets(filepath.Dir(old.Dir), history.Project.Path)
	sealer, err := history.Sealer()
	if err != nil {
		return err
	}

	from := event.Import{Program: original.Program, Path: old.Dir, At: h.Source.Now().UnixMilli()}
	if h.StdoutIsTerminal { // the files repeat the conversation at each step, so this can take a while
		fmt.Fprintf(h.Stderr, "Importing %s ...\n", wording.Count(len(jobs), "job"))
	}
	var imported, before int
	for _, job := range jobs {
		switch info, err := target.FindJob(ctx, job.ID); {
		case err == nil && info.Imported != nil:
			before++
			continue
		case !errors.Is(err, store.ErrNotFound):
			problems = append(problems, fmt.Errorf("job %s: the history has a job of that id, which is not replaced", job.ID))
			continue
		}
		if err := opts.importJob(ctx, job, from, stage, sealer, target); err != nil {
			problems = append(problems, fmt.Errorf("job %s: %w", job.ID, err))
			if ctx.Err() != nil {
				break
			}
			continue
		}
		imported++
	}
	if err := opts.report(imported, before, old.Dir); err != nil {
		return err
	}
	if err := errors.Join(problems...); err != nil {
		return &host.ExitError{Code: host.ExitFailure, Err: err} // whatever is wrong with a job
	}
	return nil
}

// hideSecrets adds the secrets of the environment and of the env files in some directories to
// those that are removed. A directory that cannot be read adds none.
func (o *ImportOptions) hideSecrets(dirs ...string) {
	h := o.Host
	for _, dir := range dirs {
		if dir == "" {
			continue
		}
		project, _ := h.Project(dir) // what is known of it
		values, _ := env.Load(h.Environ, project.EnvFiles)
		h.HideSecrets(values.Get)
		for name, value := range values.InFiles() {
			h.Secrets.AddIfRandom(name, value)
		}
		if project.Config != nil {
			h.HideProject(project.Config, values)
		}
	}
}

// importJob writes the journal of one job aside, and moves it into the history when it is whole.
func (o *ImportOptions) importJob(ctx context.Context, job *original.Job, from event.Import, s *stage, sealer *store.Sealer, target *file.Store) error {
	staged := s.store()
	journal, err := staged.WithSeal(sealer).Open(ctx, job.ID)
	if err != nil {
		return err
	}
	options := original.Options{Secrets: &o.Host.Secrets, NewID: o.Host.Source.NewID, Import: from}
	notes, err := job.Events(ctx, options, func(e event.Event) (int64, error) {
		r, err := journal.Append(ctx, e)
		return r.Seq, err
	})
	if err = errors.Join(err, journal.Close()); err != nil {
		return errors.Join(err, s.clear())
	}
	for _, note := range notes {
		fmt.Fprintf(o.Host.Stderr, "perstack: job %s: left out %s\n", job.ID, terminal.CleanLine(note))
	}
	_, err = target.Adopt(ctx, staged)
	return err
}

func (o *ImportOptions) report(imported, before int, dir string) error {
	var parts []string
	if imported > 0 || before == 0 {
		parts = append(parts, fmt.Sprintf("Imported %s of the original Perstack from %s", wording.Count(imported, "job"), terminal.CleanLine(dir)))
	}
	switch {
	case before == 1:
		parts = append(parts, "1 job was imported before, and is left as it is")
	case before > 1:
		parts = append(parts, fmt.Sprintf("%d jobs were imported before, and are left as they are", before))
	}
	_, err := fmt.Fprintln(o.Host.Stdout, strings.Join(parts, "\n"))
	return err
}

// A stage is where journals are written until they are whole: a directory beside the jobs, on the
// same file system, that no other command reads.
type stage struct{ dir string }

const stagePrefix = "importing-"

// newStage names a directory, and removes those that dead processes left.
func newStage(storage string) (*stage, error) {
	entries, err := os.ReadDir(storage)
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		text, ours := strings.CutPrefix(e.Name(), stagePrefix)
		if !ours || !e.IsDir() {
			continue
		}
		if id, err := owner.Parse(text); err == nil && id.Dead() {
			if err := os.RemoveAll(filepath.Join(storage, e.Name())); err != nil {
				return nil, err
			}
		}
	}
	s := &stage{filepath.Join(storage, stagePrefix+owner.This().String())}
	return s, s.clear()
}

func (s *stage) store() *file.Store { return file.New(s.dir, nil) }

// files is the directory of stored files.
func (s *stage) files() string { return filepath.Join(s.dir, "files") }

// clear removes what was written and is not whole.
func (s *stage) clear() error { return os.RemoveAll(s.dir) }
