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
	"log/slog"
	"sync"

	"github.com/spf13/cobra"

	"github.com/perstack-go/perstack"
	"github.com/perstack-go/perstack/engine"
	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/internal/cli/complete"
	"github.com/perstack-go/perstack/internal/cli/host"
	"github.com/perstack-go/perstack/internal/restore"
	"github.com/perstack-go/perstack/internal/runtimes/local"
	"github.com/perstack-go/perstack/job"
	"github.com/perstack-go/perstack/store/file"
)

// Options are the settings of the command.
type Options struct {
	Host *host.Host

	Expert    string
	Query     string
	HasQuery  bool // an argument was given, if only "" or "-"
	QueryFile string
	Attach    []string // paths of files that go with the query

	Config    string
	EnvPath   []string
	Workspace string
	Storage   string

	// Flags are the settings that flags give.
	Flags         job.Flags
	MoveWorkspace bool // the job can continue in another directory

	JobID       string
	RunID       string // of the coordinator's Run
	Temperature string // refused
	Continue    bool
	ContinueJob string
	ResumeFrom  string
	// RestoreFiles brings the files back to the checkpoint, too.
	RestoreFiles bool
	IsAnswer     bool

	TrustHistory bool // the job can continue although its history is not sealed

	Output  string // json, text or progress; empty chooses by the terminal
	Events  string // full or lean
	Verbose bool

	// View takes the place of standard output and of questions on the terminal; nil for none.
	View *View

	asJSON    bool               // the flag --json
	reasoning string             // the flag --reasoning-budget
	sandboxes func() local.Offer // that this machine offers; nil asks the kernel
}

// A View is a program that shows a job and asks its user, such as internal/tui.
type View struct {
	Show func(event.Event)
	Ask  engine.Approver
}

