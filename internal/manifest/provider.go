package manifest

import (
	"fmt"
	"math"
	"path/filepath"
	"slices"

	"github.com/go-json-experiment/json"

	"github.com/perstack-go/perstack/expert"
	"github.com/perstack-go/perstack/internal/netaddr"
	"github.com/perstack-go/perstack/internal/toml"
	"github.com/perstack-go/perstack/internal/wording"
	"github.com/perstack-go/perstack/job"
	"github.com/perstack-go/perstack/model"
	"github.com/perstack-go/perstack/rawjson"
)

// The words of Google for what it withholds, and from which degree on.
var (
	harmCategories = []string{
		"HARM_CATEGORY_UNSPECIFIED", "HARM_CATEGORY_HATE_SPEECH", "HARM_CATEGORY_DANGEROUS_CONTENT",
		"HARM_CATEGORY_HARASSMENT", "HARM_CATEGORY_SEXUALLY_EXPLICIT",
	}
	harmThresholds = []string{
		"HARM_BLOCK_THRESHOLD_UNSPECIFIED", "BLOCK_LOW_AND_ABOVE", "BLOCK_MEDIUM_AND_ABOVE", "BLOCK_ONLY_HIGH", "BLOCK_NONE",
	}
)

// providerKeys are the keys of [provider]. Its name decides about the settings.
func providerKeys() []key[expert.Provider] {
	type P = expert.Provider
	return []key[P]{
		row("providerName", "Name of the provider; replay plays recorded answers and needs no key.", word(model.Providers()...), func(p *P, s string) { p.Name = s }).
			required(`write providerName = "anthropic"`),
		custom("setting", "Settings of this provider.", "table", func() *jsonSchema { return schemaOf("", settingKeys()) }, (*reader).setting),
	}
}

// settingKeys are the keys of [provider.setting], each with the providers that have it.
func settingKeys() []key[expert.Provider] {
	type P = expert.Provider
	cassette := text(1, 4096, toml.NoNUL)
	keys := []key[P]{
		row("allowPrivateEndpoint", "Allow baseUrl to be a private address.", flag(), func(p *P, yes bool) { p.Setting.AllowPrivateEndpoint = yes }),
		custom("baseUrl", "Address to send requests to; https, or plain http on this machine.", "address", fixed(&jsonSchema{Type: "string", Pattern: anyURL}), func(_ *reader, t *toml.Table, p *P) {
			p.Setting.BaseURL = t.Str("baseUrl", func(s string) (string, string) {
				return netaddr.BaseURL(s, model.ProviderNamed(p.Name).KeyOptional, p.Setting.AllowPrivateEndpoint)
			})
		}),
		custom("headers", "Headers of every request; keep keys out of shared files.", "table", fixed(&jsonSchema{
			Type: "object", PropertyNames: &jsonSchema{Pattern: headerName, MaxLength: maxHeaderName, Not: &jsonSchema{Pattern: ownHeader()}},
			AdditionalProperties: &jsonSchema{Description: "Value of the header.", Type: "string", Pattern: headerValue},
		}), (*reader).headers),
		row("organization", "Organization that requests are billed to.", matching(headerValue, 0, "text", headerText), func(p *P, s string) { p.Setting.Organization = s }),
		row("project", "Project that requests belong to.", matching(headerValue, 0, "text", headerText), func(p *P, s string) { p.Setting.Project = s }),
		row("name", "Display name of the provider.", matching("", 0, "text"), func(p *P, s string) { p.Setting.Name = s }),
		row("resourceName", "Resource of Azure; it becomes part of the host name.", matching(oneHostLabel, 0, "text", netaddr.HostLabel), func(p *P, s string) { p.Setting.ResourceName = s }),
		row("apiVersion", "Version of the API of Azure.", matching("", 0, "text"), func(p *P, s string) { p.Setting.APIVersion = s }),
		row("useDeploymentBasedUrls", "Put the deployment name into the URL.", flag(), func(p *P, yes bool) { p.Setting.UseDeploymentBasedURLs = yes }),
		row("region", "Region of AWS; it becomes part of the host name.", matching(oneHostLabel, 0, "text", netaddr.HostLabel), func(p *P, s string) { p.Setting.Region = s }),
		row("location", "Location of Google Cloud; it becomes part of the host name.", matching(oneHostLabel, 0, "text", netaddr.HostLabel), func(p *P, s string) { p.Setting.Location = s }),
		custom("extraBody", "Members added to every request.", "table",
			fixed(&jsonSchema{Type: "object", PropertyNames: text(1, maxExtraName).schema}), (*reader).extraBody),
		subtable("guardrail", "Guardrail of Amazon Bedrock.", guardrailKeys(), func(p *P) **expert.Guardrail { return &p.Setting.Guardrail }),
		custom("safetySettings", "From which degree on Google blocks which kind of content.", "list", func() *jsonSchema {
			return &jsonSchema{Type: "array", MaxItems: len(harmCategories), Items: schemaOf("One kind of content.", safetyKeys())}
		}, (*reader).safetySettings),
		custom("cassette", "File with the recorded answers, relative to this file.", cassette.form, fixed(cassette.schema), func(r *reader, t *toml.Table, p *P) {
			p.Setting.Cassette = cassette.read(t, "cassette")
			if s := p.Setting.Cassette; s != "" && !filepath.IsAbs(s) {
				p.Setting.Cassette = filepath.Join(r.file.Dir, s)
			}
		}),
	}
	for i := range keys {
		keys[i].kinds = model.SettingOwners(keys[i].name)
	}
	return keys
}

