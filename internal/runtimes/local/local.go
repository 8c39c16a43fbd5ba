// Package local is the built-in runtime: engine, tools and commands run in this
// process and as this user. It fences in the file tools, not the programs that the
// exec tool starts.
//
// It puts the parts together that the engine works with and does nothing else. Start
// reading at [Runtime.Run].
package local

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"time"

	"github.com/perstack-go/perstack/engine"
	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/expert"
	"github.com/perstack-go/perstack/internal/runtimes"
	"github.com/perstack-go/perstack/internal/sandbox"
	"github.com/perstack-go/perstack/internal/workspace"
	"github.com/perstack-go/perstack/model"
	"github.com/perstack-go/perstack/skill"
	"github.com/perstack-go/perstack/skill/base"
	"github.com/perstack-go/perstack/skill/interactive"
	"github.com/perstack-go/perstack/skill/quota"
	"github.com/perstack-go/perstack/store"
)

// A Runtime runs jobs in this process.
type Runtime struct {
	Model  model.Model
	Store  store.Store
	Source engine.Source
	Log    *slog.Logger

	Workspace string   // directory that the file tools work in
	Protected []string // paths that no file tool may reach, beside the usual ones
	ReadOnly  []string // files that no file tool may change
	Environ   []string // of this process; commands get the harmless part of it

	// Redact takes secrets out of what tools, skills and providers say; nil leaves it.
	Redact func(string) string

	commands commands // of the jobs that run now

	// MaxWorkspaceBytes is how many bytes the workspace may take; 0 means no limit. A run
	// that reaches it is stopped with [event.StopRunByLimit].
	MaxWorkspaceBytes int64

	// OneCallAtATime makes the calls of a turn run in order, for reproducible journals.
	OneCallAtATime bool
}

var _ runtimes.Runtime = (*Runtime)(nil)

// Name returns "local".
func (r *Runtime) Name() string { return "local" }

// KillCommands ends every command that runs now, and lets no other start. It is for a
// process that is about to end without waiting for them.
func (r *Runtime) KillCommands() { r.commands.kill() }

// Check reports a workspace that cannot be used.
func (r *Runtime) Check(context.Context) error {
	w, err := r.open()
	if err != nil {
		return err
	}
	return w.Close()
}

func (r *Runtime) open() (*workspace.Workspace, error) {
	return workspace.Open(r.Workspace, workspace.Options{Protected: r.Protected, ReadOnly: r.ReadOnly})
}

// Run runs a job.
func (r *Runtime) Run(ctx context.Context, job engine.Job, listener engine.Listener) (engine.Result, error) {
	files, err := r.open()
	if err != nil {
		return engine.Result{}, &engine.Error{Kind: engine.KindInput, Err: err}
	}
	defer files.Close()
	supervisor := r.commands.open()
	defer func() {
		if err := r.commands.close(supervisor); err != nil {
			r.Log.Error("commands may be running still", "error", err)
		}
	}()

	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	size := r.limitSize(files, cancel)
	job.Runtime, job.Workspace = r.Name(), files.Path()
	parts := engine.Parts{
		Model:    r.Model,
		Store:    r.Store,
		Source:   r.Source,
		Log:      r.Log,
		Listener: listener,
		Redact:   r.Redact,
		Skills: func(ctx context.Context, e *expert.Expert, report func(event.Body)) (*skill.Toolbox, error) {
			return r.skills(ctx, e, files, supervisor, size, report)
		},
	}
	if r.OneCallAtATime {
		parts.Parallel = 1
	}
	return engine.Execute(ctx, job, parts)
}

// skills starts what the Expert declares, the base skill first.
func (r *Runtime) skills(ctx context.Context, e *expert.Expert, files *workspace.Workspace, commands *sandbox.Supervisor, size *quota.Quota, report func(event.Body)) (*skill.Toolbox, error) {
	began := r.Source.Now()
	skills := []skill.Skill{base.New(base.Options{
		Workspace: files,
		Environ:   r.Environ,
		Now:       r.Source.Now,
		Commands:  commands,
		Redact:    r.Redact,
		PID:       os.Getpid(),
	})}
	filters := make(map[string]skill.Filter)
	for _, s := range e.Skills {
		filters[s.Name] = skill.Filter{Pick: s.Pick, Omit: s.Omit}
		switch {
		case s.IsBase():
		case s.Type == expert.InteractiveSkill:
			skills = append(skills, interactive.New(s.Name, questions(s)))
		default:
			return nil, fmt.Errorf("skill %q: skills of type %s cannot be started by this version yet", s.Name, s.Type)
		}
	}
	toolbox, err := skill.NewToolbox(ctx, watched(ctx, size, skills), filters)
	if err != nil {
		return nil, err
	}
	report(connected(event.BaseSkill, r.Source.Now().Sub(began)))
	return toolbox, nil
}

// connected announces a skill that is part of this program: nothing was spawned.
func connected(name string, took time.Duration) event.SkillConnected {
	spawn, total := int64(0), took.Milliseconds()
	return event.SkillConnected{SkillName: name, SpawnDurationMS: &spawn, ConnectDurationMS: &spawn, TotalDurationMS: &total}
}

func questions(s *expert.Skill) []skill.Tool {
	var tools []skill.Tool
	for _, t := range s.Tools {
		tools = append(tools, skill.Tool{
			Name:        t.Name,
			Description: t.Description,
			InputSchema: t.InputSchema,
			Kind:        skill.Interactive,
		})
	}
	return tools
}
