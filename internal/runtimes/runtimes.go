// Package runtimes has what the runtimes share: how a model is opened from a Spec. Each
// runtime is a package below this one, with the function
//
//	Run(ctx context.Context, spec job.Spec, parts engine.Parts) (engine.Result, error)
package runtimes

import (
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
