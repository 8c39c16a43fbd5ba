package providers

import (
	"context"
	"fmt"
	"iter"
	"reflect"
	"slices"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/expert"
	"github.com/perstack-go/perstack/model"
)

// A Team is one model made of those of several Experts, by their keys.
type Team map[string]model.Model

// Generate asks the model of the Expert that the request is from.
func (t Team) Generate(ctx context.Context, req *model.Request) iter.Seq2[model.Chunk, error] {
	m, ok := t[req.Expert]
	if !ok {
		return func(yield func(model.Chunk, error) bool) {
			yield(model.Chunk{}, fmt.Errorf("expert %q has no model", req.Expert))
		}
	}
	return m.Generate(ctx, req)
}

// CheckMedia implements [model.MediaChecker]. A model that does not know can be sent everything.
func (t Team) CheckMedia(expertKey string, parts []event.Part) error {
	if m, ok := t[expertKey].(model.MediaChecker); ok {
		return m.CheckMedia(expertKey, parts)
	}
	return nil
}

// OpenTeam is [Open] for an Expert and its delegates; the first is the one that is run. They
// share provider and model, but each gets only those tools and skills of the provider that
// it names itself. The Expert of the Config is ignored.
func OpenTeam(c Config, experts []*expert.Expert) (Team, error) {
	if len(experts) == 0 {
		experts = []*expert.Expert{{}}
	}
	team := make(Team)
	for i, e := range experts {
		if same := slices.IndexFunc(experts[:i], func(other *expert.Expert) bool { return sameHosted(other, e) }); same >= 0 {
			team[e.Key] = team[experts[same].Key]
			continue
		}
		c.Expert = e
		m, err := Open(c)
		switch {
		case err != nil && i == 0:
			return nil, err
		case err != nil:
			return nil, &ExpertError{e, err}
		}
		team[e.Key] = m
		c.Warn = nil // the first one has warned
	}
	return team, nil
}

// An ExpertError says for which Expert a model cannot be opened.
type ExpertError struct {
	Expert *expert.Expert
	Err    error
}

func (e *ExpertError) Error() string { return fmt.Sprintf("expert %q: %v", e.Expert.Key, e.Err) }

func (e *ExpertError) Unwrap() error { return e.Err }

// sameHosted reports whether the provider runs the same tools and skills for two Experts.
func sameHosted(a, b *expert.Expert) bool {
	none := func(e *expert.Expert) bool { return len(e.ProviderTools)+len(e.ProviderSkills) == 0 }
	return none(a) && none(b) || reflect.DeepEqual(a.ProviderTools, b.ProviderTools) &&
		reflect.DeepEqual(a.ProviderSkills, b.ProviderSkills) && reflect.DeepEqual(a.ProviderToolOptions, b.ProviderToolOptions)
}