func guardrailKeys() []key[expert.Guardrail] {
	type G = expert.Guardrail
	return []key[G]{
		row("identifier", "Id or ARN of the guardrail.", text(1, 2048, toml.Printable), func(g *G, s string) { g.Identifier = s }).required("it is the id or the ARN of the guardrail"),
		row("version", "Its version: a number in quotes, or DRAFT.", text(1, 255, toml.Printable), func(g *G, s string) { g.Version = s }).required(`write its number, in quotes, or "DRAFT"`),
		row("trace", "Whether answers report what the guardrail did.", word("enabled", "disabled"), func(g *G, s string) { g.Trace = s }),
	}
}

func safetyKeys() []key[expert.SafetySetting] {
	type S = expert.SafetySetting
	return []key[S]{
		row("category", "The kind.", word(harmCategories...), func(s *S, w string) { s.Category = w }).required(`write category = "HARM_CATEGORY_HARASSMENT", for instance`),
		row("threshold", "The degree.", word(harmThresholds...), func(s *S, w string) { s.Threshold = w }).required(`write threshold = "BLOCK_ONLY_HIGH", for instance`),
	}
}

// providerSchema knows the settings of all providers, and takes away those of the
// others once the provider is named.
func providerSchema() *jsonSchema {
	s, settings := schemaOf("", providerKeys()), settingKeys()
	for _, name := range model.Providers() {
		setting := &jsonSchema{PropertyNames: &jsonSchema{Enum: keyNames(ofKind(settings, name))}}
		if sendsKey(name) {
			setting.Properties = properties{{"headers", &jsonSchema{PropertyNames: &jsonSchema{Not: &jsonSchema{Pattern: keyHeader()}}}}}
		}
		s.AllOf = append(s.AllOf, when("providerName", name, &jsonSchema{Properties: properties{{"setting", setting}}}))
	}
	return s
}

// jobProviderSchema is providerSchema with the key that jobProvider accepts.
func jobProviderSchema() *jsonSchema {
	s := providerSchema()
	hidden, paths := older("It belongs at the top of the file."), envPaths().schema
	hidden.Type, hidden.Items = paths.Type, paths.Items
	s.Properties = append(s.Properties, property{"envPath", hidden})
	return s
}

func envPaths() value[[]string] {
	return list(maxEnvFiles, "Path of an env file.", text(1, 4096, toml.NoNUL))
}

// jobProvider reads [provider]. Many files have envPath below it, which TOML then takes for a
// key of the provider: it is read as if it stood at the top.
func (r *reader) jobProvider(top *toml.Table, c *Config) {
	p := r.provider(top, "envPath")
	c.Settings.Provider, c.Settings.Setting = p.Name, p.Setting
	n := top.Node.Fields["provider"]
	if n == nil || n.Kind != toml.KindTable || n.Fields["envPath"] == nil {
		return
	}
	stray := n.Fields["envPath"]
	if top.Node.Fields["envPath"] != nil {
		r.Fault(stray.KeyAt, stray.Path(), "is set at the top of the file, too", "keep that one")
		return
	}
	r.Warn(stray.KeyAt, stray.Path(), "belongs at the top of the file and is read as if it stood there", "move it above the first [table]")
	c.EnvPath = envPaths().read(r.Table(n), "envPath")
}

// provider reads the provider of a job or of an Expert. The strays are keys that somebody else
// reads.
func (r *reader) provider(top *toml.Table, strays ...string) (p expert.Provider) {
	t := top.SubOr("provider", func(n *toml.Node) string {
		name := job.DefaultProvider
		if slices.Contains(model.Providers(), n.Text) {
			name = n.Text
		}
		return "write [" + n.Path() + "] and, below it, providerName = " + wording.Quote(name)
	})
	if t == nil {
		return p
	}
	t.Older = strays
	readKeys(r, t, r.tables.provider(), &p)
	t.Finish(func(key string) string {
		if len(model.SettingOwners(key)) > 0 && key != "name" {
			return "it is a setting: move it into [provider.setting]"
		}
		return ""
	}, foreignKey(t.Node), r.tables.misplaced)
	return p
}

