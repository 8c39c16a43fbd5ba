// Package skills turns what an Expert declares into skills that run: the base skill,
// MCP servers with the packages, variables and pins that belong to them, other Experts,
// and questions to the user. Runtimes open a set for a Run; installing opens one server at a time.
//
// A sandboxed skill has its own directories and its own listener of the proxy (sandbox.go,
// sandboxed.go).
//
// The package decides what each skill gets. Processes are started by internal/sandbox, packages
// fetched by internal/packages, connections checked by internal/egress, and messages of servers
// read by internal/skills/mcp.
//
// Start reading at [Open].
package skills

import (
	"context"
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/perstack-go/perstack/engine"
	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/expert"
	"github.com/perstack-go/perstack/internal/lockfile"
	"github.com/perstack-go/perstack/internal/packages"
	"github.com/perstack-go/perstack/internal/sandbox"
	"github.com/perstack-go/perstack/internal/skills/base"
	"github.com/perstack-go/perstack/internal/skills/delegate"
	"github.com/perstack-go/perstack/internal/skills/interactive"
	"github.com/perstack-go/perstack/internal/skills/mcp"
	"github.com/perstack-go/perstack/internal/skills/proposal"
	"github.com/perstack-go/perstack/internal/workspace"
	"github.com/perstack-go/perstack/job"
	"github.com/perstack-go/perstack/skill"
)

// A Site is what the skills of all Experts of one job share.
type Site struct {
	Parts     engine.Parts   // complete
	Lock      *lockfile.Lock // nil when there is none
	Workspace *workspace.Workspace
	Commands  *sandbox.Supervisor
	Packages  *packages.Store
	// Data is where each skill has a directory for its data, which belongs to one project; see
	// [DataDir].
	Data string
	// Programs pin what skills are started from in the workspace, where no lockfile does; see
	// [RecordPrograms].
	Programs []job.Program
	// Held are the digests of programs in the workspace that are found by their names; see
	// [HoldPrograms].
	Held map[string]string
	// Sandboxes says which programs run in a sandbox; nil for none.
	Sandboxes *Sandboxes
	// Wrap wraps each skill that runs something; nil leaves it as it is.
	Wrap func(skill.Skill) skill.Skill
}

// Open starts the skills of an Expert, in parallel, and puts their tools into one box:
// those of the base skill first, then those of MCP servers in the order of the file, those
// of the embedding program, the delegates, and the questions to the user. If one fails,
// the others are stopped.
func (site *Site) Open(ctx context.Context, req engine.SkillRequest) (*skill.Toolbox, error) {
	s := site.newSet(ctx, req)
	// The caller has checked this before. A server must not start without what it needs.
	if err := req.Expert.MissingEnv(s.env).Err(); err != nil {
		return nil, err
	}
	err := s.declare()
	if err == nil {
		err = s.start(ctx)
	}
	if err != nil {
		if left := s.close(); left != nil {
			site.Parts.Log.Warn("skills did not close cleanly", "error", left)
		}
		return nil, err
	}
	box, err := skill.NewToolbox(ctx, s.sources, site.Parts.Log)
	if err != nil {
		return nil, err // the box has closed them
	}
	s.changes.attach(box)
	return box, nil
}

func (site *Site) newSet(ctx context.Context, req engine.SkillRequest) *set {
	if req.Report == nil {
		req.Report = func(event.Body) {}
	}
	if req.Stop == nil {
		req.Stop = func(error) {}
	}
	if req.Plan && site.Sandboxes != nil {
		own := *site
		own.Sandboxes = site.Sandboxes.planning(site.Parts.Container != nil)
		site = &own
	}
	return &set{site: site, req: req, expert: req.Expert, ctx: ctx, began: site.Parts.Source.Now()}
}

// A set is the skills of one Expert while they are put together.
type set struct {
	site      *Site
	req       engine.SkillRequest
	expert    *expert.Expert   // of the request
	ctx       context.Context  // of the caller
	sandboxes *expertSandboxes // nil when no skill is sandboxed
	began     time.Time
	sources   []skill.Source
	servers   []*mcp.Skill // to be started
	unpinned  bool         // nothing is compared: the result is what will be pinned
	builtIn   bool         // the base skill is part of this program
	changes   changes
	blocked   blocked
	clocks    clocks
}

