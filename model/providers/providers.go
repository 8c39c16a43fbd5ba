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
	client, err := c.client("ANTHROPIC_BASE_URL")
	if err != nil {
		return nil, err
	}
	m, err := anthropic.New(anthropic.Config{
		Client:      client,
		Key:         c.Env("ANTHROPIC_API_KEY"),
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
func (c Choice) client(baseURLVariable string) (wire.Client, error) {
	proxy := http.ProxyFromEnvironment
	if address := c.Env("PERSTACK_PROXY_URL"); address != "" {
		u, err := url.Parse(address)
		if err != nil || u.Host == "" {
			return wire.Client{}, errors.New("PERSTACK_PROXY_URL is not a URL; write it like http://proxy:3128")
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
