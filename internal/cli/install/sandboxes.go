package install

import (
	"fmt"
	"slices"

	"github.com/perstack-go/perstack/internal/cli/host"
	"github.com/perstack-go/perstack/internal/sandbox/landlock"
	"github.com/perstack-go/perstack/internal/skills"
)

// sandboxes says how the servers of a plan are locked in while they are asked: all with
// --sandbox, otherwise those that ask for it. It is nil when nobody is.
func (p *project) sandboxes(plan *plan, workspace string) (*skills.Sandboxes, func() error, error) {
	nothing := func() error { return nil }
	sandboxes := skills.OnHost(p.opts.Sandbox)
	if !slices.ContainsFunc(plan.servers, func(s *server) bool { return !s.kept && sandboxes.Contain(s.skill) }) {
		return nil, nothing, nil
	}
	if err := landlock.Available(); err != nil {
		return nil, nothing, &host.ExitError{Code: host.ExitUsage, Err: fmt.Errorf("skills cannot be asked in sandboxes: %w", err)}
	}
	sandboxes, remove, err := sandboxes.MakeDirs(workspace)
	if err != nil {
		return nil, nothing, &host.ExitError{Code: host.ExitUsage, Err: err}
	}
	return sandboxes, remove, nil
}