// declare makes a skill of everything that the Expert names. Nothing is started yet.
func (s *set) declare() error {
	base, declared := s.expert.Skill(expert.BaseSkill)
	all := slices.Clone(s.expert.Skills)
	if !declared {
		base = &expert.Skill{Name: expert.BaseSkill, BuiltIn: true}
		all = append(all, base)
	}
	if err := s.openSandboxes(all); err != nil {
		return err
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
	for _, key := range []string{"*", s.expert.Key} {
		for _, own := range s.site.Parts.Skills[key] {
			s.sources = append(s.sources, skill.Source{Skill: s.wrapped(own)})
		}
	}
	for _, d := range delegate.All(s.req.Delegates...) {
		// The engine runs delegates, so nothing is wrapped.
		s.sources = append(s.sources, skill.Source{Skill: d})
	}
	if s.req.Plan && !s.req.Delegated {
		s.sources = append(s.sources, skill.Source{Skill: proposal.New()})
	}
	for _, k := range s.expert.Skills {
		if k.Type == expert.InteractiveSkill && !s.req.Delegated {
			s.add(k, interactive.New(k), false)
		}
	}
	return nil
}

// base adds the base skill, which every Expert has, even if it does not declare it.
func (s *set) base(k *expert.Skill) error {
	if !k.BuiltIn {
		return s.server(k)
	}
	s.builtIn = true
	options := base.Options{
		Workspace: s.site.Workspace,
		Environ:   s.site.Parts.Environ,
		Set:       s.commandVariables(),
		Now:       s.site.Parts.Source.Now,
		Commands:  s.site.Commands,
		Redact:    s.site.Parts.Secrets.Redact,
		PID:       os.Getpid(),
		Sandbox:   s.off(),
		Clock:     s.clocks.of(k.Name),

		WithServers: slices.ContainsFunc(s.expert.Skills, func(k *expert.Skill) bool { return !k.IsBase() && k.StartsPrograms() }),
	}
	if in := s.sandboxOf(k); in != nil {
		port, err := s.proxyPort(k.Name)
		if err != nil {
			return err
		}
		in.confine(&options, port, s.opened(k, in))
		options.Accept = s.serve(k, in)
		options.Report, options.Track, options.Outside = s.reportHint, s.blocked.start, s.outside(k, in)
	}
	s.add(k, base.New(options), false)
	return nil
}

// server adds an MCP server. One on another machine is left out while the job plans: no host is reached
// then.
func (s *set) server(k *expert.Skill) error {
	if s.req.Plan && k.Type != expert.StdioSkill {
		if k.IsBase() {
			return fmt.Errorf("skill %q is on another machine, and the job only plans; run it without planning", k.Name)
		}
		return nil
	}
	if s.req.Plan && k.StartsPrograms() && s.sandboxOf(k) == nil && s.site.Parts.Container == nil {
		return fmt.Errorf("skill %q starts a program that could change files, and the job only plans; run it in a sandbox, or without planning", k.Name)
	}
	pinned, err := s.pinned(k)
	if err != nil {
		return err
	}
	var fetched *lockfile.Package
	if pinned != nil {
		fetched = pinned.Package
	}
	options, err := s.options(k, pinned, s.packageOf(k, fetched))
	if err != nil {
		return err
	}
	server := mcp.New(options)
	s.servers = append(s.servers, server)
	var box skill.Skill = server
	if k.IsBase() {
		reach := s.off()
		if in := s.sandboxOf(k); in != nil {
			reach = in.policy(s.site.Workspace.Path(), nil, 0)
		}
		box = base.Foreign(server, s.site.Workspace, reach) // only the base skill can name files to be read
	}
	s.add(k, box, options.Background)
	return nil
}

func (s *set) add(k *expert.Skill, of skill.Skill, background bool) {
	s.sources = append(s.sources, skill.Source{
		Skill:      s.wrapped(s.sandboxed(k, of)),
		Filter:     skill.Filter{Pick: k.Pick, Omit: k.Omit},
		Prefix:     k.ToolPrefix,
		Background: background,
	})
}

func (s *set) wrapped(of skill.Skill) skill.Skill {
	if s.site.Wrap == nil {
		return of
	}
	return s.site.Wrap(of)
}

// env returns the value of a variable in requiredEnv.
func (s *set) env(name string) string { return s.site.Parts.Variables(name).Value }
