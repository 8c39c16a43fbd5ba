// Package providers is the table of those who run models: it opens the model that a run
// was told to use, from settings that are handed in.
//
// Opening asks nobody. A missing key or an address that cannot be right shows here,
// before anything is started. A provider that is not used costs nothing. Start reading
// at [Open].
package providers

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"net/url"

	"github.com/perstack-go/perstack/expert"
	"github.com/perstack-go/perstack/model"
	"github.com/perstack-go/perstack/model/anthropic"
	"github.com/perstack-go/perstack/model/replay"
	"github.com/perstack-go/perstack/model/wire"
)

// A Choice says which model a run uses.
type Choice struct {
	Provider string
	Model    string
	// Setting is [provider.setting] of perstack.toml if it stands with this provider,
	// else zero: used with another, it would send keys to the wrong host.
	Setting expert.Setting
	// Env looks up variables of the environment and the env files.
	Env func(name string) string
	// EnvFile says which env file a variable comes from; "" for the environment. It may
	// be nil if there are no such files.
	EnvFile func(name string) string
	// Expert says which tools and skills of the provider itself are used.
	Expert *expert.Expert
}

// Open returns the model. An error is about the configuration.
func Open(c Choice) (model.Model, error) {
	switch c.Provider {
	case "replay":
		return openReplay(c)
	case "anthropic":
		return openAnthropic(c)
	}
	return nil, fmt.Errorf("provider %q cannot be used by this version yet; use anthropic or replay", c.Provider)
}

func openReplay(c Choice) (model.Model, error) {
	if c.Setting.Cassette == "" {
		return nil, errors.New("the replay provider needs a cassette; give it with --cassette or as cassette in [provider.setting]")
	}
	cassette, err := replay.Load(c.Setting.Cassette)
	if err != nil {
		return nil, err
	}
	return replay.New(cassette), nil
}

func openAnthropic(c Choice) (model.Model, error) {
	const key = "ANTHROPIC_API_KEY"
	client, err := c.client("ANTHROPIC_BASE_URL", key)
	if err != nil {
		return nil, err
	}
	m, err := anthropic.New(anthropic.Config{
		Client:      client,
		Key:         c.Env(key),
		Model:       c.Model,
		Tools:       c.Expert.ProviderTools,
		ToolOptions: c.Expert.ProviderToolOptions,
		Skills:      c.Expert.ProviderSkills,
	})
	if err != nil {
		return nil, err // not m: a nil pointer in an interface is not nil
	}
	return m, nil
}

// client is what all providers that are reached over HTTP have in common.
func (c Choice) client(baseURLVariable, keyVariable string) (wire.Client, error) {
	if err := c.refuseDetour(baseURLVariable, keyVariable); err != nil {
		return wire.Client{}, err
	}
	proxy := http.ProxyFromEnvironment
	if address := c.Env(proxyVariable); address != "" {
		u, err := url.Parse(address)
		if err != nil || u.Host == "" {
			return wire.Client{}, errors.New(proxyVariable + " is not a URL; write it like http://proxy:3128")
		}
		proxy = http.ProxyURL(u)
	}
	header := make(http.Header)
	for name, value := range c.Setting.Headers {
		header.Set(name, value)
	}
	return wire.Client{
		BaseURL: cmp.Or(c.Setting.BaseURL, c.Env(baseURLVariable)),
		Header:  header,
		HTTP:    wire.NewHTTPClient(proxy),
	}, nil
}

const proxyVariable = "PERSTACK_PROXY_URL"

// refuseDetour refuses an env file that says where the user's key goes: it may have come
// with a repository. Only a key of the same file follows it there.
func (c Choice) refuseDetour(baseURLVariable, keyVariable string) error {
	if c.EnvFile == nil {
		return nil
	}
	if file := c.EnvFile(proxyVariable); file != "" {
		return fmt.Errorf("%s is set in %s, which may have come with a repository; set it in your environment", proxyVariable, file)
	}
	file := c.EnvFile(baseURLVariable)
	if c.Setting.BaseURL == "" && file != "" && file != c.EnvFile(keyVariable) {
		return fmt.Errorf("%s is set in %s, but %s is not: a file that may have come with a repository does not say where your key goes; "+
			"set both in that file, or both in your environment", baseURLVariable, file, keyVariable)
	}
	return nil
}
