package log

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"os"
	"syscall"
	"time"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/internal/cli/host"
	"github.com/perstack-go/perstack/internal/process"
	"github.com/perstack-go/perstack/internal/terminal"
	"github.com/perstack-go/perstack/store"
)

// lookEvery is how often the journal of a job that is followed is read.
const lookEvery = 100 * time.Millisecond

// records yields those of the journal. With --follow it waits for more until no process writes them.
// Before it waits, what was printed so far is written.
func (v *survey) records(ctx context.Context) iter.Seq2[store.Record, error] {
	if !v.follows() {
		return v.store.Read(ctx, v.jobID, 0)
	}
	follower, ok := v.store.(store.Follower)
	if !ok {
		return func(yield func(store.Record, error) bool) {
			yield(store.Record{}, host.Usagef("this history cannot be followed; leave out --follow"))
		}
	}
	return follower.Follow(ctx, v.jobID, func() error {
		if err := v.out.Flush(); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(lookEvery):
			return nil
		}
	})
}

// follows reports whether the job is read to its end. Nothing follows the damage of a journal.
func (v *survey) follows() bool { return v.opts.Follow && v.damage == nil }

// outcome is how the command ends after a job was followed to its end: as perstack run ended. What
// there is to say about it, the rows have said.
func (v *survey) outcome() error {
	if !v.follows() {
		return nil
	}
	switch event.JobStatus(v.status()) {
	case event.JobCompleted:
		return nil
	case event.JobStoppedByMaxSteps, event.JobStoppedByLimit:
		return host.Exit(host.ExitLimit)
	case event.JobStoppedByInteractiveTool, event.JobStoppedByApproval:
		return host.Exit(host.ExitWaiting)
	case event.JobStoppedByInterrupt:
		return host.Exit(v.signalCode())
	case event.JobInterrupted, event.JobRunning:
		return fmt.Errorf("the process of job %s ended without saving its state; resume the job with: %s %s",
			v.jobID, v.opts.command(), terminal.ShellJoin("run", "--continue-job", v.jobID))
	}
	return host.Exit(host.ExitFailure)
}

// signalCode is the exit code after the signal that stopped the job.
func (v *survey) signalCode() int {
	point, _ := v.history.Head()
	for _, s := range []os.Signal{os.Interrupt, syscall.SIGTERM, syscall.SIGHUP} {
		if stopped := (process.Signal{Signal: s}); stopped.Error() == point.State.StopReason {
			return stopped.ExitCode()
		}
	}
	return host.ExitFailure
}

// stopped turns the signal that ended the command into its exit code: the user does not want to
// see more of the job.
func stopped(ctx context.Context, err error) error {
	if s, ok := errors.AsType[process.Signal](context.Cause(ctx)); ok && err != nil {
		return host.Exit(s.ExitCode())
	}
	return err
}
