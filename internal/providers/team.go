package providers

import (
	"context"
	"fmt"
	"iter"
	"reflect"

	"github.com/perstack-go/perstack/expert"
	"github.com/perstack-go/perstack/model"
)

// OpenTeam is [Open] for Experts that work together, the first of which is the one that
// is run. They share provider and model; but each has the tools and skills of the
// provider that it names itself, and no others. Expert of the choice is not looked at.
func OpenTeam(c Choice, experts []*expert.Expert) (model.Model, error) {
	if len(experts) == 0 {
		return Open(c)
	}
	c.Expert = experts[0]
	first, err := Open(c)
	if err != nil || c.Provider == "replay" {
		return first, err
	}
	c.Warn = nil // all has been said
	t := &team{first: first, others: map[string]model.Model{}}
	opened := []thinker{{experts[0], first}}
	for _, e := range experts[1:] {
		m, ok := find(opened, e)
		if !ok {
			c.Expert = e
			if m, err = Open(c); err != nil {
				return nil, fmt.Errorf("expert %s: %w", e.Key, err)
			}
			opened = append(opened, thinker{e, m})
		}
		if m != first {
			t.others[e.Key] = m
		}
	}
	if len(t.others) == 0 {
		return first, nil
	}
	return t, nil
}

// thinker is a model with one of the Experts that it was opened for.
type thinker struct {
	expert *expert.Expert
	model  model.Model
}

// find looks for a model that was opened for an Expert which wants the same of the
// provider.
func find(all []thinker, e *expert.Expert) (model.Model, bool) {
	for _, o := range all {
		if sameWishes(o.expert, e) {
			return o.model, true
		}
	}
	return nil, false
}

// sameWishes reports whether two Experts want the same to be run by the provider.
func sameWishes(a, b *expert.Expert) bool {
	none := func(e *expert.Expert) bool { return len(e.ProviderTools)+len(e.ProviderSkills) == 0 }
	return none(a) && none(b) || reflect.DeepEqual(a.ProviderTools, b.ProviderTools) &&
		reflect.DeepEqual(a.ProviderSkills, b.ProviderSkills) && reflect.DeepEqual(a.ProviderToolOptions, b.ProviderToolOptions)
}

// A team asks the model of whoever asks.
type team struct {
	first  model.Model
	others map[string]model.Model // by the key of the Expert
}

func (t *team) Generate(ctx context.Context, req *model.Request) iter.Seq2[model.Chunk, error] {
	if m, ok := t.others[req.Expert]; ok {
		return m.Generate(ctx, req)
	}
	return t.first.Generate(ctx, req)
}
