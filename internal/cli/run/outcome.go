package run

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/perstack-go/perstack/engine"
	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/internal/cli/host"
	"github.com/perstack-go/perstack/internal/process"
	"github.com/perstack-go/perstack/internal/providers"
	"github.com/perstack-go/perstack/internal/runtimes/docker"
	"github.com/perstack-go/perstack/internal/skills"
	"github.com/perstack-go/perstack/internal/skills/mcp"
	"github.com/perstack-go/perstack/internal/terminal"
	"github.com/perstack-go/perstack/model"
	"github.com/perstack-go/perstack/store"
)

// end shows the final answer if only that was asked for, and says how the run ended: by
// exit code, and in words on standard error when it did not complete.
func (o *output) end(ctx context.Context, r engine.Result) error {
	h := o.opts.Host
	again := o.opts.Again(r.JobID)
	switch r.Status {
	case event.StatusCompleted:
		if o.mode == outputText {
			fmt.Fprintln(o.to, h.Secrets.Redact(terminal.Clean(r.Text))) // its error is the writer's, below
		}
		if err := o.to.err; err != nil {
			return fmt.Errorf("the run is complete, but its output could not be written: %w; see: %s log %s", err, h.Command, r.JobID)
		}
		return nil
	case event.StatusStoppedByInteractiveTool:
		return &host.ExitError{Code: host.ExitWaiting, Err: fmt.Errorf("waiting for your answer to %s; give it with: %s",
			question(r.Pending), o.opts.answerHint(r.JobID, o.expert.Key, ""))}
	case event.StatusStoppedByApproval:
		return &host.ExitError{Code: host.ExitWaiting, Err: errors.New(o.waits(r))}
	case event.StatusStoppedByExceededMaxSteps, event.StatusStoppedByLimit:
		return &host.ExitError{Code: host.ExitLimit, Err: o.limited(r)}
	case event.StatusStoppedByInterrupt:
		return &host.ExitError{Code: interruptCode(ctx), Err: fmt.Errorf("stopped (%s), everything is saved; resume with: %s", r.Reason, again)}
	case event.StatusStoppedByError:
		if r.Failure.Name == engine.SkillFailure {
			// Each tool that has changed is on a line of its own; words of the server are
			// quoted there.
			text := strings.Replace(terminal.Clean(r.Failure.Message), mcp.AcceptAdvice, "to accept them, run: perstack install --update", 1)
			return fmt.Errorf("%s\nresume with: %s", o.withFlags(text), again)
		}
		message := o.withFlags(terminal.CleanLine(r.Failure.Message))
		if r.Failure.Message == model.OutOfTime {
			message += "; raise --timeout"
		}
		if r.Failure.Name != event.ProviderFailure { // the message says that already
			message = terminal.CleanLine(r.Failure.Name) + ": " + message
		}
		return fmt.Errorf("%s; resume with: %s", message, again)
	}
	return fmt.Errorf("the run ended in the unknown status %q; please report it", r.Status)
}

// withFlags gives the advice to install with the flags that it takes here, and calls a flag by
// its name.
func (o *output) withFlags(text string) string {
	if o.opts.Flags.Isolation.Container.Offline {
		text = strings.ReplaceAll(text, "[docker] offline", "--offline")
	}
	if o.plan.dockerOnly() {
		text = host.ForDocker(text)
	}
	return host.AddConfig(text, o.opts.Config)
}

