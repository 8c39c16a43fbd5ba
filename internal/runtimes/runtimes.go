// Package runtimes has what the runtimes share: how a model is opened from a Spec, and which
// secrets a Spec leads to. Each runtime is a package below this one, with the function
//
//	Run(ctx context.Context, spec job.Spec, parts engine.Parts) (engine.Result, error)
package runtimes

import (
	"errors"
	"maps"
	"slices"
	"strings"
	"unicode"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/perstack-go/perstack/engine"
	"github.com/perstack-go/perstack/expert"
	"github.com/perstack-go/perstack/internal/lockfile"
	"github.com/perstack-go/perstack/internal/providers"
	"github.com/perstack-go/perstack/job"
	"github.com/perstack-go/perstack/model"
)

// OpenModel opens the models that a Spec names. change, if not nil, changes the Config of each.
func OpenModel(spec job.Spec, parts engine.Parts, change func(providers.Config) providers.Config) (model.Model, error) {
	all := make(providers.Team)
	for _, use := range spec.ModelUses() {
		config := ModelConfig(spec, parts, use.ModelChoice)
		if change != nil {
			config = change(config)
		}
		team, err := providers.OpenTeam(config, use.Experts)
		if err != nil {
			return nil, NameExpert(use, err)
		}
		maps.Copy(all, team)
	}
	return all, nil
}

// NameExpert adds to an error about a model the Expert that names it; nothing if the model is
// that of the job.
func NameExpert(use job.ModelUse, err error) error {
	ofJob := slices.ContainsFunc(use.Experts, func(e *expert.Expert) bool { return !e.NamesModel() })
	if err == nil || ofJob || len(use.Experts) == 0 || errors.As(err, new(*providers.ExpertError)) {
		return err
	}
	return &providers.ExpertError{Expert: use.Experts[0], Err: err}
}

// ModelConfig says which model is opened, and where its key comes from.
func ModelConfig(spec job.Spec, parts engine.Parts, choice job.ModelChoice) providers.Config {
	c := providers.Config{
		Provider:  choice.Provider,
		Model:     choice.Model,
		Setting:   choice.Setting,
		Entry:     spec.Models[choice.Model],
		File:      spec.Manifest,
		Variables: func(name string) providers.Variable { return providers.Variable(parts.Variables(name)) },
		Dir:       parts.Dir,
		OwnTools:  true,
		Warn:      func(message string) { parts.Log.Warn(message) },
		Hide:      parts.Secrets.Add,
	}
	if !spec.ReasoningDefault {
		c.Reasoning = spec.Reasoning
	}
	return c
}

// Lock reads the lockfile of a Spec; nil if it has none.
func Lock(spec job.Spec) (*lockfile.Lock, error) {
	if spec.Lock == "" {
		return nil, nil
	}
	return lockfile.Parse(spec.LockPath, []byte(spec.Lock))
}

// HideSecrets hides what a Spec leads to: the keys of its providers, and the values of variables
// that skills require, of headers and of extraBody if they look like keys.
func HideSecrets(to engine.Secrets, spec job.Spec, lookup func(variable string) string) {
	HideKeys(to, spec.Provider, lookup)
	for _, use := range spec.ModelUses() {
		HideKeys(to, use.Provider, lookup)
	}
	for _, e := range spec.Experts {
		for _, k := range e.Skills {
			for _, name := range k.RequiredEnv {
				to.AddIfRandom(name, lookup(name))
			}
		}
	}
	headers := spec.Headers()
	for _, h := range slices.AppendSeq([]job.ProviderHeaders{headers.Provider}, maps.Values(headers.Experts)) {
		for name, value := range h.Body {
			hideBody(to, name, jsontext.Value(value)) // a gateway can want a key there
		}
		hideHeaders(to, h.Headers)
	}
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

// HideAllKeys hides the keys of all providers, that of the registry, and the passwords in
// addresses of proxies.
func HideAllKeys(to engine.Secrets, lookup func(variable string) string) {
	to.AddKey("PERSTACK_API_KEY", lookup("PERSTACK_API_KEY"))
	for _, provider := range model.Providers() {
		HideKeys(to, provider, lookup)
	}
	for _, name := range []string{
		"PERSTACK_PROXY_URL", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy",
	} {
		to.AddIfRandom(name, lookup(name))
	}
}

// hideBody hides the strings of a JSON value, each under the path of its member; name is that
// of the value itself.
func hideBody(to engine.Secrets, name string, value jsontext.Value) {
	switch value.Kind() {
	case '"':
		var text string
		if json.Unmarshal(value, &text) == nil {
			to.AddIfRandom(name, text)
		}
	case '[':
		var items []jsontext.Value
		if json.Unmarshal(value, &items) == nil {
			for _, item := range items {
				hideBody(to, name, item)
			}
		}
	case '{':
		var members map[string]jsontext.Value
		if json.Unmarshal(value, &members) == nil {
			for member, v := range members {
				hideBody(to, name+"."+member, v)
			}
		}
	}
}

// hideHeaders hides the values of headers, part by part: of "Bearer KEY" and of
// "session=KEY; theme=dark" the key alone.
func hideHeaders(to engine.Secrets, headers map[string]string) {
	separates := func(c rune) bool { return unicode.IsSpace(c) || c == ',' || c == ';' }
	for name, value := range headers {
		for part := range strings.FieldsFuncSeq(value, separates) {
			to.AddIfRandom(name, part)
			if key, after, ok := strings.Cut(part, "="); ok {
				after = strings.Trim(after, `"`)
				to.AddIfRandom(name, after)
				to.AddIfRandom(key, after)
			}
		}
	}
}
