// Package runtimes has what the runtimes share: how a model is opened from a Spec, and which
// secrets a Spec leads to. Each runtime is a package below this one, with the function
//
//	Run(ctx context.Context, spec job.Spec, parts engine.Parts) (engine.Result, error)
package runtimes

import (
	"strings"

	"github.com/perstack-go/perstack/engine"
	"github.com/perstack-go/perstack/internal/providers"
	"github.com/perstack-go/perstack/job"
	"github.com/perstack-go/perstack/model"
)

// OpenModel opens the model that a Spec names.
func OpenModel(spec job.Spec, parts engine.Parts) (model.Model, error) {
	return providers.OpenTeam(ModelConfig(spec, parts), spec.Experts)
}

// ModelConfig says which model a Spec names, and where its key comes from.
func ModelConfig(spec job.Spec, parts engine.Parts) providers.Config {
	c := providers.Config{
		Provider: spec.Provider,
		Model:    spec.Model,
		Setting:  spec.Setting,
		Entry:    spec.Models[spec.Model],
		File:     spec.Manifest,
		Env:      func(name string) string { return parts.Variables(name).Value },
		EnvFile:  func(name string) string { return parts.Variables(name).File },
		Dir:      parts.Dir,
		OwnTools: true,
		Warn:     func(message string) { parts.Log.Warn(message) },
		Hide:     parts.Secrets.Add,
	}
	if !spec.ReasoningDefault {
		c.Reasoning = spec.Reasoning
	}
	return c
}

// HideSecrets hides what a Spec leads to: the keys of its provider, and the values of variables
// that skills require, of headers and of extraBody if they look like keys.
func HideSecrets(to engine.Secrets, spec job.Spec, lookup func(variable string) string) {
	HideKeys(to, spec.Provider, lookup)
	for _, e := range spec.Experts {
		for _, k := range e.Skills {
			for _, name := range k.RequiredEnv {
				to.AddIfRandom(name, lookup(name))
			}
		}
	}
	headers := spec.Headers()
	for name, value := range headers.Body {
		to.AddIfRandom(name, string(value)) // a gateway can want a key there
	}
	hideHeaders(to, headers.Provider)
	for _, values := range headers.Skills {
		hideHeaders(to, values)
	}
}

// HideKeys hides the keys of a provider.
func HideKeys(to engine.Secrets, provider string, lookup func(variable string) string) {
	for _, name := range model.KeyEnv(provider) {
		if name == model.CredentialsEnv { // a path, as a rule
			to.AddIfRandom(name, lookup(name))
		} else {
			to.AddKey(name, lookup(name))
		}
	}
}

// hideHeaders hides the values of headers. Of "Bearer KEY" it hides the key alone.
func hideHeaders(to engine.Secrets, headers map[string]string) {
	for name, value := range headers {
		if words := strings.Fields(value); len(words) > 0 {
			to.AddIfRandom(name, words[len(words)-1])
		}
	}
}
