// Package log is the command that lists jobs and explains what happened in one.
//
// It reads the history and nothing else, never writes to the storage directory, and
// works beside a run that is under way. Everything it prints is folded from the
// journal with the engine's own fold, so it cannot disagree with what a resumed job
// would see. Start reading at [Options], then [New].
package log

import (
	"context"
	"errors"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/perstack-go/perstack/internal/cli/host"
	"github.com/perstack-go/perstack/store"
	"github.com/perstack-go/perstack/store/file"
)

// Options are what the command works with.
type Options struct {
	Host  *host.Host
	Store func(dir string) store.Store // the history in a directory

	Storage string
	Job     string // empty: list the jobs, unless one of the next three says otherwise
	Latest  bool

	// What to show of the job.
	Run        string
	Checkpoint string
	Tree       bool
	Verify     bool
	Filter     Filter
	Take       int // newest events, or jobs; 0 for all
	Offset     int // newest events, or jobs, to skip

	// How to show it.
	JSON     bool
	Records  bool
	Verbose  bool
	Messages bool
	Summary  bool
}

// New returns the command. Tests hand in a runF to see the options.
func New(h *host.Host, runF func(context.Context, *Options) error) *cobra.Command {
	opts := &Options{
		Host: h,
	}
	opts.Store = func(dir string) store.Store {
		return file.New(dir, &file.Options{AllowLink: h.ChoseStorage(opts.Storage)})
	}
	if runF == nil {
		runF = run
	}
	cmd := &cobra.Command{
		Use:   "log [job]",
		Short: "List jobs, or explain what happened in one",
		Long: `List jobs, newest first, or explain what happened in one of them: what was
asked, which tools ran with which results, what was retried, how it ended. Each
step ends with the id of its checkpoint, for perstack run --resume-from.

Of a long job, the newest 100 events are shown; --take and --offset show others.
Several of --type, --errors, --tools and --delegations show what any of them
selects. Times are UTC.

--tree draws the runs of a job: below each the delegates that it called, in the
order of the calls, and the runs that branched off one of its checkpoints. The
run that --continue goes on from is marked as the head. With --run it draws that
run and what is below it; with --json it prints one object a run.

Two statuses look alike:
  interrupted         its process is gone and saved no end: a crash, a kill
  stoppedByInterrupt  it was told to stop, by Ctrl+C or a signal, and saved

--json prints JSON lines: one job a line, or one event a line in the form that
perstack run prints, which repeats the conversation at each step: gigabytes for
a job of 1,000 steps. --records is the compact form: the records of the journal
as they are stored. Both print everything unless --take is given, and no line at all when
there is nothing. Exit codes: 0, also when there is nothing to show; 1 for a
damaged journal; 2 for a job, run or checkpoint that does not exist.`,
		Example: `  perstack log                            list jobs
  perstack log <job>                      explain a job
  perstack log --latest --errors          what went wrong in the newest job
  perstack log <job> --step 3-5 --verbose with arguments and whole texts
  perstack log <job> --tree               its runs: delegation and branches
  perstack log <job> --run <run>          what one run did
  perstack log <job> --checkpoint <id> --messages
  perstack log <job> --verify             is the journal what was written?
  perstack log <job> --json | jq .type`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 1 {
				return host.Usagef("log explains one job at a time, but got %d; perstack log lists them", len(args))
			}
			return nil
		},
		ValidArgsFunction: opts.complete,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := opts.parse(cmd.Flags().Changed, args); err != nil {
				return err
			}
			return runF(cmd.Context(), opts)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&opts.Storage, "storage", "", "directory of the history (default: PERSTACK_STORAGE_PATH, else ./perstack)")
	flags.StringVar(&opts.Job, "job", "", "the job; the same as the argument")
	flags.BoolVar(&opts.Latest, "latest", false, "explain the newest job")
	flags.StringVar(&opts.Run, "run", "", "only events of this run; without a job, it is looked for in all")
	flags.StringVar(&opts.Checkpoint, "checkpoint", "", "show this checkpoint; without a job, it is looked for in all")
	flags.BoolVar(&opts.Messages, "messages", false, "with --checkpoint: list its messages")
	flags.Var(&opts.Filter.Steps, "step", "only these steps: N, >N, >=N, <N, <=N or A-B")
	flags.StringArrayVar(&opts.Filter.Types, "type", nil, "only events of this type; may be repeated")
	flags.BoolVar(&opts.Filter.Errors, "errors", false, "only errors, retries, failed tool calls and limits that ended a run")
	flags.BoolVar(&opts.Filter.Tools, "tools", false, "only tool calls and their results; also what the provider ran itself")
	flags.BoolVar(&opts.Filter.Delegations, "delegations", false, "only delegations")
	flags.IntVar(&opts.Take, "take", defaultTake, "how many of the newest events or jobs; 0 means all")
	flags.IntVar(&opts.Offset, "offset", 0, "how many of the newest events or jobs to skip")
	flags.BoolVar(&opts.Verbose, "verbose", false, "show arguments of tools and whole texts")
	flags.BoolVar(&opts.Summary, "summary", false, "add a summary of the whole job")
	flags.BoolVar(&opts.JSON, "json", false, "print JSON lines, each event with all its data; see --records")
	flags.BoolVar(&opts.Records, "records", false, "print the records of the journal: JSON lines, and compact")
	flags.BoolVar(&opts.Tree, "tree", false, "draw the runs: who delegated to whom, and which branched off where")
	flags.BoolVar(&opts.Verify, "verify", false, "check that the journal is what was written")
	if err := cmd.RegisterFlagCompletionFunc("type", completeType); err != nil {
		panic(err) // only for a flag that is not there
	}
	if err := cmd.RegisterFlagCompletionFunc("run", opts.completeRun); err != nil {
		panic(err) // as above
	}
	if err := cmd.RegisterFlagCompletionFunc("checkpoint", opts.completeCheckpoint); err != nil {
		panic(err) // as above
	}
	return cmd
}

const defaultTake = 100

func run(ctx context.Context, opts *Options) error {
	err := show(ctx, opts, opts.Store(opts.Host.StoragePath(opts.Storage)))
	if errors.Is(err, syscall.EPIPE) {
		return host.Exit(host.ExitFailure) // a pager that was left has nothing to complain about
	}
	return err
}

func show(ctx context.Context, opts *Options, s store.Store) error {
	if opts.mode() == listJobs {
		return list(ctx, opts, s)
	}
	jobID, err := opts.find(ctx, s)
	if err != nil {
		return err
	}
	if jobID == "" {
		return opts.nothing()
	}
	switch opts.mode() {
	case verifyJournal:
		err = verify(ctx, opts, s, jobID)
	case showCheckpoint:
		err = checkpoint(ctx, opts, s, jobID)
	case showTree:
		err = drawTree(ctx, opts, s, jobID)
	case printRecords:
		err = records(ctx, opts, s, jobID)
	default:
		err = explain(ctx, opts, s, jobID)
	}
	return opts.unknownJob(jobID, err)
}
