package doctor

import (
	"context"
	"fmt"
	"strings"

	"github.com/perstack-go/perstack/expert"
	"github.com/perstack-go/perstack/internal/env"
	"github.com/perstack-go/perstack/internal/manifest"
	"github.com/perstack-go/perstack/internal/providers"
	"github.com/perstack-go/perstack/job"
	"github.com/perstack-go/perstack/model"
)

// keys checks that the models of the project can be opened, which sends nothing. A key is never
// shown, only where it comes from.
func (x *examination) keys() (all []Check) {
	values, err := x.values()
	if err != nil {
		return []Check{{ID: "key", Title: "model and key", Status: Fail, Detail: err.Error(), Fix: "fix the env file"}}
	}
	p := x.project()
	if p.config == nil || p.problems.Err() != nil {
		return []Check{anyKey(values)}
	}
	for _, c := range x.models(p.config, values) {
		all = append(all, keyCheck(c, values))
	}
	return all
}

// models are the providers that the Experts of a file use, each address once.
func (x *examination) models(c *manifest.Config, values env.Env) (all []providers.Config) {
	seen := make(map[string]bool)
	for _, e := range c.Experts {
		use := providers.Choice(c.Settings, e)
		id := use.Provider + " " + use.Setting.BaseURL
		if seen[id] {
			continue
		}
		seen[id] = true
		use.Setting.ExtraBody = nil // it says nothing about keys
		all = append(all, providers.Config{
			Provider: use.Provider, Model: use.Model, Setting: use.Setting, Entry: c.Models[use.Model],
			Expert: &expert.Expert{Name: e.Name, Model: e.Model, Provider: e.Provider}, OwnTools: true, File: c.Path, Dir: x.host.Dir,
			Variables: func(name string) providers.Variable {
				return providers.Variable{Value: values.Get(name), File: values.File(name)}
			},
			Hide: x.host.Secrets.Add,
		})
	}
	return all
}

func keyCheck(c providers.Config, values env.Env) Check {
	name := c.Provider
	check := Check{ID: "key." + name, Title: name, Status: OK}
	if name == "replay" {
		check.Status, check.Detail = Info, "plays the answers of a cassette; no key is needed"
		return check
	}
	facts := model.ProviderNamed(name)
	if _, err := providers.Open(c); err != nil {
		check.Status, check.Detail = Fail, err.Error()
		if len(facts.KeyEnv) > 0 {
			check.Fix = "set " + facts.KeyEnv[0] + " in the environment or in .env"
		}
		return check
	}
	from := keySource(facts, values)
	if from == "" {
		from = "no key is set, and none is needed"
	}
	check.Detail = c.Model + ", " + from
	return check
}

// keySource says which variable has the key of a provider, and where it is set.
func keySource(facts model.Provider, values env.Env) string {
	for _, name := range facts.KeyEnv {
		switch {
		case values.Get(name) == "":
		case values.File(name) != "":
			return "key from " + name + " in " + values.File(name)
		default:
			return "key from " + name + " in the environment"
		}
	}
	return ""
}

// anyKey is for a directory without a project: is there any key?
func anyKey(values env.Env) Check {
	check := Check{ID: "key", Title: "model and key", Status: OK}
	var found []string
	for _, name := range model.Providers() {
		if from := keySource(model.ProviderNamed(name), values); from != "" {
			found = append(found, name+": "+from)
		}
	}
	check.Detail = strings.Join(found, "; ")
	if len(found) == 0 {
		first := model.ProviderNamed(job.DefaultProvider)
		check.Status, check.Detail = Warn, "no key of a provider is set"
		check.Fix = fmt.Sprintf("set %s in the environment or in .env, or use the provider ollama, which needs none", first.KeyEnv[0])
	}
	return check
}

// online connects to the hosts of the models.
func (x *examination) online(ctx context.Context) (all []Check) {
	p := x.project()
	values, err := x.values()
	if err != nil || p.config == nil || p.problems.Err() != nil {
		return []Check{{ID: "online", Title: "online", Status: Info, Detail: "there is no project with a model to connect to"}}
	}
	for _, c := range x.models(p.config, values) {
		all = append(all, x.connect(ctx, c)...)
	}
	return all
}
