package job

import (
	"fmt"
	"slices"

	"github.com/perstack-go/perstack/expert"
)

// Complete fills in the defaults of settings that nothing was said about, for programs that
// write a Spec by hand. A Spec made with [Resolve] is complete.
func (s *Spec) Complete(known Catalogue) {
	// Most settings of a container have no flag, so the Spec is the file as well.
	r := Resolve(Flags{Settings: s.Settings}, s.Settings, Settings{}, known)
	r.ReasoningDefault = r.ReasoningDefault || s.ReasoningDefault
	s.Settings = r.Settings
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
