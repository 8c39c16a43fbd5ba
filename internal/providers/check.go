package providers

import (
	"maps"
	"slices"

	"github.com/perstack-go/perstack/expert"
	"github.com/perstack-go/perstack/model"
	"github.com/perstack-go/perstack/rawjson"
)

// A Problem is something that keeps [Open] from opening a model, with any key.
type Problem struct {
	// Path is the key of perstack.toml that it is about. It is in the table of the Expert if
	// OfExpert says so.
	Path string
	Err  error
}

// OfExpert reports whether the problem is about a key in the table of e.
func (p Problem) OfExpert(e *expert.Expert) bool {
	return e.Provider != nil || p.Path == providerTools || p.Path == providerSkills || p.Path == modelKey && e.Model != ""
}

const (
	modelKey       = "model"
	providerTools  = "providerTools"
	providerSkills = "providerSkills"
)

// Check lists everything in a Config that Open would refuse. Keys and other variables are
// assumed to be set, because they may be set where the run starts. No file is read and
// nothing is sent. Check does not repeat what [manifest.Config.Unsupported] reports.
//
// From Variables it uses the variables that say where a provider is, if the user has set them.
func Check(c Config) (all []Problem) {
	if model.CheckProvider(c.Provider) != nil || c.Provider == "replay" {
		return nil // reading the file, or the cassette, reports it
	}
	given, facts := newOpening(c), model.ProviderNamed(c.Provider)
	c.Warn, c.Hide = nil, nil
	c.Variables = func(name string) Variable { return Variable{Value: given.placeholder(name)} }
	whole := c.Setting
	bare := whole
	bare.ExtraBody, bare.BaseURL, bare.Headers = nil, "", nil

	seen := map[string]bool{}
	try := func(path string, e *expert.Expert, s expert.Setting, step func(*opening) error) bool {
		o := newOpening(c)
		o.dry, o.Expert, o.Setting = true, e, s
		err := step(o)
		if err != nil && !seen[err.Error()] {
			seen[err.Error()] = true
			all = append(all, Problem{path, err})
		}
		return err == nil
	}
	open := func(o *opening) error { _, err := o.provider.open(o); return err }
	plain := &expert.Expert{}

	try(modelKey, plain, whole, (*opening).checkModel)
	if c.Model == "" {
		try(modelKey, plain, bare, open)
		c.Model = "some-model"
	}
	if !try("provider.setting", plain, bare, open) {
		return all // the rest would say the same again
	}
	addressed := bare
	addressed.BaseURL, addressed.Headers = whole.BaseURL, whole.Headers
	try("provider.setting.baseUrl", plain, addressed, open)
	for _, name := range refusedMembers(slices.Sorted(maps.Keys(whole.ExtraBody)), func(names []string) bool {
		o := newOpening(c)
		o.dry, o.Expert, o.Setting = true, plain, withMembers(bare, whole.ExtraBody, names)
		return open(o) == nil
	}) {
		try("provider.setting.extraBody", plain, withMembers(bare, whole.ExtraBody, []string{name}), open)
	}
	try("provider.setting.extraBody", plain, whole, open) // where it goes can matter
	if e := given.Expert; e != nil {
		tools := &expert.Expert{ProviderToolOptions: e.ProviderToolOptions}
		for _, name := range e.ProviderTools {
			if slices.Contains(facts.Tools, name) && facts.ToolHint == "" {
				tools.ProviderTools = append(tools.ProviderTools, name)
			}
		}
		if try(providerTools, tools, bare, open) {
			try(providerTools, tools, bare, (*opening).checkMix)
		}
		if facts.Skills {
			try(providerSkills, &expert.Expert{ProviderSkills: e.ProviderSkills}, bare, open)
		}
	}
	return all
}

func withMembers(s expert.Setting, body map[string]rawjson.Value, names []string) expert.Setting {
	s.ExtraBody = make(map[string]rawjson.Value, len(names))
	for _, name := range names {
		s.ExtraBody[name] = body[name]
	}
	return s
}

// refusedMembers are the names that accepted refuses. It halves the list, because opening a
// model with each of a thousand members takes long.
func refusedMembers(names []string, accepted func(names []string) bool) []string {
	if len(names) == 0 || accepted(names) {
		return nil
	}
	if len(names) == 1 {
		return names
	}
	half := len(names) / 2
	return append(refusedMembers(names[:half:half], accepted), refusedMembers(names[half:], accepted)...)
}

// Warnings are what [Open] would warn of.
func Warnings(c Config) (lines []string) {
	if model.CheckProvider(c.Provider) != nil {
		return nil
	}
	c.Warn = func(message string) { lines = append(lines, message) }
	newOpening(c).warnAboutModel()
	return lines
}

// placeholder is the value of a variable for [Check]: the user's if it says where a provider is,
// otherwise one that passes the checks.
func (o *opening) placeholder(name string) string {
	instead, locates := o.provider.location[name]
	if locates || name == o.facts.BaseURLEnv {
		if value := o.users(name); value != "" {
			return value
		}
	}
	if slices.Contains(o.facts.KeyEnv, name) && !o.facts.KeyOptional && name != "AWS_BEARER_TOKEN_BEDROCK" && name != credentialsVariable {
		return "some-key"
	}
	return instead
}
