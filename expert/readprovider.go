package expert

import (
	"errors"
	"slices"
	"strings"
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

// Providers are the names that provider.providerName accepts.
func Providers() []string {
	names := make([]string, len(providerSettings))
	for i, p := range providerSettings {
		names[i] = p.name
	}
	return names
}

func (r *reader) provider(top *table) Provider {
	t := top.sub("provider")
	if t == nil {
		return Provider{}
	}
	p := Provider{Name: t.require("providerName", `write providerName = "anthropic"`, oneOf(Providers()...))}
	r.mark(t.path, t.n)
	if n := t.n.fields["providerName"]; n != nil {
		r.mark(t.at("providerName"), n)
	}
	if s := t.sub("setting"); s != nil {
		r.mark(s.path, s.n)
		for _, key := range s.n.keys {
			r.mark(s.at(key), s.n.fields[key])
		}
		p.Setting = r.setting(s, p.Name)
	}
	t.finish(func(key string) string {
		if len(settingOwners(key)) > 0 && key != "name" {
			return "it is a setting: move it into [provider.setting]"
		}
		return ""
	}, misplaced)
	return p
}

// setting reads the keys of one provider. Of a provider that is not known, it
// reads the keys of all, so that one mistake is reported once.
func (r *reader) setting(t *table, provider string) Setting {
	has := func(key string) bool {
		return provider == "" || slices.Contains(settingOwners(key), provider)
	}
	str := func(key string, rules ...rule) string {
		if !has(key) {
			return ""
		}
		return t.str(key, rules...)
	}
	var s Setting
	if has("allowPrivateEndpoint") {
		s.AllowPrivateEndpoint = t.boolean("allowPrivateEndpoint")
	}
	s.BaseURL = str("baseUrl", baseURL(provider, s.AllowPrivateEndpoint))
	if has("headers") {
		s.Headers = r.headers(t)
	}
	s.Organization = str("organization", headerText)
	s.Project = str("project", headerText)
	s.Name = str("name")
	s.ResourceName = str("resourceName", hostLabel)
	s.APIVersion = str("apiVersion")
	if has("useDeploymentBasedUrls") {
		s.UseDeploymentBasedURLs = t.boolean("useDeploymentBasedUrls")
	}
	s.Region = str("region", hostLabel)
	s.Location = str("location", hostLabel)
	if has("extraBody") {
		s.ExtraBody = r.extraBody(t)
	}
	if has("guardrail") {
		s.Guardrail = r.guardrail(t)
	}
	if has("safetySettings") {
		s.SafetySettings = r.safetySettings(t)
	}
	s.Cassette = str("cassette", length(1, 4096), noNUL)
	t.finish(func(key string) string {
		if owners := settingOwners(key); len(owners) > 0 {
			return "it is a setting of " + orList(owners)
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
func (r *reader) headers(t *table) map[string]string {
	h := t.sub("headers")
	if h == nil {
		return nil
	}
	out := map[string]string{}
	for _, name := range h.n.keys {
		n, path := h.n.fields[name], h.at(name)
		switch {
		case !tokenText(name):
			r.fault(n.keyAt, path, "is not a header name", "use letters, digits and -")
		case r.is(n, kindString, path) && r.check(n, path, []rule{headerText}):
			out[name] = n.text
		}
	}
	return out
}

// CheckHostLabel says what is wrong with a text that becomes part of a host name, such as
// the region of bedrock, wherever it comes from. Anything else than a label could lead
// the request, and its key, to another host.
func CheckHostLabel(s string) error {
	if message, hint := hostLabel(s); message != "" {
		return errors.New(message + "; " + hint)
	}
	return nil
}

// hostLabel accepts what becomes one label of a host name.
func hostLabel(s string) (string, string) {
	ok := len(s) >= 1 && len(s) <= 63 && !strings.ContainsFunc(s, func(c rune) bool {
		return !(c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '-')
	})
	if !ok {
		return "becomes part of a host name", "use letters, digits and - only"
	}
	return "", ""
}
