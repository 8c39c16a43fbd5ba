// Package trust is the command that accepts files which a job has changed, so that later runs
// read them.
//
// It changes records of perstack only, never a file of the user. Start reading at [New].
package trust

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/perstack-go/perstack/internal/cli/host"
	"github.com/perstack-go/perstack/internal/protect"
	"github.com/perstack-go/perstack/internal/terminal"
)

// Options are what the command works with.
type Options struct {
	Host  *host.Host
	Files []string // empty to list what is not accepted
}

// New returns the command. Tests hand in a runF to see the options.
func New(h *host.Host, runF func(context.Context, *Options) error) *cobra.Command {
	opts := &Options{Host: h}
	if runF == nil {
		runF = run
	}
	return &cobra.Command{
		Use:   "trust [file...]",
		Short: "Accept files that a job has changed",
		Long: `Accept files that decide about later runs and that a job has created, changed or
removed: perstack.toml, perstack.lock and env files. perstack does not read such a file
until you accept it, because a program could have written it to get more rights.

Look at the files first: in an editor, or with git diff. The command prints what
happened to each of them and during which job, and accepts them as they are now. If you
change a file yourself while no job runs, you need not accept it.

Without a file, it lists everything that is not accepted yet, in all projects.
docs/trust.md says more.`,
		Example: `  perstack trust
  perstack trust perstack.toml .env`,
		ValidArgsFunction: func(_ *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
			files := slices.DeleteFunc(h.MarkedFiles(), func(file string) bool {
				return slices.Contains(args, file) || terminal.CleanLine(file) != file // a shell reads lines
			})
			return files, cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := h.RefuseInJob(cmd); err != nil {
				return err
			}
			opts.Files = args
			return runF(cmd.Context(), opts)
		},
	}
}

func run(ctx context.Context, opts *Options) error {
	h := opts.Host
	marks, err := h.TrustMarks(ctx)
	if err != nil {
		return err
	}
	if marks == nil {
		return host.Usagef("the home directory is not known, so there are no records; set HOME")
	}
	if len(opts.Files) == 0 {
		return list(h, marks)
	}
	for _, name := range opts.Files {
		if err := accept(h, marks, name); err != nil {
			return err
		}
	}
	return nil
}

// list prints what is not accepted.
func list(h *host.Host, marks *protect.Marks) error {
	out := &strings.Builder{}
	for _, r := range marks.All() {
		describe(out, h, r)
	}
	for _, p := range marks.Problems() {
		fmt.Fprintln(out, terminal.CleanLine(h.TrustProblem(p).Error()))
	}
	if out.Len() == 0 {
		out.WriteString("No job has changed a file that has to be accepted\n")
	}
	_, err := fmt.Fprint(h.Stdout, out)
	return err
}

// accept prints what happened to a file, and accepts it.
func accept(h *host.Host, marks *protect.Marks, name string) error {
	path := h.Path(name)
	check, err := marks.Check(path)
	if err != nil {
		return h.TrustProblem(err)
	}
	out := &strings.Builder{}
	for _, r := range check.Refusals {
		describe(out, h, r)
		if r.Accept != path {
			return host.Usagef("%s; look at what is in it, then accept the directory: %s trust %s", h.DescribeMark(r), h.Command, terminal.ShellJoin(r.Accept))
		}
	}
	if len(check.Refusals) == 0 {
		if _, err := os.Lstat(path); errors.Is(err, fs.ErrNotExist) {
			return host.Usagef("%s does not exist, and no job has removed it", terminal.ShellJoin(name))
		}
		fmt.Fprintf(out, "%s need not be accepted: no job has changed it\n", terminal.ShellJoin(name))
	} else {
		if err := marks.Accept(check); err != nil {
			return &host.ExitError{Code: host.ExitUsage, Err: err}
		}
		fmt.Fprintf(out, "Accepted %s: %s\n", terminal.ShellJoin(name), check.File())
	}
	_, err = fmt.Fprint(h.Stdout, out)
	return err
}

func describe(out *strings.Builder, h *host.Host, r protect.Refusal) {
	fmt.Fprintln(out, h.DescribeMark(r))
	if r.Mark.Change != protect.Unsearched {
		fmt.Fprintf(out, "  before: %s\n  after:  %s\n", r.Mark.Before, r.Mark.Now)
	}
	if r.ChangedAgain() {
		fmt.Fprintf(out, "  now:    %s; it has changed again since the job\n", r.Now)
	}
}
