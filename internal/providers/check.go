package providers

import (
	"maps"
	"slices"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/perstack-go/perstack/expert"
	"github.com/perstack-go/perstack/model"
)

// A Problem is something that keeps [Open] from opening a model, whoever's key is used.
type Problem struct {
	// Path is the key of perstack.toml that it is about, in the table of the Expert if
	// OfExpert says so.
	Path string
	Err  error
}

// OfExpert reports whether the problem is about a key of the Expert.
func (p Problem) OfExpert() bool { return p.Path == providerTools || p.Path == providerSkills }

const (
	providerTools  = "providerTools"
	providerSkills = "providerSkills"
)

// Check lists what Open would refuse of a choice, all of it. Keys and places that only
// the environment has are taken for granted: what is not set here may be set elsewhere. No
// file is read, and nobody is asked. What [manifest.Config.Unsupported] says of tools and
// skills that the provider does not have is not said again.
//
// Of Env, it looks at the variables that say where a provider is, if the user has set
// them.
func Check(c Choice) (all []Problem) {
	if model.CheckProvider(c.Provider) != nil || c.Provider == "replay" {
		return nil // whoever read the file has said so, or knows cassettes better
	}
	given := c
	c.Warn, c.Hide = nil, nil
	c.Env = func(name string) string { return standIn(given, name) }
	c.EnvFile = nil
	whole := c.Setting
	bare := whole
	bare.ExtraBody, bare.BaseURL, bare.Headers = nil, "", nil

	seen := map[string]bool{}
	try := func(path string, e *expert.Expert, s expert.Setting, step func(*opening) error) bool {
		o := &opening{Choice: c, dry: true}
		o.Expert, o.Setting = e, s
		err := step(o)
		if err != nil && !seen[err.Error()] {
			seen[err.Error()] = true
			all = append(all, Problem{path, err})
		}
		return err == nil
	}
	open := func(o *opening) error { _, err := o.open(); return err }
	nobody := &expert.Expert{}

	try("model", nobody, whole, (*opening).fit)
	if c.Model == "" {
		try("model", nobody, bare, open)
		c.Model = "some-model"
	}
	if !try("provider.setting", nobody, bare, open) {
		return all // the rest would say the same again
	}
	addressed := bare
	addressed.BaseURL, addressed.Headers = whole.BaseURL, whole.Headers
	try("provider.setting.baseUrl", nobody, addressed, open)
	for _, name := range slices.Sorted(maps.Keys(whole.ExtraBody)) {
		one := bare
		one.ExtraBody = maps.Clone(whole.ExtraBody)
		maps.DeleteFunc(one.ExtraBody, func(other string, _ jsontext.Value) bool { return other != name })
		try("provider.setting.extraBody", nobody, one, open)
	}
	if e := given.Expert; e != nil {
		tools := &expert.Expert{ProviderToolOptions: e.ProviderToolOptions}
		for _, name := range e.ProviderTools {
			if slices.Contains(model.ToolsOfProvider(c.Provider), name) && c.Provider != "azure-openai" {
				tools.ProviderTools = append(tools.ProviderTools, name)
			}
		}
		if try(providerTools, tools, bare, open) {
			try(providerTools, tools, bare, (*opening).refuseMix)
		}
		if c.Provider == "anthropic" {
			try(providerSkills, &expert.Expert{ProviderSkills: e.ProviderSkills}, bare, open)
		}
	}
	return all
}

// standIn is the value of a variable for [Check]: the user's where it says where a provider
// is, and else one that will do.
func standIn(c Choice, name string) string {
	if slices.Contains([]string{baseURLVariables[c.Provider], "AZURE_RESOURCE_NAME", "AWS_REGION", "AWS_DEFAULT_REGION"}, name) && c.Env != nil && (c.EnvFile == nil || c.EnvFile(name) == "") {
		if value := c.Env(name); value != "" {
			return value
		}
	}
	switch name {
	case "AWS_REGION":
		return "us-east-1"
	case "GOOGLE_VERTEX_PROJECT", "AZURE_RESOURCE_NAME":
		return "some-name"
	case "GOOGLE_VERTEX_LOCATION":
		return "global"
	}
	if slices.Contains(model.ProviderKeyEnv(c.Provider), name) && name != "AWS_BEARER_TOKEN_BEDROCK" && name != credentialsVariable {
		return "some-key"
	}
	return ""
}
