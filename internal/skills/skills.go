// Package skills turns what an Expert declares into skills that run: the base skill,
// MCP servers with the packages, variables and pins that belong to them, other Experts,
// and questions to the user. Runtimes open a set for a Run; installing opens one server at a time.
//
// Where programs are locked in, each skill gets a room: directories of its own, a gate of
// its own, and the cell around both (cell.go, tenant.go).
//
// It decides who gets what and does little itself: processes are started by
// internal/sandbox, packages fetched by internal/packages, connections checked by
// internal/egress, and what a server says is read by internal/skills/mcp.
//
// Start reading at [Open].
package skills

import (
	"context"
	"log/slog"
	"net/url"
	"os"
	"time"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/expert"
	"github.com/perstack-go/perstack/internal/lockfile"
	"github.com/perstack-go/perstack/internal/packages"
	"github.com/perstack-go/perstack/internal/sandbox"
	"github.com/perstack-go/perstack/internal/sandbox/cell"
	"github.com/perstack-go/perstack/internal/skills/base"
	"github.com/perstack-go/perstack/internal/skills/delegate"
	"github.com/perstack-go/perstack/internal/skills/interactive"
	"github.com/perstack-go/perstack/internal/skills/mcp"
	"github.com/perstack-go/perstack/internal/workspace"
	"github.com/perstack-go/perstack/skill"
)

// Surroundings are what skills work with.
type Surroundings struct {
	Lock      *lockfile.Lock // nil when there is none
	Workspace *workspace.Workspace
	Commands  *sandbox.Supervisor
	Packages  *packages.Store
	Environ   []string                 // of this process; skills get the harmless part of it
	Env       func(name string) string // values of requiredEnv

	// Gate is the address of the proxy by which a skill gets out, with what it has to show
	// there; nil, or an empty address, for no proxy. Commands use that of the base skill.
	Gate    func(skill string) string
	Through *url.URL          // proxy by which remote skills are reached; nil for none
	Handed  map[string]string // variables that the user hands to commands
	Roots   string            // file with the authorities that programs must trust; empty leaves it to them
	// Cells says how programs are kept apart from each other; nil for not at all.
	Cells *Cells

	Report func(event.Body) // from several goroutines
	Stop   func(error)      // ends the run
	Redact func(string) string
	Hide   func(name, value string) // is told of secrets that are made here, for Redact; nil for nobody
	Now    func() time.Time
	Log    *slog.Logger

	Delegates []*expert.Expert              // whom the Expert can ask, in the order of its file
	Delegated bool                          // another Expert asked: there is no user to answer questions
	Wrap      func(skill.Skill) skill.Skill // around each skill; nil for none
}

// complete fills in what may be left out.
func (s *Surroundings) complete() {
	if s.Env == nil {
		s.Env = func(string) string { return "" }
	}
	if s.Report == nil {
		s.Report = func(event.Body) {}
	}
	if s.Stop == nil {
		s.Stop = func(error) {}
	}
	if s.Now == nil {
		s.Now = time.Now
	}
	if s.Log == nil {
		s.Log = slog.New(slog.DiscardHandler)
	}
	if s.Wrap == nil {
		s.Wrap = func(s skill.Skill) skill.Skill { return s }
	}
}

// Open starts the skills of an Expert, in parallel, and puts their tools into one box:
// those of the base skill first, then those of MCP servers in the order of the file,
// then the delegates, then the questions to the user. If one fails, the others are stopped.
func Open(ctx context.Context, e *expert.Expert, s Surroundings) (*skill.Toolbox, error) {
	s.complete()
	// Whoever starts a run has asked before. A server must not start without what it needs.
	if err := e.MissingEnv(s.Env).Err(); err != nil {
		return nil, err
	}
	set := &set{Surroundings: s, expert: e, life: ctx, began: s.Now()}
	err := set.declare()
	if err == nil {
		err = set.start(ctx)
	}
	if err != nil {
		if left := set.close(); left != nil {
			s.Log.Warn("skills did not close cleanly", "error", left)
		}
		return nil, err
	}
	box, err := skill.NewToolbox(ctx, set.sources, s.Log)
	if err != nil {
		return nil, err // the box has closed them
	}
	set.changes.attach(box)
	return box, nil
}

