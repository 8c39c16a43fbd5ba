package manifest

import (
	"math/big"

	"github.com/perstack-go/perstack/expert"
	"github.com/perstack-go/perstack/internal/toml"
	"github.com/perstack-go/perstack/internal/wording"
)

// Circles are groups of Experts that can reach each other by delegation, and so
// themselves, among those that e can reach. The groups, and the Experts in one, have
// the order of Closure. A circle is no mistake, since an Expert may stop asking, but only
// a limit ends it if none does.
func (c *Config) Circles(e *expert.Expert) (circles [][]*expert.Expert) {
	experts, _ := c.Closure(e)
	reached := c.reach(experts)
	grouped := make([]bool, len(experts))
	for i := range experts {
		var circle []*expert.Expert
		for j, other := range experts {
			if !grouped[j] && reached[i].Bit(j) == 1 && reached[j].Bit(i) == 1 {
				grouped[j] = true
				circle = append(circle, other)
			}
		}
		if len(circle) > 0 {
			circles = append(circles, circle)
		}
	}
	return circles
}

// reach has, for each of these Experts, the set of those that it can reach by delegation, as
// bits of their numbers in the list. It uses Warshall's algorithm: the number of Experts in
// a file bounds its cost.
func (c *Config) reach(experts []*expert.Expert) []big.Int {
	number := make(map[*expert.Expert]int, len(experts))
	for i, e := range experts {
		number[e] = i
	}
	reached := make([]big.Int, len(experts))
	for i, e := range experts {
		for _, key := range e.Delegates {
			if n, ok := number[c.index[key]]; ok {
				reached[i].SetBit(&reached[i], n, 1)
			}
		}
	}
	for via := range reached {
		for i := range reached {
			if reached[i].Bit(via) == 1 {
				reached[i].Or(&reached[i], &reached[via])
			}
		}
	}
	return reached
}

// Meets calls found for the Experts of the file that a run has together although it must not:
// one of the first kind, with one of the second. It names each pair of first Experts that a run
// can have, once for each kind of second Expert. Looking at every run by itself would take
// long in a file of a thousand Experts that all reach each other.
func (c *Config) Meets(first func(*expert.Expert) bool, second func(*expert.Expert) (kind string), found func(first *expert.Expert, kind string)) {
	var firsts big.Int
	kinds, order := map[string]*big.Int{}, []string(nil)
	for i, e := range c.Experts {
		if first(e) {
			firsts.SetBit(&firsts, i, 1)
		}
		if kind := second(e); kind != "" {
			if kinds[kind] == nil {
				kinds[kind], order = new(big.Int), append(order, kind)
			}
			kinds[kind].SetBit(kinds[kind], i, 1)
		}
	}
	if firsts.Sign() == 0 || len(order) == 0 {
		return
	}
	var both big.Int
	told := map[string]map[uint]bool{}
	for i, reached := range c.reach(c.Experts) {
		reached.SetBit(&reached, i, 1)
		if both.And(&reached, &firsts).Sign() == 0 {
			continue
		}
		at := both.TrailingZeroBits()
		for _, kind := range order {
			if !told[kind][at] && both.And(&reached, kinds[kind]).Sign() != 0 {
				if told[kind] == nil {
					told[kind] = map[uint]bool{}
				}
				told[kind][at] = true
				found(c.Experts[at], kind)
			}
		}
	}
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
	callers := map[*expert.Expert]*expert.Expert{} // the first in the file
	for _, e := range c.Experts {
		for _, key := range e.Delegates {
			if d := c.index[key]; d != nil && callers[d] == nil {
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
