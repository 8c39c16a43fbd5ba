package providers

import (
	"cmp"
	"errors"

	"github.com/perstack-go/perstack/internal/netaddr"
	"github.com/perstack-go/perstack/internal/providers/anthropic"
	"github.com/perstack-go/perstack/internal/providers/chat"
	"github.com/perstack-go/perstack/internal/providers/gemini"
	"github.com/perstack-go/perstack/internal/providers/ollama"
	"github.com/perstack-go/perstack/internal/providers/replay"
	"github.com/perstack-go/perstack/internal/providers/responses"
	"github.com/perstack-go/perstack/internal/providers/wire"
	"github.com/perstack-go/perstack/model"
)

// This file opens the providers that need a key at most.

// keyed looks up a key, by one of its names, and the address that it goes to. That it is
// missing, the wire says.
func (o *opening) keyed(names ...string) (cfg wire.Config, key string, err error) {
	k := o.variable(names...)
	base, err := o.baseURL(k)
	if err != nil {
		return wire.Config{}, "", err
	}
	cfg, err = o.config(base)
	cfg.KeyVariable = k.name
	return cfg, k.value, err
}

func (o *opening) anthropic() (model.Model, error) {
	cfg, key, err := o.keyed("ANTHROPIC_API_KEY")
	if err != nil {
		return nil, err
	}
	return opened(anthropic.New(anthropic.Config{Config: cfg, Key: key}))
}

func (o *opening) google() (model.Model, error) {
	cfg, key, err := o.keyed("GOOGLE_GENERATIVE_AI_API_KEY", "GEMINI_API_KEY", "GOOGLE_API_KEY")
	if err != nil {
		return nil, err
	}
	return opened(gemini.New(gemini.Config{Config: cfg, Key: key, Safety: o.Setting.SafetySettings}))
}

func (o *opening) openai() (model.Model, error) {
	cfg, key, err := o.keyed("OPENAI_API_KEY")
	if err != nil {
		return nil, err
	}
	return opened(responses.New(responses.Config{
		Config:       cfg,
		Key:          key,
		Organization: cmp.Or(o.Setting.Organization, o.Env("OPENAI_ORGANIZATION")),
		Project:      cmp.Or(o.Setting.Project, o.Env("OPENAI_PROJECT")),
	}))
}

func (o *opening) deepseek() (model.Model, error) {
	cfg, key, err := o.keyed("DEEPSEEK_API_KEY")
	if err != nil {
		return nil, err
	}
	return opened(chat.New(chat.Config{Config: cfg, Dialect: chat.DeepSeek, Key: key}))
}

// ollama has no key. Where it is, an env file may say: the user is told. Beyond this
// machine it is reached by plain http too, but not because an env file says so.
func (o *opening) ollama() (model.Model, error) {
	base, err := o.baseURL()
	if err != nil {
		return nil, err
	}
	cfg, err := o.config(base)
	if err != nil {
		return nil, err
	}
	if base != "" && isPlain(base) && !isHere(base) {
		if cfg.Client.AllowHTTP, err = o.plain(base); err != nil {
			return nil, err
		}
	}
	return opened(ollama.New(ollama.Config{Config: cfg}))
}

// plain reports whether an address beyond this machine may be reached by plain http. A
// variable was judged when it was read; the file may mean the own network only. Nothing of
// ours that is secret goes along, and so must nothing of the file's.
func (o *opening) plain(base string) (bool, error) {
	if o.Setting.BaseURL != "" && !(o.Setting.AllowPrivateEndpoint && reach(base) == netaddr.Private) {
		return false, nil // the wire refuses it
	}
	if len(o.Setting.Headers) > 0 {
		return false, o.errorf("headers may hold a key, and are not sent to %s by plain http; use https, or remove headers from [provider.setting]", hostOf(base))
	}
	o.warn("warning: what the Expert sees goes to %s unencrypted; others on the way can read and change it", hostOf(base))
	return true, nil
}

func (o *opening) replay() (model.Model, error) {
	if o.Setting.Cassette == "" {
		return nil, errors.New("the replay provider needs a cassette; give it with --cassette or as cassette in [provider.setting]")
	}
	cassette, err := replay.LoadBy(o.readFile, o.Setting.Cassette)
	if err != nil {
		return nil, err
	}
	return replay.New(cassette), nil
}
