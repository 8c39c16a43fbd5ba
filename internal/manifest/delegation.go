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

// Unanswerable warns about interactive skills of Experts that others may ask: a delegate
// has nobody to put its question to, so it is not offered these tools. That is no mistake
// of the file, since such an Expert can be run by itself as well.
func (c *Config) Unanswerable() (ps toml.Problems) {
	asked := c.askedBy()
	for _, e := range c.Experts {
		by := asked[e]
		if by == nil {
			continue
		}
		for _, s := range e.Skills {
			if s.Type != expert.InteractiveSkill {
				continue
			}
			path := toml.PathTo("experts", e.Name, "skills", s.Name)
			p := c.Problem(path, "the user cannot answer it when "+wording.Quote(by.Name)+" delegates to "+wording.Quote(e.Name)+": a delegate does not get these tools",
				"have "+wording.Quote(by.Name)+" ask, and put the answer into the query")
			p.Warning = true
			ps = append(ps, p)
		}
	}
	return ps
}

// askedBy says of each Expert that others may ask who is the first of them in the file.
func (c *Config) askedBy() map[*expert.Expert]*expert.Expert {
	all, asked := expert.NewIndex(c.Experts), map[*expert.Expert]*expert.Expert{}
	for _, e := range c.Experts {
		for _, key := range e.Delegates {
			if d, ok := all.Lookup(key); ok && asked[d] == nil {
				asked[d] = e
			}
		}
	}
	return asked
}

// Undescribed warns about Experts that others may ask without being told what for: the
// model sees them as tools without a description, and cannot know when to call them.
func (c *Config) Undescribed() (ps toml.Problems) {
	asked := c.askedBy()
	for _, e := range c.Experts {
		if by := asked[e]; by != nil && e.Description == "" {
			p := c.Problem(toml.PathTo("experts", e.Name), "has no description, but "+wording.Quote(by.Name)+" delegates to it", "say in one what it is for: the model reads it to know when to ask")
			p.Warning = true
			ps = append(ps, p)
		}
	}
	return ps
}
