// Package run is the command perstack run: it runs an Expert and shows what happens.
//
// [New] reads flags into [Options]. [Run] loads the project (project.go), finds the job
// (target.go), makes the Spec and checks it (spec.go), reads the query (query.go), and
// hands the Spec to perstack.Run. output.go shows the events, outcome.go says how the job
// ended.
package run

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"

	"github.com/spf13/cobra"

	"github.com/perstack-go/perstack"
	"github.com/perstack-go/perstack/engine"
	"github.com/perstack-go/perstack/expert"
	"github.com/perstack-go/perstack/internal/cli/host"
	"github.com/perstack-go/perstack/job"
	"github.com/perstack-go/perstack/store/file"
)

// Options are what a run can be told.
type Options struct {
	Host *host.Host

	Expert    string
	Query     string
	HasQuery  bool // an argument was given, if only "" or "-"
	QueryFile string

	Config    string
	EnvPath   []string
	Workspace string
	Storage   string

	// Flags are the settings that flags give.
	Flags         job.Flags
	MoveWorkspace bool // the job can go on in another directory

	JobID       string
	Continue    bool
	ContinueJob string
	ResumeFrom  string
	IsAnswer    bool

	Output  string // json, text or progress; empty chooses by the terminal
	Events  string // full or lean
	Verbose bool

	sandboxAvailable func() error // says why there is no sandbox here; nil asks the kernel
}

