package run

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/perstack-go/perstack/engine"
	"github.com/perstack-go/perstack/expert"
	"github.com/perstack-go/perstack/internal/cli/host"
	"github.com/perstack-go/perstack/internal/terminal"
	"github.com/perstack-go/perstack/model/providers"
	"github.com/perstack-go/perstack/store"
)

// An author is who thought for a job before. Zero is nobody.
type author struct{ provider, model string }

// recordedAuthor is who a conversation was held with: the one that goes on, or that of the
// checkpoint which it goes on from. That a checkpoint is missing is for the engine to tell.
func recordedAuthor(ctx context.Context, o *Options, s store.Store, t target) (author, error) {
	if !o.continues() {
		return author{}, nil
	}
	history, err := engine.Load(ctx, s, t.jobID)
	if err != nil {
		return author{}, err
	}
	point, _ := history.Head()
	state := point.State
	if open := history.Open(); len(open) > 0 && open[0].DelegatedBy == nil {
		state = open[0] // its process died
	}
	if point, ok := history.At(t.checkpointID); ok && t.checkpointID != "" {
		state = point.State
	}
	return author{state.Provider, state.Model}, nil
}

// chooseModel decides who thinks: as flags say, else as the file does, else as it was
// before, else as usual. A conversation must not go to another company because a flag was
// not repeated. Where the user or the file sends it to one, that is said.
//
// A journal may come from a stranger: it is asked last, and names nobody but those whom
// perstack knows.
func (s *setup) chooseModel(before author) error {
	o, c := s.opts, s.config
	kept := before
	if !slices.Contains(expert.Providers(), kept.provider) {
		kept = author{}
	}
	s.provider = cmp.Or(o.Provider, c.Provider.Name, kept.provider, expert.DefaultProvider)
	if s.provider != kept.provider {
		kept.model = "" // it is another provider's
	}
	said := c.Model
	if kept.model != "" && c.Provider.Name == "" && !providers.Fits(s.provider, said) {
		said = "" // the file means the model for the usual provider
	}
	s.modelName = cmp.Or(o.Model, said, kept.model, expert.DefaultModel(s.provider))
	if s.provider == "replay" {
		if o.Model != "" {
			return host.Usagef("--model does not go with the provider replay: a cassette has no models to choose from")
		}
		s.modelName = expert.DefaultModel(s.provider) // a cassette has no models to choose from
	}
	if before.provider != "" && before.provider != s.provider {
		fmt.Fprintf(o.Host.Stderr, "perstack: the conversation goes on with %s, it was held with %s\n", s.provider, terminal.CleanLine(before.provider))
	}
	return nil
}
