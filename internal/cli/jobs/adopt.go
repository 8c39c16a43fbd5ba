package jobs

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"github.com/perstack-go/perstack/internal/cli/host"
	"github.com/perstack-go/perstack/internal/manifest"
	"github.com/perstack-go/perstack/internal/protect"
	"github.com/perstack-go/perstack/internal/state"
	"github.com/perstack-go/perstack/internal/terminal"
	"github.com/perstack-go/perstack/internal/wording"
	"github.com/perstack-go/perstack/internal/workspace/snapshot"
	"github.com/perstack-go/perstack/store/file"
)

// AdoptOptions are what adopt works with.
type AdoptOptions struct {
	Host   *host.Host
	Config string
	From   string // the path that the project had
}

func newAdopt(h *host.Host, runF func(context.Context, *AdoptOptions) error) *cobra.Command {
	opts := &AdoptOptions{Host: h}
	if runF == nil {
		runF = adopt
	}
	cmd := &cobra.Command{
		Use:   "adopt <old path>",
		Short: "Take over the history of a project that was moved",
		Long: `Take over the history of a project that was moved or renamed. Call it in the project,
with the path that the project had before. perstack log --all shows the paths of all
projects that have a history.

The old path must not exist any more, or be an empty directory: a project that is still there
keeps its history. If a job is running, or if this project has a job of the same id, nothing
is moved. The data of skills and the stored files come along.

A job that worked in the old path is continued in the new one only if you say so, once:
with --workspace and --move-workspace.`,
		Example: `  mv ~/reports ~/work/reports
  cd ~/work/reports
  perstack jobs adopt ~/reports
  perstack run writer "Write the summary." --continue --workspace . --move-workspace`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return host.Usagef("name the path that the project had; perstack log --all lists the projects that have a history")
			}
			return nil
		},
		ValidArgsFunction: opts.complete,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := host.RefuseRemote(opts.Config); err != nil {
				return err
			}
			opts.From = args[0]
			return runF(cmd.Context(), opts)
		},
	}
	host.AddLocalConfigFlag(cmd, &opts.Config)
	return cmd
}

func adopt(ctx context.Context, opts *AdoptOptions) error {
	h := opts.Host
	dir, err := h.StateDir()
	if err != nil {
		return &host.ExitError{Code: host.ExitUsage, Err: err}
	}
	at, err := h.ProjectDir(opts.Config, h.Dir)
	if err != nil {
		return err
	}
	project, err := dir.Project(at)
	if err != nil {
		return err
	}
	old, err := dir.Project(h.Path(opts.From))
	if err != nil {
		return err
	}
	if old.Path == project.Path {
		return host.Usagef("%s is this project, which has its history", terminal.CleanLine(old.Path))
	}
	if err := checkGone(old.Path); err != nil {
		return err
	}
	projects, err := dir.Projects()
	if err != nil {
		return err
	}
	if !slices.Contains(projects, old) {
		return host.Usagef("there is no history of %s; perstack log --all lists the projects that have one", old.Path)
	}
	from, to := file.New(old.State, nil), file.New(project.State, nil)
	if err := to.CheckAdopt(ctx, from); err != nil {
		return fmt.Errorf("%w\nnothing was moved", err)
	}
	// First, so that a job which was moved can be continued whatever happens next.
	if err := project.Adopt(old); err != nil {
		return err
	}
	if err := project.MoveSkills(old); err != nil {
		return fmt.Errorf("move the data of skills: %w", err)
	}
	if err := protect.Adopt(old, project); err != nil {
		return h.TrustProblem(err)
	}
	files := func(p state.Project) string { return host.History{Dir: p.State}.Files() }
	if err := snapshot.Adopt(files(project), files(old)); err != nil {
		return err
	}
	moved, err := to.Adopt(ctx, from)
	if len(moved) > 0 || err == nil {
		text := fmt.Sprintf("Moved %s of %s to %s\n", wording.Count(len(moved), "job"), terminal.CleanLine(old.Path), terminal.CleanLine(project.Path))
		if len(moved) > 0 {
			text += "To continue a job here, add --workspace . --move-workspace the first time.\n"
		}
		_, printed := io.WriteString(h.Stdout, text)
		err = errors.Join(err, printed)
	}
	if err == nil { // else the jobs that stay there need them
		err = os.RemoveAll(files(old))
	}
	if err != nil {
		return err
	}
	return old.Forget()
}

// checkGone returns an error if a project is still in its old place. An empty directory is what a move
// of everything in it leaves.
func checkGone(path string) error {
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return host.Usagef("whether %s still exists cannot be found out: %w", terminal.CleanLine(path), err)
	}
	if info.IsDir() {
		if names, err := os.ReadDir(path); err == nil && len(names) == 0 {
			return nil
		}
	}
	if _, err := os.Stat(filepath.Join(path, manifest.FileName)); err == nil {
		return host.Usagef("%s still is a project with a perstack.toml, so its history stays with it", terminal.CleanLine(path))
	}
	return host.Usagef("%s still exists, so its history stays with it; if the project was moved, move or remove what is left there first", terminal.CleanLine(path))
}

// complete offers the projects that have a history and are gone.
func (o *AdoptOptions) complete(_ *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
	dir, err := o.Host.StateDir()
	if err != nil || len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	projects, err := dir.Gone()
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	var paths []cobra.Completion
	for _, p := range projects {
		if terminal.CleanLine(p.Path) == p.Path {
			paths = append(paths, filepath.Clean(p.Path))
		}
	}
	return paths, cobra.ShellCompDirectiveNoFileComp
}
