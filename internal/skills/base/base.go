// Package base is the skill that every Expert has: it says when the work is done,
// keeps a todo list, notes thoughts, reads and changes files and directories of the
// workspace, and runs commands.
//
// The callers of these tools are models, which can have read something hostile. So arguments are
// decoded strictly, every path goes through internal/workspace and every command through
// internal/sandbox; this package opens no file, starts no process and reads no variable itself. A
// failure of a tool is a result, not an error of the skill.
//
// A tool is two files of its name: the Go file has its arguments as a struct, from which
// their schema is derived, its function, and the line that adds it to the table of tools;
// the Markdown file in directory prompt is what the model is told. Nothing else lists the
// tools. Start reading at [New], then tool.go, then any of them.
package base

import (
	"context"
	"fmt"
	"net"
	"time"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/internal/sandbox"
	"github.com/perstack-go/perstack/internal/sandbox/landlock"
	"github.com/perstack-go/perstack/internal/sandbox/policy"
	"github.com/perstack-go/perstack/internal/skills/base/prompt"
	"github.com/perstack-go/perstack/internal/stopwatch"
	"github.com/perstack-go/perstack/internal/workspace"
	"github.com/perstack-go/perstack/rawjson"
	"github.com/perstack-go/perstack/skill"
)

// Options are what the tools work with.
type Options struct {
	// Workspace is where files are read and written and commands start. The skill does not
	// close it.
	Workspace *workspace.Workspace
	// Environ is the environment of the runtime, "NAME=value" each. Commands get the
	// safe variables of it.
	Environ []string
	// Set are further variables of commands, such as those of the proxy. Tool calls cannot change
	// them.
	Set map[string]string
	// Sandbox is what commands can reach; without it, none is started. The file tools have its right
	// to the workspace, besides the path checks of internal/workspace.
	Sandbox *policy.Policy
	// Policy returns what the next command can reach, if that can change; nil if Sandbox says it.
	Policy func(context.Context) (*policy.Policy, error)
	// Accept serves the listener of a sandbox: see [sandbox.Command].
	Accept func(net.Listener)
	// Report is told why a command in a sandbox probably failed; nil for no report.
	Report func(event.SandboxHint)
	// Outside asks whether later commands can read a path outside of the sandbox, which a command has
	// named. It returns what the model is told instead of the hint, and reports whether they can; nil if
	// no one is asked.
	Outside func(ctx context.Context, path string, argv []string) (message string, opened bool)
	// Track is told that a command starts, and returns a function for its end. That one returns the
	// hosts which the proxy of the sandbox refused meanwhile. Nil if there is no proxy.
	Track func(program string) (end func() (refused []string))
	// Clock drives the time limits of commands; nil for one that is never paused.
	Clock *stopwatch.Clock
	// NoPrograms says that no directory of PATH exists, as in a container without a base image.
	NoPrograms bool
	// Home is where commands start that have no right to the workspace; else empty.
	Home string
	// Commands runs the commands. The skill does not close it.
	Commands *sandbox.Supervisor
	// Now is the clock of the durations in results; nil means time.Now. It is called from
	// several goroutines.
	Now func() time.Time
	// Redact removes secrets from a text before it is cut; nil leaves it. The engine redacts
	// whole results, but does not recognize a part of a secret.
	Redact func(string) string
	// WithServers says that servers of the Expert run beside this skill.
	WithServers bool
	// PID is the number of this process, for healthCheck; 0 leaves it out.
	PID int
}

// A Skill is the base skill of one run: its todo list belongs to one conversation, so
// delegates and later runs need a Skill of their own.
type Skill struct {
	opts    Options
	started time.Time
	notes   notebook
	threads *landlock.Threads // run the file tools; nil without a sandbox
}

var (
	_ skill.Skill      = (*Skill)(nil)
	_ skill.Rememberer = (*Skill)(nil)
)

// New returns the base skill.
func New(opts Options) *Skill {
	if opts.Now == nil {
		opts.Now = time.Now
	}
	if opts.Redact == nil {
		opts.Redact = func(text string) string { return text }
	}
	if opts.Report == nil {
		opts.Report = func(event.SandboxHint) {}
	}
	if opts.Outside == nil {
		opts.Outside = func(context.Context, string, []string) (string, bool) { return "", false }
	}
	if opts.Track == nil {
		opts.Track = func(string) func() []string { return func() []string { return nil } }
	}
	s := &Skill{opts: opts, started: opts.Now()}
	if opts.Sandbox.Restricts() {
		s.threads = workspaceThreads(opts.Sandbox.Workspace)
		if opts.WithServers {
			s.threads.Start()
		}
	}
	return s
}

// Name returns the key of the base skill.
func (s *Skill) Name() string { return event.BaseSkill }

// Tools lists the tools. Their schemas are shared by all skills, so the caller must not
// change them.
func (s *Skill) Tools(context.Context) ([]skill.Tool, error) {
	var list []skill.Tool
	for _, p := range prompt.All() {
		t, ok := tools[p.Name]
		if !ok {
			return nil, fmt.Errorf("the tool %q has a prompt, but no code", p.Name)
		}
		shown, err := t.describe(p)
		if err != nil {
			return nil, fmt.Errorf("the tool %q: %w", p.Name, err)
		}
		list = append(list, shown)
	}
	return list, nil
}

// Call runs a tool.
func (s *Skill) Call(ctx context.Context, call event.ToolCall) (event.ToolResult, error) {
	t, ok := tools[call.ToolName]
	if !ok {
		return event.ToolResult{}, fmt.Errorf("skill %q: %w %q", event.BaseSkill, skill.ErrUnknownTool, call.ToolName)
	}
	return result(call, s.answer(ctx, t, call.Args)), nil
}

// Memory returns the todo list and the count of thoughts, for the record.
func (s *Skill) Memory() rawjson.Value { return s.notes.memory() }

// Recall restores the todo list and the count of thoughts.
func (s *Skill) Recall(memory rawjson.Value) error { return s.notes.recall(memory) }

// Close ends the restricted threads. Commands end with the call that started them.
func (s *Skill) Close() error {
	if s.threads != nil {
		s.threads.Close()
	}
	return nil
}
