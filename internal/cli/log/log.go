// Package log is the command that lists jobs and shows what happened in one.
//
// It reads the history and nothing else, never writes to the storage directory, and
// works beside a run that is under way. Everything it prints is folded from the
// journal with the engine's own fold, so it cannot disagree with what a resumed job
// would see. Rows are those of package narrate, so it cannot disagree with what
// perstack run showed. Start reading at [Options], then [New].
package log

import (
	"bufio"
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/perstack-go/perstack/internal/cli/host"
	"github.com/perstack-go/perstack/internal/history"
	"github.com/perstack-go/perstack/store"
)

// Options are what the command works with.
type Options struct {
	Host  *host.Host
	Store store.Store // nil for the history on the disk

	Config  string
	Storage string
	All     bool   // every project
	Job     string // empty: list the jobs, unless one of the next three says otherwise
	Latest  bool

	// What to show of the job.
	Run        string
	Checkpoint string
	Tree       bool
	Verify     bool
	Filter     Filter
	Expr       string // of Filter
	Context    int    // rows or events around those that are selected
	Take       int    // newest rows, events or jobs; 0 for all
	Offset     int    // newest rows, events or jobs to skip

	// How to show it.
	Follow   bool
	Events   bool
	JSON     bool
	Records  bool
	Verbose  bool
	Messages bool
	Summary  bool
}

// New returns the command. Tests hand in a runF to see the options.
func New(h *host.Host, runF func(context.Context, *Options) error) *cobra.Command {
	opts := &Options{Host: h}
	if runF == nil {
		runF = run
	}
	cmd := &cobra.Command{
		Use:   "log [job]",
		Short: "List jobs, or show what happened in one",
		Long: `List the jobs of the project, newest first, or show the transcript of one of them: the
rows that perstack run showed, with whole answers. Dim lines name the checkpoint after
each step, for perstack run --resume-from, and the snapshots, for perstack restore.

A job, a run or a checkpoint can be named by the beginning of its id, 4 characters or
more. If several ids begin with it, they are listed and the exit code is 2.

The project is the directory of the nearest perstack.toml, else this directory. --all
looks in the histories of all your projects.

Flags that are about one job, such as --errors, --tools and --summary, mean the newest
job unless one is named.

--events lists the events instead, run by run, each with its rows. Of a long job, the
newest 100 rows or events are shown; --take and --offset show others. If several of
--type, --errors, --tools and --delegations are given, events are selected that match
any of them. The transcript then has the rows that one of these events added or
changed. Times are UTC.

--filter selects by an expression in the language of jq. It sees one event, as --records
has it below "event", and keeps it unless its first value is null or false. It has 5
seconds for an event and sees no environment, files or modules. --context shows what is
around each row or event that is selected.

--follow shows what happens in a running job until it ends, also if another process runs
it. The exit code is then that of perstack run: 0 if the job is completed, 1 after an
error or if its process was killed, 3 after a limit, 4 if it waits for you, and 129, 130
or 143 after a signal. Ctrl+C stops following, with 130, and not the job.

--tree draws the runs of a job. Below each run are the delegates that it called, in
the order of the calls, and the runs that branched off one of its checkpoints. The
run that --continue would continue is marked as the head. --run limits the tree to
that run and the runs below it. --json prints one object for each run.

Two statuses look alike:
  interrupted         the process ended without saving: it crashed or was killed
  stoppedByInterrupt  it was stopped by Ctrl+C or another signal, and saved its state

--json prints one job or one event on each line, as JSON. Events have the same form as
in perstack run. It repeats the conversation at each step, which is gigabytes for a
job of 1,000 steps. --records prints the records of the journal as they are stored,
which is much shorter. Both print everything unless --take is given.

--verify checks one job, or with --all and without a job or --latest all jobs of all
projects. If there is no job to check, it exits with 2.

Exit codes: 0, even if there is nothing to show; 1 for a damaged journal; 2 for a job,
run or checkpoint that does not exist.`,
		Example: `  perstack log                            list the jobs of this project
  perstack log --all                      list those of all projects
  perstack log <job>                      what happened in a job
  perstack log --latest                   what happened in the newest job
  perstack log --errors                   what went wrong in the newest job
  perstack log <job> --step 3-5 --verbose whole results, and what happened around runs
  perstack log <job> --follow             what happens in it, until it ends
  perstack log <job> --events             its events, run by run
  perstack log <job> --filter '.usage.outputTokens > 1000' --context 2
  perstack log <job> --filter '.type == "retry" and (.reason | test("busy"))'
  perstack log <job> --tree               its runs: delegation and branches
  perstack log <job> --run <run>          what one run did
  perstack log <job> --checkpoint <id> --messages
  perstack log <job> --verify             check that the journal is unchanged
  perstack log --all --verify             check the jobs of all projects
  perstack log <job> --json | jq .type`,
		Args: host.AtMost(1, func(args []string) error {
			return host.Usagef("log shows one job at a time, but got %d; perstack log lists them", len(args))
		}),
		ValidArgsFunction: opts.complete,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := host.RefuseRemote(opts.Config); err != nil {
				return err
			}
			if err := opts.parse(cmd.Flags().Changed, args); err != nil {
				return err
			}
			return runF(cmd.Context(), opts)
		},
	}
	flags := cmd.Flags()
	host.AddLocalConfigFlag(cmd, &opts.Config)
	flags.StringVar(&opts.Storage, "storage", "", "directory of the history (default: $PERSTACK_STORAGE_PATH, else that of the project)")
	flags.BoolVar(&opts.All, "all", false, "look in the histories of all projects, not only in that of this one")
	flags.StringVar(&opts.Job, "job", "", "the job, like the argument")
	flags.BoolVar(&opts.Latest, "latest", false, "show the newest job")
	flags.StringVar(&opts.Run, "run", "", "only what this run did; without a job, all jobs are searched for it")
	flags.StringVar(&opts.Checkpoint, "checkpoint", "", "show this checkpoint; without a job, all jobs are searched for it")
	flags.BoolVar(&opts.Messages, "messages", false, "with --checkpoint: list its messages")
	flags.Var(&opts.Filter.Steps, "step", "only these steps: N, >N, >=N, <N, <=N or A-B")
	flags.StringArrayVar(&opts.Filter.Types, "type", nil, "only events of this type; can be repeated")
	flags.BoolVar(&opts.Filter.Errors, "errors", false, "only errors, retries, failed tool calls and limits that ended a run")
	flags.BoolVar(&opts.Filter.Tools, "tools", false, "only tool calls and their results, including those that the provider ran")
	flags.BoolVar(&opts.Filter.Delegations, "delegations", false, "only delegations")
	flags.StringVar(&opts.Expr, "filter", "", "only events that this jq expression keeps, as in '.type == \"retry\"'")
	flags.IntVar(&opts.Context, "context", 0, "how many rows or events to show before and after each that is selected")
	flags.IntVar(&opts.Take, "take", defaultTake, "how many of the newest rows, events or jobs to show; 0 means all")
	flags.IntVar(&opts.Offset, "offset", 0, "how many of the newest rows, events or jobs to skip")
	flags.BoolVar(&opts.Follow, "follow", false, "wait for more until the job ends; the exit code is that of perstack run")
	flags.BoolVar(&opts.Events, "events", false, "list the events, run by run, each with its rows")
	flags.BoolVar(&opts.Verbose, "verbose", false, "add what happens around runs, and show everything in full")
	flags.BoolVar(&opts.Summary, "summary", false, "add a summary of the whole job")
	flags.BoolVar(&opts.JSON, "json", false, "print JSON lines, with all data of each event; see --records")
	flags.BoolVar(&opts.Records, "records", false, "print the records of the journal, as JSON lines")
	flags.BoolVar(&opts.Tree, "tree", false, "draw the runs as a tree of delegations and branches")
	flags.BoolVar(&opts.Verify, "verify", false, "check that the journal is complete and unchanged")
	for flag, completion := range map[string]cobra.CompletionFunc{
		"type": cobra.FixedCompletions(typeNames(), cobra.ShellCompDirectiveNoFileComp), "job": opts.complete, "run": opts.completeRun, "checkpoint": opts.completeCheckpoint,
		"filter": cobra.NoFileCompletions, "step": cobra.NoFileCompletions, "context": cobra.NoFileCompletions, "take": cobra.NoFileCompletions, "offset": cobra.NoFileCompletions,
	} {
		if err := cmd.RegisterFlagCompletionFunc(flag, completion); err != nil {
			panic(err) // only for a flag that does not exist
		}
	}
	return cmd
}