// explain adds to an error of the engine what the user can do about it.
func (o *output) explain(ctx context.Context, err error) error {
	var waiting *engine.WaitingError
	var wrong *engine.JobError
	var lost *docker.LostError
	var unusable *docker.DaemonError
	var choice *providers.ChoiceError
	var stopped process.Signal
	switch {
	case !o.began && ctx.Err() != nil && errors.As(context.Cause(ctx), &stopped):
		kept := "nothing was recorded"
		if o.plan.target.history != nil {
			kept = "the job is as it was"
		}
		return &host.ExitError{Code: stopped.ExitCode(), Err: fmt.Errorf("stopped (%w) before the Expert began; %s", stopped, kept)}
	case errors.As(err, &lost):
		return fmt.Errorf("%w; everything up to there is saved, resume with: %s", err, o.opts.Again(lost.JobID))
	case errors.As(err, &unusable):
		return fmt.Errorf("%w; or use --runtime local, which runs without a container", err)
	case errors.As(err, &waiting):
		return host.Usagef("%w; give it with: %s", err, o.opts.answerHint(waiting.JobID, o.expert.Key, o.opts.ResumeFrom))
	case errors.As(err, &wrong):
		return o.opts.hint(err)
	case errors.As(err, new(*store.SealError)):
		return host.ExplainSeal(err)
	case errors.As(err, &choice) && takesFlag(err, choice):
		return fmt.Errorf("%w; set it with --%s", err, strings.Join(choice.Settings, " or --"))
	case errors.Is(err, fs.ErrPermission):
		return fmt.Errorf("%w; choose another directory with --storage", err)
	}
	err = dockerHint(installHint(err))
	text := host.Describe(err)
	if better := o.withFlags(text); better != text {
		return &host.ExitError{Code: host.ExitCode(err), Err: errors.New(better)}
	}
	return err
}

// installHint says how to fix a lockfile that does not match an Expert.
func installHint(err error) error {
	if errors.As(err, new(*skills.LockError)) {
		return fmt.Errorf("%w; run: perstack install", err)
	}
	return err
}

// takesFlag reports whether a flag can choose the settings that an error is about. What an
// Expert names for itself, only the file can change.
func takesFlag(err error, choice *providers.ChoiceError) bool {
	var of *providers.ExpertError
	return slices.Contains(choice.Settings, "runtime") || !errors.As(err, &of) || !of.Expert.NamesModel()
}

// dockerHint adds to an error of the Docker runtime which flag or command helps.
func dockerHint(err error) error {
	var unfit *docker.WorkspaceError
	var unpinned *docker.PinError
	switch {
	case errors.As(err, &unfit) && unfit.Link != "":
		return fmt.Errorf("%w; name what it leads to, with --config or --storage, or choose another --workspace", err)
	case errors.As(err, &unfit):
		return fmt.Errorf("%w; choose another directory with --workspace", err)
	case errors.As(err, &unpinned) && unpinned.Stale:
		return fmt.Errorf("%w; run: perstack install --runtime docker --update", err)
	case errors.As(err, &unpinned):
		return fmt.Errorf("%w; run: perstack install --runtime docker", err)
	}
	return err
}

// hint adds to what is wrong with a job which flag or command helps.
func (o *Options) hint(err error) error {
	var wrong *engine.JobError
	if !errors.As(err, &wrong) {
		return err
	}
	command, jobID := o.Host.Command, wrong.JobID
	switch wrong.Problem {
	case engine.JobNotFound:
		return host.Usagef("%w; %s log lists the jobs", err, command)
	case engine.JobExists:
		return host.Usagef("%w; continue it with --continue-job %s", err, jobID)
	case engine.JobCompleted:
		if o.saysNothing() {
			return host.Usagef("%w; %s log %s shows the answer", err, command, jobID)
		}
	case engine.NotWaiting:
		return host.Usagef("%w; leave out -i and the answer to resume it, or -i to continue it with a query", err)
	case engine.CheckpointNotFound:
		return host.Usagef("%w; %s log %s lists its checkpoints", err, command, jobID)
	case engine.JobImported:
		return host.Usagef("%w; %s log %s shows it, and a new job can be told about it", err, command, jobID)
	case engine.DelegateAnswered:
		return host.Usagef("%w; leave out -i", err)
	}
	return err
}

// interruptCode is that of the signal, or of a failure when the output was closed.
func interruptCode(ctx context.Context) int {
	if s, ok := errors.AsType[process.Signal](context.Cause(ctx)); ok {
		return s.ExitCode()
	}
	return host.ExitFailure
}

// question shows what the Expert wants to know.
func question(pending []event.ToolCall) string {
	var all []string
	for _, c := range pending {
		all = append(all, terminal.CleanLine(fmt.Sprintf("%s %s", c.ToolName, c.Args)))
	}
	return strings.Join(all, ", then ")
}
