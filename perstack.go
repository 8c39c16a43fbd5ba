// Package perstack runs Experts inside other programs: the same engine, tools and journal
// as the perstack command, without the command line.
//
// A [job.Spec] says what to run. [Load] makes one from a perstack.toml; a program can also
// write it by hand. [Run] runs it and yields what happens:
//
//	spec, err := perstack.Load("perstack.toml", "writer", "Summarise notes.txt")
//	if err != nil {
//		return err
//	}
//	for e, err := range perstack.Run(ctx, spec, perstack.Parts{}) {
//		if err != nil {
//			return err
//		}
//		if done, ok := e.Body.(event.CompleteRun); ok {
//			fmt.Println(*done.Text)
//		}
//	}
//
// [Answer] is for programs that only want the answer. [Parts] hold what cannot be written
// down: a store, a model of the program's own, tools that are Go functions, secrets.
//
// [Attach] adds files to the query. The Spec names each by its digest, and Parts have the bytes. A model
// that cannot see one refuses the job before anything is recorded.
//
// To continue a job, set its id and [job.Input].Continue. Limits and isolation are then the
// stricter of the Spec and the recorded job, unless Relax is set too.
//
// A program whose Experts run commands, or have skills that are started as processes,
// calls [Init] first in main. So does a program whose jobs run in containers.
//
// With [job.Docker] as the runtime of the Spec, the job runs in a container. The program in
// the container is the embedding program itself, if it runs on Linux and is static
// (CGO_ENABLED=0): it is copied into an image, and started there Init does the work. Users
// of the Docker daemon can read that image, so the program must have no secrets compiled in.
// Otherwise a static perstack for Linux, of the same version, is needed. Set
// PERSTACK_LINUX_BINARY in the environment, or in Parts.Environ, to its path, or put it
// beside the program as perstack-linux-amd64 (or -arm64). A model, skills or an approver in
// Parts cannot be used in a container.
package perstack

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"

	"github.com/perstack-go/perstack/engine"
	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/internal/lockfile"
	"github.com/perstack-go/perstack/internal/restore"
	"github.com/perstack-go/perstack/internal/runtimes"
	"github.com/perstack-go/perstack/internal/runtimes/docker"
	"github.com/perstack-go/perstack/internal/runtimes/docker/inside"
	"github.com/perstack-go/perstack/internal/runtimes/local"
	"github.com/perstack-go/perstack/internal/sandbox"
	"github.com/perstack-go/perstack/job"
	"github.com/perstack-go/perstack/rawjson"
)

// Parts are what a job runs with and what cannot be written down. All have a default.
type Parts = engine.Parts

// The types in the fields of [Parts] and in the errors of [Run].
type (
	// A Result says how a job was left.
	Result = engine.Result
	// An Approver answers what the coordinator asks while a job runs.
	Approver = engine.Approver
	// A Variable is the value of an environment variable.
	Variable = engine.Variable
	// A JobError says why a job cannot be started or continued as the Spec asks.
	JobError = engine.JobError
	// A WaitingError says that a job cannot resume before a question is answered.
	WaitingError = engine.WaitingError
	// A LimitError says that a limit is reached.
	LimitError = engine.LimitError
)

// ErrNoAnswer is returned by an [Approver] that has no answer now.
var ErrNoAnswer = engine.ErrNoAnswer

// Init makes the program able to run commands, the servers of skills, and jobs in
// containers. Call it at the top of main (and of TestMain), before flags are read and
// anything is started. Commands and servers are supervised by a second process of the same
// program, and a container runs the same program: these processes do their work inside this
// call and never return from it. In all other processes Init only notes that it was called;
// without it, every command, every such skill and every job in a container fails with an
// error that says so.
//
// The supervisor ends commands and servers when the program ends, however it does.
func Init() {
	sandbox.Init()
	inside.Init(Run, discover)
}

// discover lists the tools of skills in a container, for its host.
func discover(ctx context.Context, spec job.Spec, parts Parts, note func(key, skill, line string), found func(key, skill string, tools []rawjson.Value, err error)) error {
	return local.Discover(ctx, spec, parts, note, func(key string, entry *lockfile.Skill, name string, err error) {
		var tools []rawjson.Value
		if entry != nil {
			for _, t := range entry.Tools {
				tools = append(tools, t.Definition)
			}
		}
		found(key, name, tools, err)
	})
}

