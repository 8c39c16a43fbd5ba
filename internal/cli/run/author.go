package run

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/perstack-go/perstack/engine"
	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/expert"
	"github.com/perstack-go/perstack/internal/cli/host"
	"github.com/perstack-go/perstack/internal/manifest"
	"github.com/perstack-go/perstack/internal/providers"
	"github.com/perstack-go/perstack/internal/terminal"
	"github.com/perstack-go/perstack/model"
	"github.com/perstack-go/perstack/store"
)

// An author is who thought for a job before, and where. Zero is nobody.
type author struct {
	provider, model, runtime string

	walls *event.Walls // nil for nothing special
}

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
	return author{state.Provider, state.Model, state.Runtime, state.Walls}, nil
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
	if !slices.Contains(model.Providers(), kept.provider) {
		kept = author{}
	}
	s.provider = cmp.Or(o.Provider, c.Provider.Name, kept.provider, model.DefaultProvider)
	if s.provider != kept.provider {
		kept.model = "" // it is another provider's
	}
	said := c.Model
	if kept.model != "" && c.Provider.Name == "" && !providers.Fits(s.provider, said) {
		said = "" // the file means the model for the usual provider
	}
	s.modelName = cmp.Or(o.Model, said, kept.model, model.DefaultModel(s.provider))
	if s.provider == "replay" {
		if o.Model != "" {
			return host.Usagef("--model does not go with the provider replay: a cassette has no models to choose from")
		}
		s.modelName = model.DefaultModel(s.provider) // a cassette has no models to choose from
	}
	if before.provider != "" && before.provider != s.provider {
		fmt.Fprintf(o.Host.Stderr, "perstack: the conversation goes on with %s, it was held with %s\n", s.provider, terminal.CleanLine(before.provider))
	}
	return nil
}

// chooseRuntime decides where the Expert runs, in the same order. A job that began behind
// a wall must not go on without it because a flag was not repeated.
func (s *setup) chooseRuntime(before author) {
	o := s.opts
	kept := before.runtime
	if kept != expert.DockerRuntime {
		kept = ""
	}
	s.runtime = cmp.Or(o.Runtime, s.config.Runtime, kept, expert.DefaultRuntime)
	if kept != "" && s.runtime != kept {
		fmt.Fprintf(o.Host.Stderr, "perstack: the job goes on with the runtime %s, it was run with %s: nothing stands around it any more\n", terminal.CleanLine(s.runtime), kept)
	}
}

// keepWalls takes over what was chosen for the container of the job, where flags and file
// say nothing: a workspace that was read-only must not be writable because a flag was not
// repeated.
//
// A journal may come from a stranger: it is asked last, what it names is checked like a
// flag, and the user is told of it.
func (s *setup) keepWalls(before author) error {
	o, file, had := s.opts, s.config.Docker, before.walls
	s.keepCells(before)
	if had == nil || before.runtime != expert.DockerRuntime || s.runtime != expert.DockerRuntime {
		return nil
	}
	var told []string
	if had.BaseImage != "" && o.BaseImage == "" && file.BaseImage == "" {
		if message, hint := manifest.ImageReference(had.BaseImage); message != "" {
			return host.Usagef("the base image that the job had: %s; %s, and give it with --base-image", message, hint)
		}
		s.kept.BaseImage = had.BaseImage
		told = append(told, "the base image "+had.BaseImage)
	}
	if had.ReadOnlyWorkspace && !o.ReadOnlyWorkspace && !o.WritableWorkspace && !file.ReadOnlyWorkspace {
		s.kept.ReadOnlyWorkspace = true
		told = append(told, "a read-only workspace")
	}
	if len(had.Env) > 0 && len(o.Env) == 0 {
		names := slices.Compact(slices.Sorted(slices.Values(had.Env)))
		if err := o.checkHanded(names, s.provider); err != nil {
			return host.Usagef("the variables that commands of the job had: %w; to hand on others instead, name them with --env", err)
		}
		s.kept.Env = names
		told = append(told, names...)
	}
	if len(told) > 0 {
		fmt.Fprintf(o.Host.Stderr, "perstack: the job goes on with %s, as before\n", enumerate(told))
	}
	return nil
}

// enumerate joins words as a sentence does.
func enumerate(words []string) string {
	last := len(words) - 1
	if last == 0 {
		return words[0]
	}
	return strings.Join(words[:last], ", ") + " and " + words[last]
}
