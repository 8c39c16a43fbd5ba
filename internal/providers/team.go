package providers

import (
	"context"
	"fmt"
	"iter"
	"reflect"

	"github.com/perstack-go/perstack/expert"
	"github.com/perstack-go/perstack/model"
)

// OpenTeam is [Open] for an Expert and its delegates; the first is the one that is run. They
// share provider and model, but each gets only those tools and skills of the provider that
// it names itself. The Expert of the Config is ignored.
func OpenTeam(c Config, experts []*expert.Expert) (model.Model, error) {
	if len(experts) == 0 {
		return Open(c)
	}
	c.Expert = experts[0]
	first, err := Open(c)
	if err != nil || c.Provider == "replay" {
		return first, err
	}
	c.Warn = nil // the first one has warned
	t := &team{first: first, others: map[string]model.Model{}}
	opened := []openedFor{{experts[0], first}}
	for _, e := range experts[1:] {
		m, ok := find(opened, e)
		if !ok {
			c.Expert = e
			if m, err = Open(c); err != nil {
				return nil, &ExpertError{e, err}
			}
			opened = append(opened, openedFor{e, m})
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

// An ExpertError says for which Expert a model cannot be opened.
type ExpertError struct {
	Expert *expert.Expert
	Err    error
}

func (e *ExpertError) Error() string { return fmt.Sprintf("expert %q: %v", e.Expert.Key, e.Err) }

func (e *ExpertError) Unwrap() error { return e.Err }

type openedFor struct {
	expert *expert.Expert
	model  model.Model
}

// find looks for a model that was opened for an Expert with the same tools and skills of the
// provider.
func find(all []openedFor, e *expert.Expert) (model.Model, bool) {
	for _, o := range all {
		if sameHosted(o.expert, e) {
			return o.model, true
		}
	}
	return nil, false
}

// sameHosted reports whether the provider runs the same tools and skills for two Experts.
func sameHosted(a, b *expert.Expert) bool {
	none := func(e *expert.Expert) bool { return len(e.ProviderTools)+len(e.ProviderSkills) == 0 }
	return none(a) && none(b) || reflect.DeepEqual(a.ProviderTools, b.ProviderTools) &&
		reflect.DeepEqual(a.ProviderSkills, b.ProviderSkills) && reflect.DeepEqual(a.ProviderToolOptions, b.ProviderToolOptions)
}

// A team is one model for each Expert that needs its own.
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