const defaultTake = 100

func run(ctx context.Context, opts *Options) error {
	history, err := opts.open()
	if err == nil {
		err = show(ctx, opts, history)
	}
	return err
}

func show(ctx context.Context, opts *Options, s store.Store) error {
	if opts.mode() == listJobs {
		return list(ctx, opts, s)
	}
	if opts.Verify && opts.All && opts.Job == "" && !opts.Latest {
		return verifyAll(ctx, opts, s)
	}
	jobID, err := opts.find(ctx, s)
	if err != nil {
		return err
	}
	if jobID == "" && opts.Verify {
		return opts.nothingToVerify()
	}
	if jobID == "" {
		return opts.nothing()
	}
	if opts.mode() == verifyJournal {
		err = verify(ctx, opts, s, jobID)
	} else {
		err = showJob(ctx, opts, s, jobID)
	}
	if history.IsOriginal(err) {
		return fmt.Errorf("%w: %s", err, opts.importCommand())
	}
	if errors.Is(err, store.ErrNotFound) {
		return host.Usagef("%w; %s log lists the jobs", store.NotFound(jobID), opts.command())
	}
	return err
}

// showJob surveys a job and prints what is asked for. What is sound in a damaged journal is
// shown before the error about the damage.
func showJob(ctx context.Context, opts *Options, s store.Store, jobID string) error {
	v, err := look(ctx, opts, s, jobID)
	if err != nil {
		return err
	}
	to := opts.Host.Stdout
	if !opts.JSON && !opts.Records {
		to = opts.Host.Plain(to)
	}
	out := bufio.NewWriter(to)
	v.out = out
	switch mode := opts.mode(); {
	case mode == showCheckpoint:
		err = v.printCheckpoint(out)
	case len(v.runs) == 0 && len(v.selected) == 0: // there is nothing
	case mode == showTree:
		err = v.printTree(out)
	case mode == printRecords:
		err = v.printRecords(ctx, out)
	case mode == printEvents:
		err = v.printEvents(ctx, out)
	case mode == listEvents:
		err = v.listEvents(ctx, out)
	default:
		err = v.transcript(ctx, out)
	}
	if err == nil {
		err = out.Flush()
	}
	if err == nil {
		err = v.end()
	}
	if err == nil {
		err = v.outcome()
	}
	return err
}
