package skillset

import (
	"context"
	"errors"
	"fmt"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/expert"
	"github.com/perstack-go/perstack/skill/mcp"
)

// Discover starts one MCP skill, lists its tools, and stops it. A package is resolved
// anew, unless pinned has it. Note is told what happens, for showing.
func Discover(ctx context.Context, k *expert.Skill, pinned *expert.LockedPackage, s Surroundings, note func(string)) (*expert.LockedSkill, error) {
	s.Lock = nil // what is found now is what will be locked
	s.complete()
	if err := (&expert.Expert{Skills: []*expert.Skill{k}}).MissingEnv(s.Env).Err(); err != nil {
		return nil, err
	}
	report := s.Report
	s.Report = func(b event.Body) {
		if said, ok := b.(event.SkillStderr); ok {
			note(said.Message)
		}
		report(b)
	}
	from := s.parcel(k, pinned)
	set := &set{Surroundings: s}
	options, err := set.options(k, nil, from)
	if err != nil {
		return nil, err
	}
	options.Background = false // somebody waits for it
	server := mcp.New(options)
	definitions, err := server.Definitions(ctx)
	if err := errors.Join(err, server.Close()); err != nil {
		return nil, err
	}
	tools, err := lockTools(definitions)
	if err != nil {
		return nil, fmt.Errorf("skill %q: %w", k.Name, err)
	}
	return &expert.LockedSkill{Name: k.Name, Digest: k.Connection(), Package: found(k, from), Tools: tools}, nil
}

// found is the package that was started; nil if the skill has none. Of uvx nothing is
// known but what the file says.
func found(k *expert.Skill, from *parcel) *expert.LockedPackage {
	if from != nil {
		return from.pinned
	}
	if p, ok := k.Package(); ok {
		return &expert.LockedPackage{Manager: p.Manager, Name: p.Name, Version: p.Version}
	}
	return nil
}
