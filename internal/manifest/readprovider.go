package manifest

import (
	"slices"

	"github.com/perstack-go/perstack/expert"
	"github.com/perstack-go/perstack/internal/netaddr"
	"github.com/perstack-go/perstack/internal/toml"
	"github.com/perstack-go/perstack/internal/wording"
	"github.com/perstack-go/perstack/model"
)

// providerSettings lists the providers, each with the keys that its
// [provider.setting] knows.
var providerSettings = []struct {
	name string
	keys []string
}{
	{"anthropic", []string{"baseUrl", "headers", "allowPrivateEndpoint", "extraBody"}},
	{"google", []string{"baseUrl", "headers", "allowPrivateEndpoint", "extraBody", "safetySettings"}},
	{"openai", []string{"baseUrl", "organization", "project", "name", "headers", "allowPrivateEndpoint", "extraBody"}},
	{"ollama", []string{"baseUrl", "headers", "allowPrivateEndpoint", "extraBody"}},
	{"azure-openai", []string{"resourceName", "apiVersion", "baseUrl", "headers", "useDeploymentBasedUrls", "allowPrivateEndpoint", "extraBody"}},
	{"amazon-bedrock", []string{"region", "baseUrl", "headers", "allowPrivateEndpoint", "extraBody", "guardrail"}},
	{"google-vertex", []string{"project", "location", "baseUrl", "headers", "allowPrivateEndpoint", "extraBody", "safetySettings"}},
	{"deepseek", []string{"baseUrl", "headers", "allowPrivateEndpoint", "extraBody"}},
	{"replay", []string{"cassette"}},
}

func (r *reader) provider(top *toml.Table) expert.Provider {
	t := top.Sub("provider")
	if t == nil {
		return expert.Provider{}
	}
	p := expert.Provider{Name: t.Require("providerName", `write providerName = "anthropic"`, toml.OneOf(model.Providers()...))}
	r.Mark(t.Path, t.Node)
	if n := t.Node.Fields["providerName"]; n != nil {
		r.Mark(t.At("providerName"), n)
	}
	if s := t.Sub("setting"); s != nil {
		r.Mark(s.Path, s.Node)
		for _, key := range s.Node.Keys {
			r.Mark(s.At(key), s.Node.Fields[key])
		}
		p.Setting = r.setting(s, p.Name)
	}
	t.Finish(func(key string) string {
		if len(settingOwners(key)) > 0 && key != "name" {
			return "it is a setting: move it into [provider.setting]"
		}
		return ""
	}, misplaced)
	return p
}

// setting reads the keys of one provider. Of a provider that is not known, it
// reads the keys of all, so that one mistake is reported once.
func (r *reader) setting(t *toml.Table, provider string) expert.Setting {
	has := func(key string) bool {
		return provider == "" || slices.Contains(settingOwners(key), provider)
	}
	str := func(key string, rules ...toml.Rule) string {
		if !has(key) {
			return ""
		}
		return t.Str(key, rules...)
	}
	var s expert.Setting
	if has("allowPrivateEndpoint") {
		s.AllowPrivateEndpoint = t.Bool("allowPrivateEndpoint")
	}
	s.BaseURL = str("baseUrl", func(text string) (string, string) {
		return netaddr.BaseURL(text, provider == keylessProvider, s.AllowPrivateEndpoint)
	})
	if has("headers") {
		s.Headers = r.headers(t)
	}
	s.Organization = str("organization", headerText)
	s.Project = str("project", headerText)
	s.Name = str("name")
	s.ResourceName = str("resourceName", netaddr.HostLabel)
	s.APIVersion = str("apiVersion")
	if has("useDeploymentBasedUrls") {
		s.UseDeploymentBasedURLs = t.Bool("useDeploymentBasedUrls")
	}
	s.Region = str("region", netaddr.HostLabel)
	s.Location = str("location", netaddr.HostLabel)
	if has("extraBody") {
		s.ExtraBody = r.extraBody(t)
	}
	if has("guardrail") {
		s.Guardrail = r.guardrail(t)
	}
	if has("safetySettings") {
		s.SafetySettings = r.safetySettings(t)
	}
	s.Cassette = str("cassette", toml.Length(1, 4096), toml.NoNUL)
	t.Finish(func(key string) string {
		if owners := settingOwners(key); len(owners) > 0 {
			return "it is a setting of " + wording.Or(owners)
		}
		return ""
	}, misplaced)
	return s
}

func settingOwners(key string) []string {
	var owners []string
	for _, p := range providerSettings {
		if slices.Contains(p.keys, key) {
			owners = append(owners, p.name)
		}
	}
	return owners
}

// headers reads a table of strings. Values may be secrets and are never quoted
// in a message.
func (r *reader) headers(t *toml.Table) map[string]string {
	h := t.Sub("headers")
	if h == nil {
		return nil
	}
	out := map[string]string{}
	for _, name := range h.Node.Keys {
		n, path := h.Node.Fields[name], h.At(name)
		switch {
		case !tokenText(name):
			r.Fault(n.KeyAt, path, "is not a header name", "use letters, digits and -")
		case r.Is(n, toml.KindString, path) && r.Check(n, path, []toml.Rule{headerText}):
			out[name] = n.Text
		}
	}
	return out
}

// keylessProvider is the only provider that is sent no key, and so may be reached by plain
// http beyond this machine.
const keylessProvider = "ollama"
