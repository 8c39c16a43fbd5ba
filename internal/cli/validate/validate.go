// Package validate is the command that checks a perstack.toml and says everything
// that is wrong with it at once.
//
// It reads the file, the cassette that it names, the lockfile beside it and, for where requests
// to a model go, the env files of the project. It uses no network and starts no skill.
// Start reading at [Options], then [New].
package validate

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/perstack-go/perstack/internal/cli/host"
	"github.com/perstack-go/perstack/internal/lockfile"
	"github.com/perstack-go/perstack/internal/manifest"
	"github.com/perstack-go/perstack/internal/terminal"
	"github.com/perstack-go/perstack/internal/toml"
	"github.com/perstack-go/perstack/internal/userfile"
	"github.com/perstack-go/perstack/internal/wording"
)

// Options are what the command works with.
type Options struct {
	Host *host.Host

	Config  string // path of the file; empty means to look for it
	Machine bool   // what is missing on this machine is an error
	JSON    bool
}

// New returns the command. Tests hand in a runF to see the options.
func New(h *host.Host, runF func(context.Context, *Options) error) *cobra.Command {
	opts := &Options{Host: h}
	if runF == nil {
		runF = run
	}
	cmd := &cobra.Command{
		Use:   "validate",
		Short: "Check perstack.toml",
		Long: `Check perstack.toml and list all problems, each with its line and a hint. An Expert
that perstack run would refuse without flags is a problem: a delegate that is missing, a
model of another provider, a stale perstack.lock, a program of a skill that is not the
one in perstack.lock, a file that a job has changed and that you have not accepted. With
the provider replay, the cassette that the file names is checked, too.

Problems and warnings are printed to standard error, one on each line. Notes name
settings that this version does not enforce, skills whose code cannot be pinned as a
whole, and what this machine lacks: a key, a variable of a skill, a program, a sandbox.
With --machine, what the machine lacks is a problem, and with the runtime docker, the
Docker daemon is asked as well.

Requests are what the project asks for beyond the defaults, which perstack run asks you
about. Exit codes: 0 if there are no problems, else 2. Notes and requests do not change it.

--json prints an array of {file, line, column, path, message, hint, severity} to
standard output instead; severity is error, warning, note or request.`,
		Example: `  perstack validate
  perstack validate --machine
  perstack validate --config experts/perstack.toml
  perstack validate --json | jq -r '.[].message'`,
		Args:              host.NoArgs("name the file with --config"),
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return runF(cmd.Context(), opts)
		},
	}
	host.AddConfigFlag(cmd, &opts.Config)
	h.AddRemoteYesFlag(cmd)
	cmd.Flags().BoolVar(&opts.Machine, "machine", false, "make what this machine lacks a problem: keys, variables, programs, Docker")
	cmd.Flags().BoolVar(&opts.JSON, "json", false, "print the problems as JSON")
	return cmd
}

func run(ctx context.Context, opts *Options) error {
	h := opts.Host
	if err := h.FetchConfig(ctx, &opts.Config); err != nil {
		return err
	}
	path, err := h.Locate(opts.Config)
	if err != nil {
		return err
	}
	config, problems, err := manifest.Load(path)
	if err != nil {
		return &host.ExitError{Code: host.ExitUsage, Err: err}
	}
	short := func(name string) string { return shorten(h.Dir, name) }
	var notes toml.Problems
	var lock *lockfile.Lock
	var lockErr error
	if config != nil {
		if err := h.RestrictRemote(config); err != nil {
			return err
		}
		problems = slices.Concat(problems, cassetteProblems(config, short), config.DelegateWarnings())
		lock, lockErr = lockfile.Read(config)
		missing := opts.missing(ctx, config, lock)
		for _, p := range refused(config, lock, lockErr, h.Dir) {
			if p.Warning {
				notes = append(notes, p)
			} else {
				problems = append(problems, p)
			}
		}
		notes = append(notes, loaders(config, h.Dir)...)
		if opts.Machine {
			problems = append(problems, missing...)
		} else {
			notes = append(notes, missing...)
		}
	}
	unaccepted, err := h.Unaccepted(ctx, opts.Config, path, others(h, config)...)
	if err != nil {
		return err
	}
	problems = append(problems, unaccepted...)
	problems.Sort()
	r := newReport(config, problems, notes, short, func(text string) string { return host.AddConfig(text, opts.Config) })
	if config != nil {
		r.requests = requests(h, config, lock, short)
	}
	if opts.JSON {
		err = r.printJSON(h.Stdout)
	} else {
		err = r.print(h.Stdout, h.Stderr, shorten(h.Dir, path))
	}
	if err == nil && problems.Err() != nil {
		err = host.Exit(host.ExitUsage) // all has been said
	}
	return err
}

// shorten writes a path below the working directory the way a user would type it.
func shorten(dir, path string) string {
	if rest, in := userfile.Below(dir, path); in {
		return rest
	}
	return path
}

// print writes problems to stderr, and to stdout what is in a file that can be used.
func (r *report) print(stdout, stderr io.Writer, file string) error {
	var problems, text strings.Builder
	for _, p := range r.problems {
		fmt.Fprintln(&problems, terminal.CleanLine(p.String()))
	}
	if r.errors == 0 {
		fmt.Fprintf(&text, "%s: %s, %s\n", terminal.CleanLine(file), wording.Count(len(r.experts), "expert"), r.verdict())
		printNotes(&text, "  note: ", r.notes)
		printNotes(&text, "  request: ", r.requests)
		for _, e := range r.experts {
			fmt.Fprintf(&text, "  %s\n", terminal.CleanLine(e.Name+" "+e.Version))
			printNotes(&text, "    note: ", e.notes)
		}
	} else {
		fmt.Fprintf(&problems, "%s: %s\n", terminal.CleanLine(file), r.verdict())
		printNotes(&problems, "  request: ", r.requests) // as far as the file could be read
	}
	if _, err := io.WriteString(stderr, problems.String()); err != nil {
		return err
	}
	_, err := io.WriteString(stdout, text.String())
	return err
}

func printNotes(w io.Writer, start string, notes toml.Problems) {
	for _, n := range notes {
		n.Warning = false // a note is less than that
		fmt.Fprintln(w, start+terminal.CleanLine(n.String()))
	}
}
