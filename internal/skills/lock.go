package skills

import (
	"context"
	"errors"
	"fmt"

	"github.com/perstack-go/perstack/engine"
	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/expert"
	"github.com/perstack-go/perstack/internal/lockfile"
	"github.com/perstack-go/perstack/internal/programs"
	"github.com/perstack-go/perstack/internal/skills/mcp"
	"github.com/perstack-go/perstack/job"
	"github.com/perstack-go/perstack/rawjson"
	"github.com/perstack-go/perstack/skill"
)

// Discover starts one MCP skill of an Expert, lists its tools, and stops it. A package is resolved
// again unless pinned names it. Report is told what happens, for showing.
func (site *Site) Discover(ctx context.Context, key string, k *expert.Skill, pinned *lockfile.Package, report func(event.Body)) (*lockfile.Skill, error) {
	unlocked := *site
	unlocked.Lock = nil // the result is what will be locked
	only := &expert.Expert{Key: key, Name: key, Skills: []*expert.Skill{k}}
	set := unlocked.newSet(ctx, engine.SkillRequest{Expert: only, Report: report})
	set.unpinned = true
	if err := only.MissingEnv(set.env).Err(); err != nil {
		return nil, err
	}
	program, err := PinProgram(k, site.Workspace.Path(), job.Local)
	if err != nil {
		return nil, fmt.Errorf("skill %q: %w", k.Name, err)
	}
	from := set.packageOf(k, pinned)
	definitions, err := set.discover(ctx, k, from)
	if err := errors.Join(err, set.close()); err != nil {
		return nil, err
	}
	after, err := PinProgram(k, site.Workspace.Path(), job.Local)
	if change := programs.Compare(program, after); err == nil && change != "" {
		err = fmt.Errorf("it changes the directory of its own program, which must stay as it was installed: %s; let it write elsewhere", change)
	}
	if err != nil {
		return nil, fmt.Errorf("skill %q: %w", k.Name, err)
	}
	locked := &lockfile.Skill{Name: k.Name, Digest: k.Connection(), Source: lockfile.SourceOf(k), Program: program, Tools: make([]lockfile.Tool, len(definitions))}
	for i, d := range definitions {
		if locked.Tools[i], err = lockfile.ParseTool(d); err != nil {
			return nil, fmt.Errorf("skill %q: %w", k.Name, err)
		}
	}
	if p, ok := k.Package(); from != nil {
		locked.Package = from.pinned
	} else if ok { // uvx fetches the package, so only what the file says is known
		locked.Package = &lockfile.Package{Manager: p.Manager, Name: p.Name, Version: p.Version}
	}
	return locked, nil
}

func (s *set) discover(ctx context.Context, k *expert.Skill, from *skillPackage) ([]rawjson.Value, error) {
	if err := s.openSandboxes([]*expert.Skill{k}); err != nil {
		return nil, err
	}
	options, err := s.options(k, nil, from)
	if err != nil {
		return nil, err
	}
	options.Background = false // the caller waits for it
	server := mcp.New(options)
	s.servers = append(s.servers, server)
	return server.Definitions(ctx)
}

// pinned returns the entry of a skill in the lockfile; nil when there is no lockfile. With one,
// a skill that has no entry, or that has changed since, does not start: its tools have not been
// reviewed.
func (s *set) pinned(k *expert.Skill) (*lockfile.Skill, error) {
	if s.site.Lock == nil {
		return nil, nil
	}
	locked, ok := s.site.Lock.Expert(s.expert.Key)
	if !ok {
		return nil, &LockError{fmt.Sprintf("expert %q is not in the lockfile", s.expert.Key)}
	}
	pinned, ok := locked.Skill(k.Name)
	switch {
	case !ok:
		return nil, &LockError{fmt.Sprintf("skill %q is not in the lockfile", k.Name)}
	case !pinned.Holds(k):
		return nil, &LockError{fmt.Sprintf("skill %q has changed since it was installed", k.Name)}
	}
	return pinned, nil
}

// A LockError says that the lockfile does not match an Expert. Installing again fixes it.
type LockError struct{ problem string }

func (e *LockError) Error() string { return e.problem }

// LockedTools returns the tools that a server must offer. The list is never nil: a server that
// had no tools when it was installed must still have none.
func LockedTools(pinned *lockfile.Skill) []skill.Tool {
	tools := make([]skill.Tool, len(pinned.Tools))
	for i, t := range pinned.Tools {
		tools[i] = mcp.Tool(t)
	}
	return tools
}