// setting reads the keys of one provider. Of a provider that is not known, it
// reads the keys of all, so that one mistake is reported once.
func (r *reader) setting(provider *toml.Table, p *expert.Provider) {
	t := provider.Sub("setting")
	if t == nil {
		return
	}
	readKeys(r, t, ofKind(r.tables.setting(), p.Name), p)
	t.Finish(func(key string) string {
		if owners := model.SettingOwners(key); len(owners) > 0 {
			return "it is a setting of " + wording.Or(owners)
		}
		return ""
	}, foreignKey(t.Node), r.tables.misplaced)
}

// headers reads a table of strings. Values may be secrets and are never quoted
// in a message.
func (r *reader) headers(t *toml.Table, p *expert.Provider) {
	h := t.Sub("headers")
	if h == nil {
		return
	}
	p.Setting.Headers = map[string]string{}
	for _, name := range h.Node.Keys {
		n := h.Node.Fields[name]
		fault, hint := headerFault(name)
		if fault == "" && sendsKey(p.Name) && isKeyHeader(name) {
			fault, hint = "is a header that perstack sets itself, with your key for "+p.Name, "remove it; perstack reads the key from the environment"
		}
		switch {
		case fault != "":
			r.Fault(n.KeyAt, n.Path(), fault, hint)
		case r.Is(n, toml.KindString) && r.Check(n, headerText):
			p.Setting.Headers[name] = n.Text
		}
	}
}

func (r *reader) safetySettings(t *toml.Table, p *expert.Provider) {
	t.EachItem("safetySettings", len(harmCategories), func(entry *toml.Table) {
		var one expert.SafetySetting
		readKeys(r, entry, safetyKeys(), &one)
		same := func(other expert.SafetySetting) bool { return other.Category == one.Category }
		if one.Category != "" && slices.ContainsFunc(p.Setting.SafetySettings, same) {
			r.Fault(entry.Node.Fields["category"].At, entry.At("category"), one.Category+" is there already", "each category has one threshold")
		}
		entry.Finish()
		p.Setting.SafetySettings = append(p.Setting.SafetySettings, one)
	})
}

// What extraBody may hold: it goes along with every request.
const (
	maxExtraDepth = 16
	maxExtraBytes = 64 << 10
	maxExtraName  = 255
)

// extraBody reads members that are added to every request. Which of them the provider
// knows, only the provider can tell; which are perstack's own, its client does.
func (r *reader) extraBody(t *toml.Table, p *expert.Provider) {
	e := t.Sub("extraBody")
	if e == nil {
		return
	}
	out, size := map[string]rawjson.Value{}, 0
	for _, name := range e.Node.Keys {
		n := e.Node.Fields[name]
		if !r.Check(n.Name(name), toml.Length(1, maxExtraName), toml.Printable) {
			continue
		}
		value, ok := r.plain(n, 1)
		if !ok {
			continue
		}
		text, err := json.Marshal(value, json.Deterministic(true))
		if err != nil {
			r.Fault(n.At, n.Path(), "cannot be written as JSON", "") // text that is not UTF-8; the parser refuses it before
			continue
		}
		size += len(name) + len(text)
		out[name] = text
	}
	if size > maxExtraBytes {
		r.Fault(e.Node.KeyAt, e.Node.Path(), fmt.Sprintf("has %d bytes as JSON", size), fmt.Sprintf("at most %d are allowed, since every request carries it", maxExtraBytes))
	}
	p.Setting.ExtraBody = out
}

// plain turns a value of the file into one that JSON can have.
func (r *reader) plain(n *toml.Node, depth int) (value any, ok bool) {
	if depth > maxExtraDepth {
		r.Fault(n.At, n.Path(), fmt.Sprintf("is nested more than %d deep", maxExtraDepth), "")
		return nil, false
	}
	switch n.Kind {
	case toml.KindString:
		return n.Text, true
	case toml.KindBool:
		return n.Text == "true", true
	case toml.KindInteger:
		return n.Number, !n.Unreadable
	case toml.KindFloat:
		if math.IsNaN(n.Real) || math.IsInf(n.Real, 0) {
			r.Fault(n.At, n.Path(), "is not a number that JSON has", "write a finite number")
			return nil, false
		}
		return n.Real, !n.Unreadable
	case toml.KindArray:
		list := []any{}
		for _, item := range n.Items {
			v, fine := r.plain(item, depth+1)
			if !fine {
				return nil, false
			}
			list = append(list, v)
		}
		return list, true
	case toml.KindTable:
		object := map[string]any{}
		for _, key := range n.Keys {
			v, fine := r.plain(n.Fields[key], depth+1)
			if !fine {
				return nil, false
			}
			object[key] = v
		}
		return object, true
	}
	r.Fault(n.At, n.Path(), "must not be a date or time", "JSON has none: write it as text, in quotes")
	return nil, false
}
