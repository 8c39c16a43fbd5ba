package base

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/perstack-go/perstack/internal/sandbox"
	"github.com/perstack-go/perstack/internal/wording"
	"github.com/perstack-go/perstack/skill"
)

type execArgs struct {
	Command string            `json:"command" minLength:"1" jsonschema:"program to run"`
	Args    []string          `json:"args,omitzero" jsonschema:"its arguments, passed as they are"`
	Env     map[string]string `json:"env,omitzero" jsonschema:"variables to add to its environment"`
	Cwd     *string           `json:"cwd,omitzero" jsonschema:"directory inside the workspace to start in; its root if left out"`
	Stdout  *bool             `json:"stdout,omitzero" jsonschema:"whether to return standard output; true if left out"`
	Stderr  *bool             `json:"stderr,omitzero" jsonschema:"whether to return standard error; true if left out"`
	Timeout *int64            `json:"timeout,omitzero" minimum:"0" jsonschema:"milliseconds; 60000 if left out, 0 for none"`
}

const defaultTimeout = 60_000 // ms

// A second run can do anything. The supervisor of commands must not start on a restricted thread.
var _ = tools.add(define("exec", (*Skill).exec, restrictsItself))

func (s *Skill) exec(ctx context.Context, args execArgs) answer {
	cwd, timeout := valueOr(args.Cwd, "."), valueOr(args.Timeout, defaultTimeout)
	start, err := s.startIn(ctx, cwd)
	if err != nil {
		return refuseError(err)
	}
	defer start.Close()
	reach := s.opts.Sandbox
	if s.opts.Policy != nil {
		if reach, err = s.opts.Policy(ctx); err != nil {
			return refuse(codeIO, err.Error())
		}
	}
	env, overruled := s.requested(args.Env)
	// Progress goes by the real clock: it is shown and not recorded.
	notes := &progress{now: time.Now, report: func(note string) { skill.Report(ctx, note) }}
	command := sandbox.Command{
		Program: args.Command,
		Args:    args.Args,
		Dir:     start.Path,
		OpenDir: start.File,
		Environ: s.opts.Environ,
		Env:     env,
		Set:     s.opts.Set,
		Policy:  reach,
		Accept:  s.opts.Accept,
		Timeout: timeLimit(timeout),
		Clock:   s.opts.Clock,
		Watch:   notes.write,
		Now:     s.opts.Now,
	}
	argv := append([]string{args.Command}, args.Args...)
	ended := s.opts.Track(args.Command)
	outcome, err := s.opts.Commands.Run(ctx, command)
	refused := ended()
	if err != nil {
		if hint := s.explainStart(ctx, reach, argv, err); hint != "" {
			return refuse("command_not_found", fmt.Sprintf("command %q cannot be run: %s", wording.Cut(args.Command, 200), hint))
		}
		return s.refuseStart(args.Command, err, s.fileExists(ctx, cwd, args.Command))
	}
	outcome.DroppedEnv = append(outcome.DroppedEnv, overruled...)
	slices.Sort(outcome.DroppedEnv)
	printed := outcome.Stderr.String()
	outcome.Stdout, outcome.Stderr = s.redactOutput(outcome.Stdout), s.redactOutput(outcome.Stderr)
	var hints []string
	if !succeeded(outcome) && !outcome.Cancelled {
		hints = s.explain(ctx, reach, argv, withoutSecrets(printed, outcome.Stderr.String()), refused)
	}
	return describe(ctx, outcome, timeout, valueOr(args.Stdout, true), valueOr(args.Stderr, true), hints)
}

// requested returns the variables that a call can add, and the names of those that it cannot
// change: otherwise a command could use the proxy of another skill.
func (s *Skill) requested(env map[string]string) (rest map[string]string, overruled []string) {
	rest = maps.Clone(env)
	for name := range env {
		if _, decided := s.opts.Set[name]; decided {
			delete(rest, name)
			overruled = append(overruled, name)
		}
	}
	return rest, overruled
}