// New returns the command. runF, if set, is called instead of [Run].
func New(h *host.Host, runF func(context.Context, *Options) error) *cobra.Command {
	opts := &Options{Host: h}
	cmd := &cobra.Command{
		Use:   "run [expert] [query]",
		Short: "Run an Expert",
		Long: `Run an Expert of perstack.toml, or a published one, such as @acme/researcher.

A published Expert needs no perstack.toml. It is verified, shown before it runs, and
pinned: the next run uses the same version, without a request. docs/registry.md says
more. A simple name always means an Expert of perstack.toml.

The query is the second argument. "-" reads it from standard input, and --query-file
from a file. Without a query, a terminal asks you for it, and a pipe is read to its
end, unless a job is continued. The Expert can be left out if perstack.toml has one
only; on a terminal, you choose among several. --attach sends files along.

A question of the Expert is asked on the terminal, and the run continues with your
answer. With --no-input, or without a terminal, nothing is asked: the run ends with
exit code 4, and prints how to answer.

On a terminal, a line is printed for each thing that the Expert has done. Below these
are a few live lines: the model's text as it arrives, what is running, and a status
line with time, steps, tokens and cost. docs/run.md explains them. --verbose adds rows
and keeps the text of thoughts. In a pipe, every event is one line of JSON.

Without perstack.lock, skills are started before the first step. With the file that
perstack install writes, a skill is started when it is first used, and the run fails
if its tools have changed.

With --runtime docker, the Expert runs in a container. It can use the workspace and
the data of its skills, and nothing else of this machine. Connections go through a
proxy, which allows the provider and the hosts in allowedDomains, and reports every
attempt. The history stays outside. --env passes variables to commands; [docker] in
perstack.toml has more settings. Each skill has its own sandbox in the container;
--shared-sandbox turns that off, for kernels that do not support it. --proxy squid
uses Squid as the proxy, from an image that perstack.toml names.

With --runtime local, there is no container, but each skill and the commands run in a
sandbox, at the best level of the machine. A sandbox can use the workspace, the
programs of the system and its own directories, and reaches its allowedDomains
through a proxy. --sandbox-read and --sandbox-write open other paths, --allow-domain
another host for commands. --sandbox=landlock and --sandbox=full ask for a level at
least, and off turns sandboxes off. docs/sandbox.md says what they do not prevent.

Some tool calls are asked about: those for which a rule says so, and those that
would leave the sandbox. --allow-all allows them all, for this run. Rules that deny
still hold. docs/approvals.md has rules and presets.

With --plan, the job only reads: no file of the workspace can be changed, and commands
and skills reach no host, until the Expert has proposed a plan and you have accepted it.

If the project asks for more than the defaults, such as a variable for a skill or
another address of the model, you see the list and are asked, once for each list.
Without a terminal, --yes allows it; what it does not cover needs its own flag, such
as --env-path. docs/config.md says how to allow requests for good. If a job changed
perstack.toml, perstack.lock or an env file, a later run asks before it uses the
file; perstack trust accepts it.

A run is recorded outside of the project and can be continued: with a new query,
with the answer to a question, from an earlier checkpoint of any of its Experts, or
where it was interrupted. With --resume-from alone, files stay as they are; with
--restore-files, they become what they were at the checkpoint, and nothing starts if
that could lose a change of yours (docs/rewind.md). Every record is sealed with your key. A job whose seal is
missing or wrong may have been written by another program, and is continued only
with --trust-history: what it says about earlier calls and answers is then believed.
A continued job keeps its provider and model, unless a flag or perstack.toml names
others. It keeps its limits and isolation: the stricter of perstack.toml and the
recorded job applies, and only a flag relaxes it. It stays in its workspace, unless
--workspace and --move-workspace name another.

Limits apply to the whole job, including everything that its Experts delegate.
Steps, tool calls, tokens and cost count from the start of the job, even if it was
continued since. The duration counts for each run. perstack.toml can also set limits,
for the job and for single Experts; a flag replaces a limit of the job. A limit on
the cost needs the price of the model. Prices of common models are known, and
[prices] in perstack.toml sets others.

Exit codes: 0 completed, 1 failed, 2 wrong usage, 3 limit reached, 4 waiting for an
answer, 129, 130 and 143 stopped by a signal. The first signal saves the state and
stops. A second one quits immediately and keeps what is already in the journal.

What the run creates or changes of perstack.toml, perstack.lock and env files is not
read by later runs until you accept it with perstack trust (docs/trust.md).`,
		Example: `  perstack run writer "Summarise notes.txt"
  perstack run @acme/researcher "Find three sources"
  perstack run writer --query-file task.md --output text
  perstack run writer "Shorter, please" --continue
  perstack run planner "Tuesday" --continue -i
  perstack run writer "Another way" --continue-job JOB --resume-from CHECKPOINT
  perstack run writer "Another way" --resume-from CHECKPOINT --restore-files
  perstack run lead "Ship it" --max-cost 0.50 --max-duration 30m
  perstack run coder "Fix the tests" --runtime docker --base-image golang:1.26
  perstack run coder "Fix the tests" --sandbox=auto
  perstack run coder "Fix the tests" --sandbox=auto --sandbox-read ~/datasets --allow-domain registry.example.com
  perstack run clerk "File the mail" --runtime docker --offline
  perstack run --continue-job JOB            resume after an interruption
  perstack run writer "Try it" --provider replay --cassette answers.toml`,
		Args: host.AtMost(2, func(args []string) error {
			return host.Usagef("too many arguments: expected an Expert and a query, got %d; put the query in quotes", len(args))
		}),
		ValidArgsFunction: complete.Expert(h, &opts.Config),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				opts.Expert = args[0]
			}
			if len(args) > 1 {
				opts.Query, opts.HasQuery = args[1], true
			}
			if err := opts.ReadSettings(cmd); err != nil {
				return err
			}
			if opts.asJSON {
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
	opts.AddSettings(cmd)
	flags := cmd.Flags()
	flags.StringVar(&opts.QueryFile, "query-file", "", "read the query from this file")
	flags.StringArrayVar(&opts.Attach, "attach", nil, "send this image, PDF or text file with the query; can be repeated")
	flags.BoolVar(&h.NoInput, "no-input", false, "ask nothing, even on a terminal")
	flags.StringVar(&opts.JobID, "job-id", "", "id of the new job (default: generated)")
	flags.StringVar(&opts.RunID, "run-id", "", "id of the run that this starts (default: generated)")
	flags.StringVar(&opts.Temperature, "temperature", "", "refused: use extraBody in perstack.toml")
	if err := flags.MarkHidden("temperature"); err != nil {
		panic(err) // the flag is defined above
	}
	opts.AddJob(cmd)
	flags.StringVar(&opts.ResumeFrom, "resume-from", "", "continue from this checkpoint, as a new branch")
	flags.BoolVar(&opts.RestoreFiles, "restore-files", false, "bring the files of the workspace back to the checkpoint of --resume-from, too")
	flags.BoolVarP(&opts.IsAnswer, "interactive-tool-call-result", "i", false, "the query is the answer to the question that the job asked")
	flags.StringVar(&opts.Output, "output", "", "json (events), text (the final answer only) or progress (default: progress on a terminal, else json)")
	flags.BoolVar(&opts.asJSON, "json", false, "print events as JSON lines, even on a terminal")
	flags.StringVar(&opts.Events, "events", eventsFull, "form of the JSON events: full, or lean (the records of the journal)")
	opts.completeOwn(cmd)
	return cmd
}

// Run runs the Expert to its end. The error carries the exit code.
func Run(ctx context.Context, opts *Options) (err error) {
	if err := opts.check(); err != nil {
		return err
	}
	if err := opts.Host.FetchConfig(ctx, &opts.Config); err != nil {
		return err
	}
	project, err := loadProject(ctx, opts)
	if err != nil {
		return err
	}
	if opts.Expert == "" && !opts.continues() {
		if opts.Expert, err = opts.chooseExpert(ctx, project.config); err != nil {
			return err
		}
	}
	history := opts.store(project.history)
	// A restore that was interrupted is finished before its journal is read.
	finished, err := restore.Finish(ctx, opts.Host.StatePath(), opts.workspace())
	if err != nil {
		return host.ExplainRestore(err)
	}
	opts.Host.TellFinished(finished)
	target, err := findTarget(ctx, opts, history)
	if err != nil {
		return err
	}
	sealer, err := project.history.Sealer()
	if err != nil {
		return err
	}
	if err := opts.checkSeal(ctx, target, history, sealer); err != nil {
		return err
	}
	if err := project.fetch(ctx, opts, target); err != nil {
		return err
	}
	if err := project.readEnv(ctx, opts, target); err != nil {
		return err
	}
	plan, err := makeSpec(ctx, opts, project, target)
	if err != nil {
		return err
	}
	spec := plan.spec
	attached, err := plan.attach(ctx)
	if err != nil {
		return err
	}
	if spec.Input, err = opts.input(ctx, target, project.history); err != nil {
		return err
	}
	spec.Input.Attachments = attached.infos
	if err := project.history.RecordStorage(); err != nil {
		return err
	}
	if spec.Input.Note, err = plan.goBack(ctx, history); err != nil {
		return err
	}
	end, err := plan.protect(ctx)
	if err != nil {
		return err
	}
	defer func() { err = end(err) }()
	stored, err := opts.Host.Grants(project.config.Dir, opts.workspace())
	if err != nil {
		return err
	}
	stdout := opts.Host.Stdout
	approver := opts.approver(stored)
	out := newOutput(ctx, plan, stdout)
	defer out.close()
	if spec.Runtime != job.Docker {
		opts.Host.Saves() // a container has nothing to save until it is up
	}
	running, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	if sealer == nil {
		plan.say("the home directory is not known, so there is no key: the records of this job are not sealed")
	}
	hosts, err := opts.Host.PackageHosts(project.config.Dir, opts.workspace())
	if err != nil {
		return err
	}
	var result engine.Result
	parts := perstack.Parts{
		Store:     history,
		Seal:      sealer,
		History:   target.history,
		Variables: project.variable,
		Secrets:   &opts.Host.Secrets,
		Environ:   opts.Host.Environ,
		Dir:       opts.Host.Dir,
		CacheDir:  opts.Host.CachePath(),
		DataDir:   project.history.Project.Skills(),
		StateDir:  opts.Host.StatePath(),

		SnapshotDir: project.history.Files(),

		ToolCacheDir: project.history.Project.Caches(),
		Log:          opts.logger(),
		Source:       opts.Host.Source,
		Lean:         !out.full(),
		Record:       out.recordFunc(),
		Done:         func(r engine.Result) { result = r },
		Approver:     out.asking(approver),
		Attachments:  attached.data,
		Granted:      stored.Granted,
		GrantedPaths: stored.GrantedPaths,

		PackageHosts: hosts,
		Inbox:        &engine.Inbox{},
	}
	listen := out.answers(project.history, parts.Inbox)
	defer listen.close()
	begin := sync.OnceFunc(func() { opts.begin(project.history) })
	for e, err := range perstack.Run(running, spec, parts) {
		if err != nil {
			return out.explain(ctx, err)
		}
		begin()
		listen.on(e)
		if running.Err() != nil && out.to.err != nil {
			continue // the job is being saved
		}
		if err := out.show(e); err != nil {
			stop(outputClosed(err))
		}
	}
	out.tellChanged(ctx, history, result)
	return out.end(ctx, result)
}

// Resume resumes a job as perstack run --continue-job does.
func Resume(ctx context.Context, h *host.Host, jobID, config, storage string) error {
	cmd := New(h, nil)
	args := []string{"--continue-job", jobID}
	for flag, value := range map[string]string{"--config": config, "--storage": storage} {
		if value != "" {
			args = append(args, flag, value)
		}
	}
	cmd.SetArgs(args)
	cmd.SilenceErrors, cmd.SilenceUsage = true, true
	return cmd.ExecuteContext(ctx)
}

// workspace is the directory that the file tools work in.
func (o *Options) workspace() string { return o.Host.Path(cmp.Or(o.Workspace, ".")) }

// store is where jobs are recorded.
func (o *Options) store(history host.History) *file.Store {
	return file.New(history.Dir, &file.Options{Logger: o.logger(), AllowLink: history.Chosen})
}

// begin notes whose history has its first job, and tells the user once of one that is not
// used. The job is recorded already, so a failure does not stop it.
func (o *Options) begin(history host.History) {
	err := history.Begin()
	if err == nil {
		err = o.Host.TellOldHistory(history, o.workspace())
	}
	if err != nil {
		o.logger().Warn("perstack log --all will not list this project", "error", err)
	}
}

// logger writes warnings to standard error, and everything with --verbose.
func (o *Options) logger() *slog.Logger { return o.Host.Logger(o.Verbose) }
