package skills

import (
	"errors"
	"sync"

	"github.com/perstack-go/perstack/expert"
	"github.com/perstack-go/perstack/rawjson"
	"github.com/perstack-go/perstack/skill"
)

// A house is the rooms of the skills of one Expert that are locked in, and the proxy by
// which they get out.
type house struct {
	listeners *listeners // nil when they are the business of others
	rooms     map[string]*room

	mu   sync.Mutex
	left int // rooms that somebody lives in
}

// settle makes the rooms of skills, and opens their listeners. Where nobody is locked in, there
// is no house.
func (s *set) settle(skills []*expert.Skill) error {
	var locked []*expert.Skill
	for _, k := range skills {
		if s.site.Sandboxes.Lock(k) {
			locked = append(locked, k)
		}
	}
	if locked == nil {
		return nil
	}
	s.house = &house{rooms: make(map[string]*room, len(locked)), left: len(locked)}
	for _, k := range locked {
		r, err := s.site.Sandboxes.furnish(k)
		if err != nil {
			return err
		}
		s.house.rooms[k.Name] = r
	}
	if !s.site.Sandboxes.OwnListeners {
		return nil
	}
	var err error
	if s.house.listeners, err = s.openListeners(s.life, s.expert.Key, locked); err != nil {
		return err
	}
	return nil
}

// room returns that of a skill; nil if it is not locked in.
func (s *set) room(k *expert.Skill) *room {
	if s.house == nil {
		return nil
	}
	return s.house.rooms[k.Name]
}

// clear takes down what was made for skills that do not live any more, or never did.
func (h *house) clear() error {
	if h == nil {
		return nil
	}
	var errs []error
	for _, r := range h.rooms {
		errs = append(errs, r.remove())
	}
	h.listeners.close()
	return errors.Join(errs...)
}

// leave gives a room back. Behind the last one the listeners are closed.
func (h *house) leave(r *room) error {
	err := r.remove()
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.left--; h.left == 0 {
		h.listeners.close()
	}
	return err
}

// A tenant is a skill with a room, which is cleared when the skill is closed.
type tenant struct {
	skill.Skill
	leave func() error
}

var _ skill.Rememberer = (*tenant)(nil)

// lodge returns a skill that leaves its room when it is closed, if it has one.
func (s *set) lodge(k *expert.Skill, of skill.Skill) skill.Skill {
	r := s.room(k)
	if r == nil {
		return of
	}
	return &tenant{of, sync.OnceValue(func() error { return s.house.leave(r) })}
}

// Close ends the skill before its room goes: nothing runs in it any more.
func (t *tenant) Close() error { return errors.Join(t.Skill.Close(), t.leave()) }

// Memory and Recall hand through what the skill remembers, if it does.
func (t *tenant) Memory() rawjson.Value {
	if r, ok := t.Skill.(skill.Rememberer); ok {
		return r.Memory()
	}
	return nil
}

// Recall is the other half of Memory.
func (t *tenant) Recall(memory rawjson.Value) error {
	if r, ok := t.Skill.(skill.Rememberer); ok {
		return r.Recall(memory)
	}
	return nil
}
