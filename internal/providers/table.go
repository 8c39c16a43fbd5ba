package providers

import (
	"bytes"
	"cmp"
	"maps"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/perstack-go/perstack/expert"
	"github.com/perstack-go/perstack/internal/netaddr"
	"github.com/perstack-go/perstack/internal/providers/anthropic"
	"github.com/perstack-go/perstack/internal/providers/chat"
	"github.com/perstack-go/perstack/internal/providers/gemini"
	"github.com/perstack-go/perstack/internal/providers/ollama"
	"github.com/perstack-go/perstack/internal/providers/replay"
	"github.com/perstack-go/perstack/internal/providers/responses"
	"github.com/perstack-go/perstack/internal/providers/wire"
	"github.com/perstack-go/perstack/job"
	"github.com/perstack-go/perstack/model"
	"github.com/perstack-go/perstack/rawjson"
)

// A provider is a row of the table: how a provider is opened. The facts that other packages
// need as well (key variables, settings, tools) are its row in package model.
type provider struct {
	open func(*opening) (model.Model, error)

	// owns reports whether the name of a model shows that the provider has it. It is nil if
	// users choose the names, as those of deployments.
	owns func(model string) bool

	// location are further variables that say where the provider is, each with a value that
	// [Check] uses if the user has set none.
	location map[string]string

	// own is the origin of the provider's own address; empty if it depends on the user.
	own string

	// hostEnv is a variable that names the server if none names its base URL, in the form of
	// Ollama: with a scheme and a port, or without.
	hostEnv string

	// checkMix refuses tools of the provider next to those of the Expert; nil if the
	// provider always takes both.
	checkMix func(provider, model string, tools []string) error
}

// table has one row a provider. To add one, add its facts to model/providers.go and its row
// here; a new protocol is a package of its own below this one.
var table = map[string]provider{
	"anthropic": {open: keyed(anthropicModel), own: "https://api.anthropic.com", owns: prefixed("claude-")},
	"google":    {open: keyed(googleModel), own: "https://generativelanguage.googleapis.com", owns: prefixed("gemini-"), checkMix: gemini.CheckMix},
	"openai":    {open: keyed(openaiModel), own: "https://api.openai.com", owns: model.IsOpenAI},
	"ollama":    {open: keyed(ollamaModel), own: "http://127.0.0.1:11434", hostEnv: "OLLAMA_HOST"},
	"azure-openai": {
		open: (*opening).azure, location: map[string]string{"AZURE_RESOURCE_NAME": "some-name"},
	},
	"amazon-bedrock": {
		open: (*opening).bedrock, owns: isBedrock,
		location: map[string]string{"AWS_REGION": "us-east-1", "AWS_DEFAULT_REGION": ""},
	},
	"google-vertex": {
		open: (*opening).vertex, owns: prefixed("gemini-"), checkMix: gemini.CheckMix,
		location: map[string]string{"GOOGLE_VERTEX_PROJECT": "some-name", "GOOGLE_VERTEX_LOCATION": "global"},
	},
	"deepseek": {open: keyed(deepseekModel), own: "https://api.deepseek.com", owns: isDeepSeek},
	"openai-compatible": {
		open:     keyed(compatibleModel),
		location: map[string]string{"OPENAI_COMPATIBLE_BASE_URL": "http://127.0.0.1/v1"},
	},
	"replay": {open: (*opening).replay},
}

// keyed opens a model of a provider that has one key at most: it looks up the key, and the
// address that it goes to. The wire reports a key that is missing.
func keyed(open func(o *opening, cfg wire.Config, key string) (model.Model, error)) func(*opening) (model.Model, error) {
	return func(o *opening) (model.Model, error) {
		key := o.variable(o.facts.KeyEnv...)
		keys := []variable{key}
		if o.facts.KeyOptional && !key.set() {
			keys = nil
		}
		cfg, err := o.config(o.baseURL(keys...))
		if err != nil {
			return nil, err
		}
		if len(keys) == 0 {
			if cfg.Client.AllowHTTP, err = o.plain(cfg.Client.BaseURL); err != nil {
				return nil, err
			}
		}
		cfg.KeyVariable = key.name
		return open(o, cfg, key.value)
	}
}

func anthropicModel(_ *opening, cfg wire.Config, key string) (model.Model, error) {
	return opened(anthropic.New(anthropic.Config{Config: cfg, Key: key}))
}

func googleModel(o *opening, cfg wire.Config, key string) (model.Model, error) {
	return opened(gemini.New(gemini.Config{Config: cfg, Key: key, Safety: o.Setting.SafetySettings}))
}

func openaiModel(o *opening, cfg wire.Config, key string) (model.Model, error) {
	return opened(responses.New(responses.Config{
		Config:       cfg,
		Key:          key,
		Organization: cmp.Or(o.Setting.Organization, o.value("OPENAI_ORGANIZATION")),
		Project:      cmp.Or(o.Setting.Project, o.value("OPENAI_PROJECT")),
	}))
}

func deepseekModel(_ *opening, cfg wire.Config, key string) (model.Model, error) {
	return opened(chat.New(chat.Config{Config: cfg, Dialect: chat.DeepSeek, Key: key}))
}

