package local

import (
	"fmt"
	"slices"

	"github.com/perstack-go/perstack/engine"
	"github.com/perstack-go/perstack/expert"
	"github.com/perstack-go/perstack/internal/skills"
	"github.com/perstack-go/perstack/job"
)

// prepareSandboxes returns the sandboxes for the programs of a job, with their directories, and
// a function that removes these; nil if no program needs one. A job that needs a sandbox is
// refused as a whole if this machine has none.
func prepareSandboxes(spec job.Spec, parts engine.Parts, workspace string, available func() error) (*skills.Sandboxes, func(), error) {
	none := func() {}
	if spec.Isolation.SharedSandbox {
		return nil, none, nil
	}
	wanted := skills.OnHost(spec.Isolation.Sandbox)
	if c := parts.Container; c != nil {
		wanted = &skills.Sandboxes{All: true, System: c.System, Tmp: c.Tmp, Home: c.Home, MaxTasks: c.MaxTasks}
	}
	reachable, _ := expert.Closure(spec.Experts, spec.Coordinator())
	locked := slices.IndexFunc(reachable, wanted.ContainAny)
	if locked < 0 {
		return nil, none, nil
	}
	if err := available(); err != nil {
		return nil, none, &NoSandboxError{Expert: reachable[locked].Key, Err: err}
	}
	sandboxes, remove, err := wanted.MakeDirs(workspace)
	if err != nil {
		return nil, none, err
	}
	return sandboxes, func() {
		if err := remove(); err != nil {
			parts.Log.Warn("the directory of sandboxes is still there", "error", err)
		}
	}, nil
}

// A NoSandboxError says that a skill must run in a sandbox and this machine has none.
type NoSandboxError struct {
	Expert string // that has the skill
	Err    error
}

func (e *NoSandboxError) Error() string {
	return fmt.Sprintf("expert %q has a skill that must run in a sandbox: %v; "+
		"without a sandbox it can do everything that you can do; runtime docker puts a container around it", e.Expert, e.Err)
}

func (e *NoSandboxError) Unwrap() error { return e.Err }
