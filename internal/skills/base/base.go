// Package base is the skill that every Expert has: it says when the work is done,
// keeps a todo list, notes thoughts, reads and changes files and directories of the
// workspace, and runs commands.
//
// The callers of these tools are models, which may have read something hostile a
// moment ago. So arguments are decoded strictly, every path goes through
// internal/workspace and every command through internal/sandbox; this package opens
// no file and starts no process itself, and takes nothing from the environment of the
// runtime but what it is given. What a tool cannot do is a result that says so, not an
// error of the skill.
//
// A tool is two files of its name: the Go file has its arguments as a struct, from which
// their schema is derived, its function, and the line that adds it to the table of tools;
// the Markdown file in directory prompt is what the model is told. Nothing else lists the
// tools. Start reading at [New], then tool.go, then any of them.
package base

import (
	"context"
	"fmt"
	"time"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/internal/sandbox"
	"github.com/perstack-go/perstack/internal/sandbox/landlock"
	"github.com/perstack-go/perstack/internal/skills/base/prompt"
	"github.com/perstack-go/perstack/internal/workspace"
	"github.com/perstack-go/perstack/rawjson"
	"github.com/perstack-go/perstack/skill"
)

// Options are what the tools work with.
type Options struct {
	// Workspace is where files are read and written and commands start. The skill
	// does not close it.
	Workspace *workspace.Workspace
	// Environ is the environment of the runtime, "NAME=value" each. Commands get the
	// safe variables of it.
	Environ []string
	// Set are variables that commands get beside those, and that no caller of a tool can
	// change: what the runtime itself decided, like the proxy that leads out.
	Set map[string]string
	// Sandbox is what commands can reach; nil for what the user can. The file tools are kept
	// in the part of it that is the workspace, behind the fence that they have anyway.
	Sandbox *landlock.Policy
	// Home is where commands start if the workspace is not theirs; empty if it is.
	Home string
	// Commands runs the commands, and can end them all. The skill does not close it.
	Commands *sandbox.Supervisor
	// Now is the clock of the durations in results; nil means time.Now. It may be
	// called from several goroutines.
	Now func() time.Time
	// Redact takes secrets out of text that is about to be cut; nil leaves it. The
	// engine redacts whole results; what a cut left of a secret it could not know.
	Redact func(string) string
	// PID is the number of this process, for healthCheck; 0 means that it is not told.
	PID int
}

// A Skill is the base skill of one run: its todo list belongs to one conversation, so
// delegates and later runs need a Skill of their own.
type Skill struct {
	opts    Options
	started time.Time
	notes   notebook
	threads *landlock.Threads // makes the calls of the file tools; nil for no fence
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
	s := &Skill{opts: opts, started: opts.Now()}
	if opts.Sandbox != nil {
		s.threads = workspaceThreads(opts.Sandbox, opts.Workspace.Path())
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

// Close ends the threads behind the fence. Commands end with the call that started them.
func (s *Skill) Close() error {
	if s.threads != nil {
		s.threads.Close()
	}
	return nil
}