// New returns the command. runF, if set, is called instead of [Run].
func New(h *host.Host, runF func(context.Context, *Options) error) *cobra.Command {
	opts := &Options{Host: h}
	asJSON, reasoning := false, ""
	cmd := &cobra.Command{
		Use:   "run <expert> [query]",
		Short: "Run an Expert",
		Long: `Run an Expert of perstack.toml.

The query is the second argument; "-" reads it from standard input (so does no
argument, unless a job is continued), --query-file from a file. On a terminal you
see what the Expert does as it happens; in a pipe every event is one line of JSON.

Skills are started before the first step, or, if perstack install has written a
perstack.lock, when they are first used; then they must offer what they offered.

With --runtime docker the whole Expert runs in a container: it sees the workspace
and nothing else of this machine, and reaches the provider and the hosts that
allowedDomains names, through a proxy that reports every try. The history stays
here. --env hands variables to commands; [docker] in perstack.toml has more.
Each skill has a sandbox of its own in there; --shared-sandbox gives that up, for kernels
that cannot keep sandboxes. --proxy squid has Squid of an image that perstack.toml names
decide about connections.

With --sandbox the built-in runtime keeps sandboxes too, by Landlock (Linux 6.12): each
skill and the commands see the workspace, the system and directories of their own,
and get out by a proxy that knows their allowedDomains. docs/sandbox.md says what
this does not hold back.

A run is recorded below ./perstack and can be continued: with a new query, with
the answer to a question, from an earlier checkpoint of any of its Experts, or
where it was interrupted. A continued job keeps its provider and model, unless a
flag or perstack.toml names others. It keeps its limits and isolation: the stricter
of perstack.toml and the recorded job applies, and only a flag relaxes it. It stays
in its workspace, unless --workspace and --move-workspace name another.

Limits apply to the whole job, with everything that its Experts delegate. Steps,
tokens and cost count from its start, including what was used before it was
continued; the duration counts for each run. perstack.toml can set limits too, for
the job and for single Experts; a flag takes precedence over those of the job. The
cost needs the price of the model: that of common ones is known, [prices] in
perstack.toml has any.

Exit codes: 0 completed, 1 failed, 2 wrong usage, 3 limit reached, 4 waits for an
answer, 129, 130 and 143 stopped by a signal. After the first signal the state is
saved; a second one quits at once and keeps what is in the journal by then.`,
		Example: `  perstack run writer "Summarise notes.txt"
  perstack run writer --query-file task.md --output text
  perstack run writer "Shorter, please" --continue
  perstack run planner "Tuesday" --continue -i
  perstack run writer "Another way" --continue-job JOB --resume-from CHECKPOINT
  perstack run lead "Ship it" --max-cost 0.50 --max-duration 30m
  perstack run coder "Fix the tests" --runtime docker --base-image golang:1.26
  perstack run coder "Fix the tests" --sandbox
  perstack run clerk "File the mail" --runtime docker --offline
  perstack run --continue-job JOB            go on after an interruption
  perstack run writer "Try it" --provider replay --cassette answers.toml`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 2 {
				return host.Usagef("too many arguments: expected an Expert and a query, got %d; put the query in quotes", len(args))
			}
			return nil
		},
		ValidArgsFunction: opts.completeExpert,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				opts.Expert = args[0]
			}
			if len(args) > 1 {
				opts.Query, opts.HasQuery = args[1], true
			}
			if err := host.RefuseEmpty(cmd.Flags()); err != nil {
				return err
			}
			is := &opts.Flags.Isolation
			opts.Flags.WritableWorkspace = cmd.Flags().Changed("read-only-workspace") && !is.Container.ReadOnlyWorkspace
			opts.Flags.NoSandbox = cmd.Flags().Changed("sandbox") && !is.Sandbox
			if reasoning != "" {
				var err error
				if opts.Flags.Reasoning, err = expert.ParseReasoningBudget(reasoning); err != nil {
					return host.Usagef("--reasoning-budget: %w", err)
				}
			}
			if path := opts.Flags.Setting.Cassette; path != "" {
				opts.Flags.Setting.Cassette = opts.Host.Path(path)
			}
			if asJSON {
				if opts.Output != "" && opts.Output != outputJSON {
					return host.Usagef("--json and --output %s exclude each other; give one", opts.Output)
				}
				opts.Output = outputJSON
			}
			if runF != nil {
				return runF(cmd.Context(), opts)
			}
			return Run(cmd.Context(), opts)
		},
	}
	flags := cmd.Flags()
	is := &opts.Flags.Isolation
	box := &is.Container
	flags.StringVar(&opts.QueryFile, "query-file", "", "read the query from this file")
	flags.StringVar(&opts.Config, "config", "", "perstack.toml to use (default: searched for upwards from here)")
	flags.StringArrayVar(&opts.EnvPath, "env-path", nil, "env file to read, may be repeated (default: .env, .env.local)")
	flags.StringVar(&opts.Workspace, "workspace", "", "directory that the file tools work in (default: here)")
	flags.BoolVar(&opts.MoveWorkspace, "move-workspace", false, "continue a job in the directory that --workspace names, although it worked in another")
	flags.StringVar(&opts.Storage, "storage", "", "directory of the history (default: $PERSTACK_STORAGE_PATH, else ./perstack)")
	flags.StringVar(&opts.Flags.Provider, "provider", "", "who runs the model (default: as perstack.toml says, else as the continued job had, else anthropic)")
	flags.StringVar(&opts.Flags.Model, "model", "", "model to use (default: as perstack.toml says, else as the continued job had, else the provider's)")
	flags.StringVar(&reasoning, "reasoning-budget", "", "none, minimal, low, medium, high or a number of tokens (default low)")
	flags.StringVar(&opts.Flags.Runtime, "runtime", "", "where the Expert runs: local or docker (default: as perstack.toml says, else local)")
	flags.BoolVar(&box.ReadOnlyWorkspace, "read-only-workspace", false, "nothing can change the workspace, with --runtime docker")
	flags.StringArrayVar(&is.Env, "env", nil, "variable of the environment that commands get, by its name, with --runtime docker; may be repeated")
	flags.StringVar(&box.BaseImage, "base-image", "", "image that brings programs for commands, with --runtime docker (default: as perstack.toml says, else none)")
	flags.BoolVar(&box.Offline, "offline", false, "fetch neither images nor packages, with --runtime docker")
	flags.BoolVar(&is.SharedSandbox, "shared-sandbox", false, "do not keep skills apart from each other, with --runtime docker; not kept when the job is continued")
	flags.StringVar(&box.Proxy, "proxy", "", "by what connections leave the container: builtin, or squid if perstack.toml names its image (default: builtin)")
	flags.BoolVar(&is.Sandbox, "sandbox", false, "put every skill and the commands into sandboxes, with --runtime local")
	flags.StringVar(&opts.Flags.Setting.Cassette, "cassette", "", "answers to play, with --provider replay")
	addLimits(flags, &opts.Flags.Limits)
	flags.StringVar(&opts.JobID, "job-id", "", "id of the new job (default: made up)")
	flags.BoolVar(&opts.Continue, "continue", false, "continue the newest job")
	flags.StringVar(&opts.ContinueJob, "continue-job", "", "continue this job")
	flags.StringVar(&opts.ResumeFrom, "resume-from", "", "go on from this checkpoint, as a new branch")
	flags.BoolVarP(&opts.IsAnswer, "interactive-tool-call-result", "i", false, "the query answers the question that the job waits with")
	flags.StringVar(&opts.Output, "output", "", "json (events), text (the final answer only) or progress (default: progress on a terminal, else json)")
	flags.BoolVar(&asJSON, "json", false, "print events as JSON lines, also on a terminal")
	flags.StringVar(&opts.Events, "events", eventsFull, "full events, or lean: the journal's own records")
	flags.BoolVar(&opts.Verbose, "verbose", false, "print debug log, skill output and retries to standard error")
	registerCompletions(cmd, opts)
	return cmd
}