// timeLimit turns milliseconds into a duration; 0 means none.
func timeLimit(ms int64) time.Duration {
	return time.Duration(min(ms, math.MaxInt64/int64(time.Millisecond))) * time.Millisecond
}

// An execSuccess is the answer for exit code 0.
type execSuccess struct {
	Output     string   `json:"output"`
	ExitCode   int      `json:"exitCode"`
	DurationMs int64    `json:"durationMs"`
	DroppedEnv []string `json:"droppedEnv,omitempty"`
}

// An execFailure is the answer for everything else.
type execFailure struct {
	Error      string   `json:"error"`
	Code       string   `json:"code"`
	ExitCode   *int     `json:"exitCode,omitzero"`
	Signal     string   `json:"signal,omitzero"`
	TimedOut   bool     `json:"timedOut,omitzero"`
	DurationMs int64    `json:"durationMs"`
	Hints      []string `json:"hints,omitempty"` // what the sandbox probably kept it from
	Stdout     string   `json:"stdout,omitzero"`
	Stderr     string   `json:"stderr,omitzero"`
	DroppedEnv []string `json:"droppedEnv,omitempty"`
}

func succeeded(o sandbox.Outcome) bool {
	return o.ExitCode == 0 && !o.TimedOut && !o.Cancelled && o.Exceeded == ""
}

const noOutput = "(the command succeeded and there is no output to show)"

func describe(ctx context.Context, o sandbox.Outcome, timeout int64, stdout, stderr bool, hints []string) answer {
	var out, errs string
	if stdout {
		out = clean(o.Stdout.String())
	}
	if stderr {
		errs = clean(o.Stderr.String())
	}
	dropped := clipNames(o.DroppedEnv)
	if succeeded(o) {
		return answer{body: execSuccess{join(out, errs), 0, o.DurationMs, dropped}}
	}
	f := execFailure{
		Signal: o.Signal, TimedOut: o.TimedOut, DurationMs: o.DurationMs,
		Hints: hints, Stdout: out, Stderr: errs, DroppedEnv: dropped,
	}
	if o.Signal == "" && o.ExitCode >= 0 {
		f.ExitCode = &o.ExitCode
	}
	switch {
	case o.TimedOut:
		f.Code, f.Error = "timeout", fmt.Sprintf("command timed out after %dms and was killed with all it started", timeout)
	case o.Cancelled:
		f.Code, f.Error = codeInterrupted, stopped(ctx)
	case o.Exceeded != "":
		f.Code, f.Error = "limit", "command was killed with all it started: "+o.Exceeded
	case o.Signal != "":
		f.Code, f.Error = "signal", "command was ended by "+o.Signal
	default:
		f.Code, f.Error = "exit_code", fmt.Sprintf("command failed with exit code %d", o.ExitCode)
	}
	return answer{body: f, failed: true}
}

// join puts standard error behind standard output, on a line of its own.
func join(out, errs string) string {
	if out != "" && errs != "" && !strings.HasSuffix(out, "\n") {
		out += "\n"
	}
	if strings.TrimSpace(out+errs) == "" {
		return noOutput
	}
	return out + errs
}

// stopped says why a command was stopped. The model must know of a limit, or it would run the
// same command again.
func stopped(ctx context.Context) string {
	switch cause := context.Cause(ctx); {
	case cause == nil, errors.Is(cause, context.Canceled), errors.Is(cause, context.DeadlineExceeded):
		return "command was stopped because the run was interrupted"
	default:
		return clean("command was stopped: " + wording.Cut(cause.Error(), 500))
	}
}

// clipNames limits the names that are repeated to the model.
func clipNames(names []string) []string {
	const most = 50
	var shown []string
	for _, n := range names[:min(len(names), most)] {
		shown = append(shown, clean(wording.Cut(n, 100)))
	}
	return shown
}
