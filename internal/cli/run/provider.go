package run

import (
	"fmt"

	"github.com/perstack-go/perstack/expert"
	"github.com/perstack-go/perstack/internal/cli/host"
	"github.com/perstack-go/perstack/internal/terminal"
	"github.com/perstack-go/perstack/model"
	"github.com/perstack-go/perstack/model/providers"
)

// model returns the model that thinks for the run.
func (s *setup) model(e *expert.Expert) (model.Model, error) {
	if s.opts.Cassette != "" && s.provider != "replay" {
		return nil, host.Usagef("--cassette goes with --provider replay, not %s", s.provider)
	}
	setting := s.setting()
	if setting.BaseURL != "" {
		fmt.Fprintf(s.opts.Host.Stderr, "perstack: what the Expert sees and your key go to %s, as %s says\n",
			terminal.CleanLine(setting.BaseURL), terminal.CleanLine(s.config.Path))
	}
	m, err := providers.Open(providers.Choice{
		Provider: s.provider,
		Model:    s.modelName,
		Setting:  setting,
		Env:      s.env.Get,
		EnvFile:  s.env.File,
		Expert:   e,
	})
	if err != nil {
		return nil, &host.ExitError{Code: host.ExitUsage, Err: err}
	}
	return m, nil
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

// known is what is known of the model: how much it reads and writes at once.
func (s *setup) known() model.Known {
	known, _ := model.Lookup(s.provider, s.modelName)
	return known
}