// compatibleModel waits as long as a generation may take: a server of the user's own is
// silent while it reads the conversation, and while it collects a call of a tool.
func compatibleModel(_ *opening, cfg wire.Config, key string) (model.Model, error) {
	cfg.Client.FirstByte, cfg.Client.Idle = -1, -1
	cfg.Client.NoServer = "check the base URL, and that the server runs"
	return opened(chat.New(chat.Config{Config: cfg, Dialect: chat.Compatible, Key: key}))
}

func ollamaModel(_ *opening, cfg wire.Config, _ string) (model.Model, error) {
	return opened(ollama.New(cfg))
}

// plain reports whether an address beyond this machine may be reached by plain http. A
// variable was checked when it was read; perstack.toml may only mean the private network.
// No secret of ours is sent, and none of the file's may be.
func (o *opening) plain(base string) (bool, error) {
	u, err := url.Parse(base)
	if err != nil || u.Scheme != "http" || netaddr.HostReach(u.Hostname()) == netaddr.Loopback {
		return false, nil
	}
	if o.Setting.BaseURL != "" && !(o.Setting.AllowPrivateEndpoint && netaddr.HostReach(u.Hostname()) == netaddr.Private) {
		return false, nil // the wire refuses it
	}
	if len(o.Setting.Headers) > 0 {
		return false, o.errorf("headers may hold a key, and are not sent to %s by plain http; use https, or remove headers from [provider.setting]", u.Host)
	}
	if slices.ContainsFunc(slices.Collect(maps.Values(o.Setting.ExtraBody)), HasText) {
		return false, o.errorf("extraBody has text that may be a key, and is not sent to %s by plain http; use https, or leave only numbers, true and false in extraBody of [provider.setting]", u.Host)
	}
	o.warn("what the Expert sees goes to %s unencrypted; others on the way can read and change it", u.Host)
	return true, nil
}

// HasText reports whether a JSON value is a string or contains one; names do not count.
func HasText(value rawjson.Value) bool {
	d := jsontext.NewDecoder(bytes.NewReader(value))
	for {
		token, err := d.ReadToken()
		if err != nil {
			return false // the end; what is no JSON was refused when it was read
		}
		kind, length := d.StackIndex(d.StackDepth())
		if token.Kind() == '"' && (kind != '{' || length%2 == 0) {
			return true
		}
	}
}

func (o *opening) replay() (model.Model, error) {
	if o.Setting.Cassette == "" {
		return nil, &ChoiceError{[]string{"cassette"}, o.errorf("this provider needs a cassette; set cassette in [provider.setting]")}
	}
	cassette, err := replay.LoadBy(o.readFile, o.Setting.Cassette)
	if err != nil {
		return nil, err
	}
	return replay.New(cassette), nil
}

// checkModel refuses a model that the provider cannot have. Usually the file names the
// model of one provider, and a flag another provider. With a base URL of the user's, any
// model is possible.
func (o *opening) checkModel() error {
	if (Catalogue{}).Fits(o.Provider, o.Model) || o.Setting.BaseURL != "" || o.value(o.facts.BaseURLEnv) != "" {
		return nil
	}
	return &ChoiceError{[]string{"provider", "model"}, o.errorf("the model %q is not one of this provider; use the provider %s, or another model, such as %s",
		o.Model, strings.Join(owners(o.Model), " or "), o.facts.DefaultModel)}
}

// Catalogue is what resolving the settings of a job has to know of providers; see
// job.Catalogue.
type Catalogue struct{}

// Known reports whether there is such a provider.
func (Catalogue) Known(provider string) bool { return slices.Contains(model.Providers(), provider) }

// DefaultModel returns the model that is used when none is named; "" if there is none.
func (Catalogue) DefaultModel(provider string) string { return model.DefaultModel(provider) }

// DefaultTimeout returns the time limit of one generation if it is not the usual one.
func (Catalogue) DefaultTimeout(provider string) time.Duration {
	return model.ProviderNamed(provider).Timeout
}

// Fits reports whether a provider can have a model, as far as the model's name tells.
func (Catalogue) Fits(provider, name string) bool {
	if table[provider].owns == nil {
		return true
	}
	all := owners(name)
	return len(all) == 0 || slices.Contains(all, provider)
}

// Choice returns the model of an Expert's Runs in a job with these settings.
func Choice(settings job.Settings, e *expert.Expert) job.ModelChoice {
	spec := job.Spec{Settings: settings}
	spec.Complete(Catalogue{})
	return spec.ModelOf(e)
}

// owners are the providers that have a model of such a name; none if the name does not tell.
func owners(name string) (all []string) {
	for _, provider := range model.Providers() {
		if owns := table[provider].owns; owns != nil && owns(name) {
			all = append(all, provider)
		}
	}
	return all
}

func prefixed(prefix string) func(string) bool {
	return func(model string) bool { return strings.HasPrefix(model, prefix) }
}

// isDeepSeek goes by the names of the service alone: Ollama runs models of the family too.
func isDeepSeek(model string) bool { return model == "deepseek-chat" || model == "deepseek-reasoner" }

// isBedrock reports whether a name consists of a vendor and a model, with or without a
// region before them.
func isBedrock(model string) bool {
	parts := strings.Split(model, ".")
	for _, vendor := range parts[:min(2, len(parts)-1)] {
		if slices.Contains([]string{"anthropic", "amazon", "meta", "mistral", "cohere", "ai21", "openai", "deepseek", "qwen"}, vendor) {
			return true
		}
	}
	return false
}
