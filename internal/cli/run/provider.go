package run

import (
	"fmt"

	"github.com/perstack-go/perstack/expert"
	"github.com/perstack-go/perstack/internal/cli/host"
	"github.com/perstack-go/perstack/internal/providers"
	"github.com/perstack-go/perstack/internal/terminal"
	"github.com/perstack-go/perstack/model"
)

// model returns the model that thinks for the run: for e and all that it may ask.
func (s *setup) model(e *expert.Expert) (model.Model, error) {
	choice, err := s.choice()
	if err != nil {
		return nil, err
	}
	experts, _ := s.config.Closure(e)
	m, err := providers.OpenTeam(choice, experts)
	if err != nil {
		return nil, &host.ExitError{Code: host.ExitUsage, Err: err}
	}
	return m, nil
}

// choice says which model the run uses.
func (s *setup) choice() (providers.Choice, error) {
	if s.opts.Cassette != "" && s.provider != "replay" {
		return providers.Choice{}, host.Usagef("--cassette goes with --provider replay, not %s", s.provider)
	}
	return providers.Choice{
		Provider: s.provider,
		Model:    s.modelName,
		Setting:  s.setting(),
		Entry:    s.config.Models[s.modelName],
		Config:   s.config.Path,

		Env:     s.env.Get,
		EnvFile: s.env.File,
		Dir:     s.opts.Host.Dir,

		OwnTools:  true,
		Reasoning: s.asked,

		Warn: func(message string) {
			fmt.Fprintln(s.opts.Host.Stderr, "perstack: "+terminal.CleanLine(message))
		},
		Hide: s.opts.Host.Secrets.Add,
	}, nil
}

// setting is [provider.setting], if it belongs to the provider in use, after flags.
func (s *setup) setting() expert.Setting {
	var setting expert.Setting
	if s.config.Provider.Name == s.provider {
		setting = s.config.Provider.Setting
	}
	if s.opts.Cassette != "" {
		setting.Cassette = s.opts.Host.Path(s.opts.Cassette)
	}
	return setting
}

// known is what is known of the model: how much it reads and writes at once. The file
// goes before the catalogue.
func (s *setup) known() model.Known {
	known, _ := model.Lookup(s.provider, s.modelName)
	return known.With(s.config.Models[s.modelName])
}
