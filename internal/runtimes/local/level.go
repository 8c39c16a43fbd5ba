package local

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/perstack-go/perstack/engine"
	"github.com/perstack-go/perstack/expert"
	"github.com/perstack-go/perstack/internal/sandbox"
	"github.com/perstack-go/perstack/internal/sandbox/landlock"
	"github.com/perstack-go/perstack/internal/sandbox/probe"
)

// An Offer is the best sandbox of a machine.
type Offer struct {
	Level expert.SandboxLevel // off, landlock or full
	Why   error               // why it is not full
	// SharesSignals says that programs can signal those outside, and reach their abstract sockets.
	SharesSignals bool
}

// known is what this process knows of the machine. It is a fact about the program and the
// machine, not about a job: without it, each job of a program that has no state directory would
// start a sandbox to find out.
var known = new(probe.Knowledge)

// Offered returns what this machine offers, after a complete start of its best sandbox. The answer
// is kept in the state directory of perstack, if that is not empty.
func Offered(ctx context.Context, state string) Offer {
	level, steps := probe.Prober{Complete: sandbox.Complete, Known: known}.Offered(ctx, state)
	o := Offer{Level: level, SharesSignals: level == expert.SandboxLandlock && landlock.KeepsApart() != nil}
	i := slices.IndexFunc(steps, func(s probe.Step) bool { return s.Status == probe.Fail })
	switch {
	case level == expert.SandboxFull:
	case level == expert.SandboxOff && landlock.Available() != nil:
		o.Why = landlock.Available()
	case i >= 0:
		o.Why = fmt.Errorf("level full is not available: %s", reason(steps[i]))
	default:
		o.Why = errors.New("level full is not available")
	}
	return o
}

// Lacks says what the best sandbox of the machine does not protect, and why it is not better; "" at
// level full.
func (o Offer) Lacks() string {
	if o.Why == nil {
		return ""
	}
	text := fmt.Sprintf("the sandbox has level %s (%v): programs can read env files in the workspace, and change perstack.toml, perstack.lock and the hooks and configuration of git there", o.Level, o.Why)
	if o.SharesSignals {
		text += "; they can also signal other programs and use abstract sockets, before Linux 6.12"
	}
	return text
}

// reason says why a step failed, and what can be done.
func reason(s probe.Step) string {
	text := s.Name + " " + cmp.Or(s.Errno, s.Detail)
	if s.Cause != "" {
		text += ", " + s.Cause
	}
	return text
}

// offeredTo returns what this machine offers to a job. A container has a profile of its own, and
// programs in it are kept apart by Landlock.
func offeredTo(parts engine.Parts) func(context.Context) Offer {
	return func(ctx context.Context) Offer {
		if parts.Container == nil {
			return Offered(ctx, parts.StateDir)
		}
		if err := landlock.KeepsApart(); err != nil {
			return Offer{Level: expert.SandboxOff, Why: err}
		}
		return Offer{Level: expert.SandboxLandlock}
	}
}

// A LevelError says that a machine does not have the level that a job needs.
type LevelError struct {
	Wanted expert.SandboxLevel
	Offer  Offer
}

func (e *LevelError) Error() string {
	if e.Offer.Level == expert.SandboxOff {
		return e.Offer.Why.Error()
	}
	return fmt.Sprintf("%v: this machine offers level %s", e.Offer.Why, e.Offer.Level)
}

func (e *LevelError) Unwrap() error { return e.Offer.Why }

// Choose returns the level of programs that need at least the wanted one: the best of the
// machine, unless it is to be off. It returns a [*LevelError] if that is too low.
func (o Offer) Choose(wanted expert.SandboxLevel) (expert.SandboxLevel, error) {
	switch {
	case !wanted.Restricts():
		return wanted, nil
	case !o.Level.Restricts(), o.Level.Compare(wanted) < 0:
		return "", &LevelError{wanted, o}
	}
	return o.Level, nil
}

// Needed returns the least level that the programs of Experts need: that of the job, or of the
// skill that asks for the most. It is empty if there are no programs, or none needs a sandbox.
func Needed(experts []*expert.Expert, level expert.SandboxLevel) (needed expert.SandboxLevel) {
	for _, e := range experts {
		skills := e.Skills
		if _, declared := e.Skill(expert.BaseSkill); !declared { // every Expert has it
			skills = append(slices.Clip(skills), &expert.Skill{Name: expert.BaseSkill, BuiltIn: true})
		}
		needed = needed.Stricter(NeededBy(skills, level))
	}
	return needed
}

// StartPrograms reports whether a skill of Experts starts programs.
func StartPrograms(experts []*expert.Expert) bool {
	return slices.ContainsFunc(experts, func(e *expert.Expert) bool {
		_, declared := e.Skill(expert.BaseSkill)
		return !declared || slices.ContainsFunc(e.Skills, (*expert.Skill).StartsPrograms)
	})
}

// NeededBy is [Needed] for skills.
func NeededBy(skills []*expert.Skill, level expert.SandboxLevel) (needed expert.SandboxLevel) {
	for _, k := range skills {
		if own := level.Stricter(k.Sandbox); k.UsesSandbox() && own.Restricts() {
			needed = needed.Stricter(own)
		}
	}
	return needed
}