// A set is the skills of one Expert while they are put together.
type set struct {
	Surroundings
	expert  *expert.Expert
	life    context.Context // of whoever opens it
	house   *house          // of those who are locked in; nil when nobody is
	began   time.Time
	sources []skill.Source
	servers []*mcp.Skill // what has to be started
	builtIn bool         // the base skill is part of this program
	changes changes
}

// declare makes a skill of everything that the Expert names. Nothing is started yet.
func (s *set) declare() error {
	base, declared := s.expert.Skill(expert.BaseSkill)
	if !declared {
		base = &expert.Skill{Name: expert.BaseSkill, BuiltIn: true}
	}
	if s.Cells != nil {
		all := s.expert.Skills
		if !declared {
			all = append(all[:len(all):len(all)], base)
		}
		if err := s.settle(all); err != nil {
			return err
		}
	}
	if err := s.base(base); err != nil {
		return err
	}
	for _, k := range s.expert.Skills {
		if k.IsBase() || k.Type == expert.InteractiveSkill {
			continue
		}
		if err := s.server(k); err != nil {
			return err
		}
	}
	for _, d := range s.Delegates {
		// Nothing runs in it, so nothing is put around it.
		s.sources = append(s.sources, skill.Source{Skill: delegate.New(d)})
	}
	for _, k := range s.expert.Skills {
		if k.Type == expert.InteractiveSkill && !s.Delegated {
			s.add(k, interactive.New(k.Name, questions(k)), false)
		}
	}
	return nil
}

// base adds the base skill, which every Expert has, also one that does not mention it.
func (s *set) base(k *expert.Skill) error {
	if !k.BuiltIn {
		return s.server(k)
	}
	s.builtIn = true
	options := base.Options{
		Workspace: s.Workspace,
		Environ:   s.Environ,
		Set:       s.decided(),
		Now:       s.Now,
		Commands:  s.Commands,
		Redact:    s.Redact,
		PID:       os.Getpid(),
	}
	if r := s.room(k); r != nil {
		port, err := s.gatePort(k.Name)
		if err != nil {
			return err
		}
		dirs, path := searchPath(s.Environ, r.cells.System, r.apart(s.Workspace.Path()))
		options.Cell = r.cell(s.Workspace.Path(), dirs, port)
		options.Set = r.decide(options.Set)
		options.Set["PATH"] = path
		if r.right == expert.WorkspaceNone {
			options.Home = r.home
		}
	}
	s.add(k, base.New(options), false)
	return nil
}

// server adds an MCP server.
func (s *set) server(k *expert.Skill) error {
	pinned, err := s.pinned(k)
	if err != nil {
		return err
	}
	var fetched *lockfile.Package
	if pinned != nil {
		fetched = pinned.Package
	}
	options, err := s.options(k, pinned, s.parcel(k, fetched))
	if err != nil {
		return err
	}
	server := mcp.New(options)
	s.servers = append(s.servers, server)
	var box skill.Skill = server
	if k.IsBase() {
		var in *cell.Cell
		if r := s.room(k); r != nil {
			in = r.cell(s.Workspace.Path(), nil, 0)
		}
		box = base.Foreign(server, s.Workspace, in) // only this one may name files to be read
	}
	s.add(k, box, options.Background)
	return nil
}

func (s *set) add(k *expert.Skill, of skill.Skill, background bool) {
	s.sources = append(s.sources, skill.Source{
		Skill:      s.Wrap(s.lodge(k, of)),
		Filter:     skill.Filter{Pick: k.Pick, Omit: k.Omit},
		Prefix:     k.ToolPrefix,
		Background: background,
	})
}

// questions are the tools that the user carries out.
func questions(k *expert.Skill) []skill.Tool {
	var tools []skill.Tool
	for _, t := range k.Tools {
		tools = append(tools, skill.Tool{
			Name:        t.Name,
			Description: t.Description,
			InputSchema: t.InputSchema,
			Kind:        skill.Interactive,
		})
	}
	return tools
}
