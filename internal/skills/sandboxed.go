package skills

import (
	"errors"
	"slices"
	"sync"

	"github.com/perstack-go/perstack/expert"
	"github.com/perstack-go/perstack/internal/sandbox/policy"
	"github.com/perstack-go/perstack/job"
	"github.com/perstack-go/perstack/skill"
)

// expertSandboxes are the sandboxes of the skills of one Expert, and their proxy.
type expertSandboxes struct {
	listeners *listeners // nil when the runtime has a proxy
	bySkill   map[string]*skillSandbox

	mu   sync.Mutex
	open int // sandboxes whose skill is not closed
}

// openSandboxes makes the directories of sandboxed skills and opens their listeners.
func (s *set) openSandboxes(skills []*expert.Skill) (err error) {
	sandboxed := slices.DeleteFunc(slices.Clone(skills), func(k *expert.Skill) bool { return !s.site.Sandboxes.Contain(k) })
	if len(sandboxed) == 0 {
		return nil
	}
	s.sandboxes = &expertSandboxes{bySkill: make(map[string]*skillSandbox, len(sandboxed)), open: len(sandboxed)}
	for _, k := range sandboxed {
		b, err := s.site.Sandboxes.newSandbox(k)
		if err != nil {
			return err
		}
		s.sandboxes.bySkill[k.Name] = b
	}
	// At level landlock a program can connect to the port of its listener on any host. Without a network
	// there is no listener, and so no port.
	if s.site.Sandboxes.OwnListeners && s.site.Sandboxes.full == nil && s.site.Sandboxes.Reach.Network != job.NetworkNone {
		s.sandboxes.listeners, err = s.openListeners(sandboxed)
	}
	return err
}

// sandboxOf returns the sandbox of a skill; nil if it has none.
func (s *set) sandboxOf(k *expert.Skill) *skillSandbox {
	if s.sandboxes == nil {
		return nil
	}
	return s.sandboxes.bySkill[k.Name]
}

// off is the policy of programs that have no sandbox.
func (s *set) off() *policy.Policy {
	if s.site.Parts.Container != nil {
		return policy.Off(policy.InContainer)
	}
	return policy.Off(policy.JobOff)
}

// removeAll removes the sandboxes of skills that have ended or never started.
func (all *expertSandboxes) removeAll() error {
	if all == nil {
		return nil
	}
	var errs []error
	for _, b := range all.bySkill {
		errs = append(errs, b.remove())
	}
	all.listeners.close()
	return errors.Join(errs...)
}

// remove removes the sandbox of one skill, and with the last one closes the listeners.
func (all *expertSandboxes) remove(b *skillSandbox) error {
	err := b.remove()
	all.mu.Lock()
	defer all.mu.Unlock()
	if all.open--; all.open == 0 {
		all.listeners.close()
	}
	return err
}

// A sandboxedSkill removes its sandbox when it is closed.
type sandboxedSkill struct {
	skill.Skill
	remove func() error
}

// Unwrap returns the skill, which may have a memory.
func (s *sandboxedSkill) Unwrap() skill.Skill { return s.Skill }

// sandboxed wraps a skill that has a sandbox, and returns any other as it is.
func (s *set) sandboxed(k *expert.Skill, inner skill.Skill) skill.Skill {
	b := s.sandboxOf(k)
	if b == nil {
		return inner
	}
	return &sandboxedSkill{inner, sync.OnceValue(func() error { return s.sandboxes.remove(b) })}
}

// Close ends the skill before it removes the sandbox, so that nothing runs in it.
func (s *sandboxedSkill) Close() error { return errors.Join(s.Skill.Close(), s.remove()) }