// Run runs the Expert to its end. The error carries the exit code.
func Run(ctx context.Context, opts *Options) error {
	if err := opts.check(); err != nil {
		return err
	}
	project, err := loadProject(opts)
	if err != nil {
		return err
	}
	history := opts.history()
	target, err := findTarget(ctx, opts, history)
	if err != nil {
		return err
	}
	plan, err := makeSpec(opts, project, target)
	if err != nil {
		return err
	}
	spec := plan.spec
	if spec.Input, err = opts.input(ctx, target); err != nil {
		return err
	}
	out := newOutput(ctx, plan)
	defer out.close()
	defer plan.watchFiles()()
	if spec.Runtime != job.Docker {
		opts.Host.Saves() // a container has nothing to save until it is up
	}
	running, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	var result engine.Result
	parts := perstack.Parts{
		Store:     history,
		History:   target.history,
		Variables: project.variable,
		Secrets:   &opts.Host.Secrets,
		Environ:   opts.Host.Environ,
		Dir:       opts.Host.Dir,
		CacheDir:  opts.Host.CachePath(),
		Log:       opts.logger(),
		Source:    opts.Host.Source,
		Lean:      !out.full(),
		Record:    out.recordFunc(),
		Done:      func(r engine.Result) { result = r },
	}
	for e, err := range perstack.Run(running, spec, parts) {
		if err != nil {
			return out.explain(ctx, err)
		}
		if running.Err() != nil && out.to.err != nil {
			continue // the job is being saved
		}
		if err := out.show(e); err != nil {
			stop(fmt.Errorf("output closed: %w", err))
		}
	}
	return out.end(ctx, result)
}

// workspace is the directory that the file tools work in.
func (o *Options) workspace() string { return o.Host.Path(cmp.Or(o.Workspace, ".")) }

// history is where jobs are recorded.
func (o *Options) history() *file.Store {
	return file.New(o.Host.StoragePath(o.Storage), &file.Options{
		Logger:    o.logger(),
		AllowLink: o.Host.ChoseStorage(o.Storage),
	})
}

// logger writes warnings to standard error, and everything with --verbose.
func (o *Options) logger() *slog.Logger { return o.Host.Logger(o.Verbose) }
