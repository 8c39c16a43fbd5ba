package skills

import (
	"context"
	"errors"
	"fmt"

	"github.com/perstack-go/perstack/engine"
	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/expert"
	"github.com/perstack-go/perstack/internal/lockfile"
	"github.com/perstack-go/perstack/internal/skills/mcp"
	"github.com/perstack-go/perstack/rawjson"
)

// Discover starts one MCP skill, lists its tools, and stops it. A package is resolved
// anew, unless pinned has it. Report is told what happens, for showing.
func (site *Site) Discover(ctx context.Context, k *expert.Skill, pinned *lockfile.Package, report func(event.Body)) (*lockfile.Skill, error) {
	fresh := *site
	fresh.Lock = nil // what is found now is what will be locked
	only := &expert.Expert{Key: "install", Skills: []*expert.Skill{k}}
	set := fresh.newSet(ctx, engine.SkillRequest{Expert: only, Report: report})
	if err := only.MissingEnv(set.env).Err(); err != nil {
		return nil, err
	}
	from := set.parcel(k, pinned)
	definitions, err := set.discover(ctx, k, from)
	if err := errors.Join(err, set.close()); err != nil {
		return nil, err
	}
	tools, err := lockTools(definitions)
	if err != nil {
		return nil, fmt.Errorf("skill %q: %w", k.Name, err)
	}
	return &lockfile.Skill{Name: k.Name, Digest: k.Connection(), Package: found(k, from), Tools: tools}, nil
}

// discover asks a server what it offers, in a room of its own if it is to be locked in.
func (s *set) discover(ctx context.Context, k *expert.Skill, from *parcel) ([]rawjson.Value, error) {
	if err := s.settle([]*expert.Skill{k}); err != nil {
		return nil, err
	}
	options, err := s.options(k, nil, from)
	if err != nil {
		return nil, err
	}
	options.Background = false // somebody waits for it
	server := mcp.New(options)
	s.servers = append(s.servers, server)
	return server.Definitions(ctx)
}

// found is the package that was started; nil if the skill has none. Of uvx nothing is
// known but what the file says.
func found(k *expert.Skill, from *parcel) *lockfile.Package {
	if from != nil {
		return from.pinned
	}
	if p, ok := k.Package(); ok {
		return &lockfile.Package{Manager: p.Manager, Name: p.Name, Version: p.Version}
	}
	return nil
}