// Run runs a job and yields its events, each after it was recorded. How the job ended is
// told by its last events; an error means that it could not start, or that its end could
// not be recorded. Breaking out of the loop stops the job and saves it.
func Run(ctx context.Context, spec job.Spec, parts Parts) iter.Seq2[event.Event, error] {
	return func(yield func(event.Event, error) bool) {
		stopped := false
		parts.Emit = func(e event.Event) error {
			if !yield(e, nil) {
				stopped = true
				return errors.New("the program that embeds perstack stopped listening")
			}
			return nil
		}
		result, err := run(ctx, spec, parts)
		if err == nil && parts.Done != nil {
			parts.Done(result)
		}
		if err != nil && !stopped {
			yield(event.Event{}, err)
		}
	}
}

// run completes Spec and parts, and hands them to a runtime.
func run(ctx context.Context, spec job.Spec, parts Parts) (Result, error) {
	spec, parts, err := complete(ctx, spec, parts)
	if err != nil {
		return Result{}, inputError(err)
	}
	runtimes.HideSecrets(parts.Secrets, spec, func(name string) string { return parts.Variables(name).Value })
	switch {
	case spec.Runtime == job.Docker && parts.Container == nil:
		return inWorkspace(ctx, spec, parts, docker.Run)
	case spec.Runtime != job.Local && spec.Runtime != job.Docker: // in its container, a job runs locally
		return Result{}, inputError(fmt.Errorf("no runtime is called %q", spec.Runtime))
	}
	if parts.Model == nil {
		if parts.Model, err = runtimes.OpenModel(spec, parts, nil); err != nil {
			return Result{}, inputError(err)
		}
	}
	if err := runtimes.CheckAttachments(spec, parts.Attachments, parts.Model); err != nil {
		return Result{}, inputError(err)
	}
	if parts.Container != nil { // its host has the lock
		return local.Run(ctx, spec, parts)
	}
	return inWorkspace(ctx, spec, parts, local.Run)
}

// inWorkspace runs a job in its workspace, in which no files are restored meanwhile.
func inWorkspace(ctx context.Context, spec job.Spec, parts Parts, run func(context.Context, job.Spec, Parts) (Result, error)) (Result, error) {
	if err := engine.CheckExists(ctx, spec, parts.Store); err != nil { // before the lock is made
		return Result{}, err
	}
	lock, err := restore.Enter(ctx, parts.StateDir, spec.Workspace.Dir)
	if err != nil {
		return Result{}, inputError(err)
	}
	defer leave(ctx, lock, spec, parts)
	return run(ctx, spec, parts)
}

// leave releases the workspace of a job that has ended, and removes stored files if there are too
// many. A failure has no meaning for the job.
func leave(ctx context.Context, lock *restore.Lock, spec job.Spec, parts Parts) {
	err := lock.Close()
	if most := cmp.Or(spec.Snapshots.MaxStoreBytes, job.DefaultSnapshots().MaxStoreBytes); parts.SnapshotDir != "" && spec.Snapshots.Mode != job.SnapshotsOff {
		err = errors.Join(err, restore.Limit(context.WithoutCancel(ctx), parts.Store, parts.SnapshotDir, most, parts.Source.Now()))
	}
	if err != nil {
		parts.Log.Warn("stored files of the workspace could not be tidied up", "error", err)
	}
}

// inputError gives an error the kind of a wrong request, unless it has a kind.
func inputError(err error) error {
	if _, ok := errors.AsType[*engine.Error](err); ok {
		return err
	}
	return &engine.Error{Kind: engine.KindInput, Err: err}
}

// Answer runs a job to its end and returns the answer. A job that did not complete is a
// [*StoppedError].
func Answer(ctx context.Context, spec job.Spec, parts Parts) (string, error) {
	var result Result
	told := parts.Done
	parts.Done = func(r Result) {
		result = r
		if told != nil {
			told(r)
		}
	}
	for _, err := range Run(ctx, spec, parts) {
		if err != nil {
			return "", err
		}
	}
	if result.Status != event.StatusCompleted {
		return "", &StoppedError{Result: result}
	}
	return result.Text, nil
}

// A StoppedError says that a job ended without an answer. It can be continued.
type StoppedError struct {
	Result Result
}

// Unwrap returns the error of the [Approver], if that stopped the job.
func (e *StoppedError) Unwrap() error { return e.Result.Err }

func (e *StoppedError) Error() string {
	r := e.Result
	switch {
	case r.Failure != nil:
		return fmt.Sprintf("job %s was stopped: %s: %s", r.JobID, r.Failure.Title(), r.Failure.Message)
	case r.Limit != nil:
		return fmt.Sprintf("job %s was stopped: %v", r.JobID, r.Limit)
	case len(r.Pending) > 0:
		return fmt.Sprintf("job %s waits for an answer to %s", r.JobID, r.Pending[0].ToolName)
	case r.Reason != "":
		return fmt.Sprintf("job %s was stopped: %s", r.JobID, r.Reason)
	}
	return fmt.Sprintf("job %s was stopped (%s)", r.JobID, r.Status)
}
