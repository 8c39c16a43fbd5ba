package manifest

import (
	"github.com/perstack-go/perstack/expert"
	"github.com/perstack-go/perstack/job"
)

// Settings are what the file says about jobs. It holds no defaults.
func (c *Config) Settings() job.Settings {
	return job.Settings{
		Provider:  c.Provider.Name,
		Model:     c.Model,
		Setting:   c.Provider.Setting,
		Reasoning: c.ReasoningBudget,
		Runtime:   c.Runtime,
		Limits:    c.Limits,
		Isolation: job.Isolation{Container: c.Docker},
	}
}

// Spec is a job of an Expert of the file, without an input and a workspace.
func (c *Config) Spec(e *expert.Expert) job.Spec {
	experts, _ := c.Closure(e)
	return job.Spec{
		Expert:   e.Key,
		Experts:  experts,
		Project:  c.Keys(),
		Settings: c.Settings(),
		Models:   c.Models,
		Prices:   c.Prices,
		Manifest: c.Path,
	}
}

// Keys lists the Experts of the file.
func (c *Config) Keys() (keys []string) {
	for _, e := range c.Experts {
		keys = append(keys, e.Key)
	}
	return keys
}
