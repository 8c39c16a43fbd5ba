package job

import (
	"fmt"
	"path/filepath"
	"slices"

	"github.com/perstack-go/perstack/expert"
)

// Complete fills in the defaults of settings that nothing was said about, for programs that
// write a Spec by hand. A Spec made with [Resolve] is complete.
func (s *Spec) Complete(known Catalogue) {
	s.resolve(Flags{Settings: s.Settings}, Settings{}, known)
}

// Resume is [Spec.Complete] for a Spec that continues a recorded job: the settings of the Spec
// are those of a file, so that limits, runtime, sandbox, approvals, snapshots and the limits of a
// container are the stricter of Spec and record. It refuses another workspace. Variables for commands and the
// base image come from the Spec alone: a record must not add a right.
func (s *Spec) Resume(recorded Spec, known Catalogue) error {
	recorded.Isolation.Env, recorded.Isolation.Container.BaseImage = nil, ""
	flags := s.Isolation
	flags.Sandbox, flags.Reach = "", Reach{Domains: s.Isolation.Reach.Domains} // the rest is that of a file
	answers := Approvals{AllowAll: s.Approvals.AllowAll && recorded.Approvals.AllowAll, Plan: s.Approvals.Plan}
	s.resolve(Flags{Settings: Settings{Isolation: flags, Approvals: answers}}, recorded.Settings, known)
	if s.Runtime == Docker && recorded.Runtime == Docker {
		s.Isolation.Container.restrict(recorded.Isolation.Container)
	}
	s.Programs = recorded.Programs
	return s.CheckWorkspace(recorded)
}

func (s *Spec) resolve(flags Flags, recorded Settings, known Catalogue) {
	// Most settings of a container have no flag, so the Spec is the file as well.
	r := Resolve(flags, s.Settings, recorded, known)
	r.ReasoningDefault = r.ReasoningDefault || s.ReasoningDefault
	// A program that writes a Spec by hand turns the sandbox off itself. One that was resolved before
	// says whether the user did: the machine can lack one.
	off := s.Approvals.Timeout == 0 && r.Isolation.Sandbox == expert.SandboxOff
	r.Approvals.SandboxOff = s.Approvals.SandboxOff || off
	s.Settings = r.Settings
	s.Experts = slices.Clone(s.Experts)
	for i, e := range s.Experts {
		if e != nil && e.Provider != nil && e.Model == "" {
			own := *e
			own.Model = known.DefaultModel(e.Provider.Name)
			s.Experts[i] = &own
		}
	}
	if r.From("timeout") == Default && !slices.Contains(s.Experts, nil) {
		s.SetDefaultTimeout(known)
	}
}

// CheckWorkspace returns a [*MovedError] if the recorded job worked in another workspace.
func (s *Spec) CheckWorkspace(recorded Spec) error {
	had, now := recorded.Workspace.Dir, s.Workspace.Dir
	if had == "" || had == now {
		return nil
	}
	if real, err := filepath.EvalSymlinks(now); err == nil {
		now = real // as it was recorded
	}
	if had == now {
		return nil
	}
	return &MovedError{had, now}
}

// A MovedError says that a job would continue in another workspace than it worked in. What
// its conversation says about files would be wrong, and it would change another project.
type MovedError struct{ Had, Now string }

func (e *MovedError) Error() string {
	return fmt.Sprintf("the job worked in %s, and this run would work in %s", e.Had, e.Now)
}

// Check reports the first thing that makes a Spec unusable. It does not look at the
// machine.
func (s *Spec) Check() error {
	switch {
	case s.Expert == "":
		return fmt.Errorf("job: Spec.Expert is empty; name the Expert to run")
	case slices.Contains(s.Experts, nil):
		return fmt.Errorf("job: Spec.Experts has a nil Expert; leave it out")
	case s.Coordinator() == nil:
		return fmt.Errorf("job: Spec.Expert %q is not in Spec.Experts; add it", s.Expert)
	case s.Workspace.Dir == "":
		return fmt.Errorf("job: Spec.Workspace.Dir is empty; name a directory")
	case s.Input.Query == "" && !s.Input.Continue:
		return fmt.Errorf("job: Spec.Input.Query is empty; say what the Expert has to do")
	case s.Runtime != Local && s.Runtime != Docker:
		return fmt.Errorf("job: Spec.Runtime %q is unknown; use %q or %q", s.Runtime, Local, Docker)
	}
	seen := make(map[string]bool, len(s.Experts))
	for _, e := range s.Experts {
		if seen[e.Key] {
			return fmt.Errorf("job: Spec.Experts has two Experts with the key %q; each needs its own", e.Key)
		}
		seen[e.Key] = true
	}
	if _, missing := expert.Closure(s.Experts, s.Coordinator()); len(missing) > 0 {
		return fmt.Errorf("job: the delegate %q is not in Spec.Experts; add it", missing[0])
	}
	for _, check := range []func() error{s.Input.checkAttachments, s.Isolation.check, s.Approvals.check, s.Snapshots.check} {
		if err := check(); err != nil {
			return err
		}
	}
	return s.Limits.check()
}

// check refuses values that could not be kept.
func (l *Limits) check() error {
	for _, row := range limits {
		switch value := row.Value(l); {
		case value == None && row.AllowZero, value >= 0 && value <= row.Most: // false for NaN
		default:
			return fmt.Errorf("job: Spec.Limits: %s is not a limit; use a positive number up to %g, or 0 for the default", row.Name, row.Most)
		}
	}
	return nil
}
