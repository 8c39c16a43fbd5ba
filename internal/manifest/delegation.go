package manifest

import (
	"slices"

	"github.com/perstack-go/perstack/expert"
	"github.com/perstack-go/perstack/internal/toml"
	"github.com/perstack-go/perstack/internal/wording"
)

// Circles are groups of Experts that can reach each other by delegation, and so
// themselves, among those that e can reach. The groups, and the Experts in one, stand in
// the order of Closure. A circle is no mistake, since an Expert may stop asking, but only
// a limit ends it if none does.
func (c *Config) Circles(e *expert.Expert) [][]*expert.Expert {
	experts, _ := c.Closure(e)
	s := &circleSearch{all: expert.NewIndex(c.Experts), number: map[*expert.Expert]int{}, lowest: map[*expert.Expert]int{}, open: map[*expert.Expert]bool{}, group: map[*expert.Expert]int{}}
	s.visit(e)
	place, circles := map[int]int{}, [][]*expert.Expert(nil)
	for _, e := range experts {
		g := s.group[e]
		if s.sizes[g] < 2 { // no Expert delegates to itself
			continue
		}
		at, ok := place[g]
		if !ok {
			at = len(circles)
			place[g], circles = at, append(circles, nil)
		}
		circles[at] = append(circles[at], e)
	}
	return circles
}

// circleSearch is Tarjan's search for strongly connected parts: one walk, whatever the
// file looks like. The number of Experts in a file bounds how deep it goes.
type circleSearch struct {
	all            expert.Index
	number, lowest map[*expert.Expert]int
	stack          []*expert.Expert
	open           map[*expert.Expert]bool
	group          map[*expert.Expert]int
	sizes          []int
}

func (s *circleSearch) visit(e *expert.Expert) {
	s.number[e] = len(s.number)
	s.lowest[e] = s.number[e]
	s.stack, s.open[e] = append(s.stack, e), true
	for _, key := range e.Delegates {
		next, ok := s.all.Lookup(key)
		if !ok {
			continue
		}
		if _, seen := s.number[next]; !seen {
			s.visit(next)
			s.lowest[e] = min(s.lowest[e], s.lowest[next])
		} else if s.open[next] {
			s.lowest[e] = min(s.lowest[e], s.number[next])
		}
	}
	if s.lowest[e] != s.number[e] {
		return
	}
	at := slices.Index(s.stack, e)
	for _, member := range s.stack[at:] {
		s.open[member], s.group[member] = false, len(s.sizes)
	}
	s.sizes, s.stack = append(s.sizes, len(s.stack)-at), s.stack[:at]
}

// DelegateWarnings are about Experts that others delegate to, and that can be run by
// themselves as well. Without a description, the model cannot know when to call one. A
// delegate cannot ask the user, so it is not offered the tools of its interactive skills.
func (c *Config) DelegateWarnings() (ps toml.Problems) {
	warn := func(path, message, hint string) {
		p := c.Problem(path, message, hint)
		p.Warning = true
		ps = append(ps, p)
	}
	index, callers := expert.NewIndex(c.Experts), map[*expert.Expert]*expert.Expert{} // the first in the file
	for _, e := range c.Experts {
		for _, key := range e.Delegates {
			if d, ok := index.Lookup(key); ok && callers[d] == nil {
				callers[d] = e
			}
		}
	}
	for _, e := range c.Experts {
		if callers[e] == nil {
			continue
		}
		caller := wording.Quote(callers[e].Name)
		if e.Description == "" {
			warn(toml.PathTo("experts", e.Name), "has no description, but "+caller+" delegates to it", "say in one what it is for: the model reads it to know when to ask")
		}
		for _, s := range e.Skills {
			if s.Type == expert.InteractiveSkill {
				warn(toml.PathTo("experts", e.Name, "skills", s.Name), "the user cannot answer it when "+caller+" delegates to "+wording.Quote(e.Name)+": a delegate does not get these tools",
					"have "+caller+" ask, and put the answer into the query")
			}
		}
	}
	return ps
}
