package run

import (
	"fmt"

	"github.com/perstack-go/perstack/expert"
	"github.com/perstack-go/perstack/internal/cli/host"
	"github.com/perstack-go/perstack/internal/lockfile"
	"github.com/perstack-go/perstack/internal/manifest"
	"github.com/perstack-go/perstack/internal/terminal"
)

// checkSkills reports what would keep the skills of an Expert, or of one that it can
// delegate to, from starting: all of it, before anything is started. It returns the
// lockfile; nil if there is none.
func (s *setup) checkSkills(e *expert.Expert) (*lockfile.Lock, error) {
	if err := s.checkEnv(e); err != nil {
		return nil, err
	}
	s.tellBase(e)
	s.tellKeys(e)
	lock, err := lockfile.Read(s.config)
	switch {
	case err != nil:
	case lock != nil:
		err = lock.Stale(s.config, e).Err()
	case s.runtime == expert.DockerRuntime:
		experts, _ := s.config.Closure(e)
		err = s.config.LockNeeded(experts).Err()
	}
	if err != nil {
		return nil, host.MendError(&host.ExitError{Code: host.ExitUsage, Err: err}, s.opts.Config, s.dockerOnly())
	}
	return lock, nil
}

// tellBase says that the file has the base tools served by somebody else, to the Expert or
// to one that it can delegate to. Everybody takes them for ours; which skills there are
// beside them is for perstack inspect to tell.
func (s *setup) tellBase(e *expert.Expert) {
	told := map[string]bool{}
	experts, _ := s.config.Closure(e)
	for _, e := range experts {
		k, ok := e.Skill(expert.BaseSkill)
		if !ok || k.BuiltIn || told[host.Behind(k)] {
			continue
		}
		told[host.Behind(k)] = true
		fmt.Fprintf(s.opts.Host.Stderr, "perstack: the base tools are served by %s, as %s says\n", host.Behind(k), terminal.CleanLine(s.config.Path))
	}
}

// tellKeys says which skills are handed the key of a provider, and who is behind them.
// The file decides which provider is in use, and by that which key no skill may have; the
// others may be worth as much.
func (s *setup) tellKeys(e *expert.Expert) {
	experts, _ := s.config.Closure(e)
	for _, e := range experts {
		for _, line := range host.HandedKeys(e) {
			fmt.Fprintf(s.opts.Host.Stderr, "perstack: %s, as %s says\n", line, terminal.CleanLine(s.config.Path))
		}
	}
}

// checkEnv reports variables that skills require and cannot have: those that nobody has
// set, and the key of the provider in use, which a flag may have chosen.
func (s *setup) checkEnv(e *expert.Expert) error {
	var problems expert.VariableProblems
	experts, _ := s.config.Closure(e)
	for _, e := range experts {
		problems = append(problems, manifest.RefusedEnv(e, s.provider)...)
		problems = append(problems, e.MissingEnv(s.env.Get)...)
	}
	if err := problems.Err(); err != nil {
		return &host.ExitError{Code: host.ExitUsage, Err: err}
	}
	return nil
}
