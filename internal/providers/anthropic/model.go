package anthropic

import (
	"cmp"
	"context"
	"iter"
	"net/http"
	"strings"
	"sync/atomic"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/internal/providers/wire"
	"github.com/perstack-go/perstack/model"
)

const (
	provider       = "anthropic"
	defaultBaseURL = "https://api.anthropic.com/v1"
	apiVersion     = "2023-06-01"
)

// Config says which model is asked, and how it is reached.
type Config struct {
	wire.Config
	Key string
}

// A Model asks one model of Anthropic.
type Model struct {
	cfg    wire.Config
	hosted hosted
	lists  wire.Lists

	resolved  wire.Resolved
	messages  wire.Encoded[*encoded]
	slimmed   wire.Encoded[*encoded] // the same without their media
	encodings atomic.Int64           // how many messages were encoded; tests look at it
}

var _ model.Model = (*Model)(nil)

// New returns a model, or says what is wrong with the configuration.
func New(cfg Config) (*Model, error) {
	m := &Model{cfg: cfg.Config, resolved: wire.Resolved{Fetch: cfg.Fetch, Takes: fetches}}
	m.cfg.Provider = cmp.Or(cfg.Provider, provider)
	if err := m.cfg.Begin(defaultBaseURL); err != nil {
		return nil, err
	}
	if err := m.cfg.CheckKey(cmp.Or(cfg.KeyVariable, "ANTHROPIC_API_KEY"), cfg.Key); err != nil {
		return nil, err
	}
	if err := m.cfg.Extra.Check(m.cfg.Provider, "model", "max_tokens", "stream", "system", "messages", "tools", "tool_choice"); err != nil {
		return nil, err
	}
	var err error
	if m.hosted, err = newHosted(&m.cfg); err != nil {
		return nil, err
	}
	c := &m.cfg.Client
	c.Explain = explain
	c.Secrets = append([]string{cfg.Key}, c.Secrets...)
	c.Header = http.Header{}
	c.Header.Set("X-Api-Key", cfg.Key)
	c.Header.Set("Anthropic-Version", apiVersion)
	for name, values := range cfg.Client.Header {
		c.Header[http.CanonicalHeaderKey(name)] = values
	}
	return m, nil
}

// Generate streams one turn.
func (m *Model) Generate(ctx context.Context, req *model.Request) iter.Seq2[model.Chunk, error] {
	return wire.Generate(func(tell wire.Tell) (*model.Answer, error) {
		req, err := m.resolved.Request(ctx, req)
		if err != nil {
			return nil, err
		}
		stream, err := m.cfg.Client.Post(ctx, "/messages", m.header(), m.body(req)...)
		if err != nil {
			return nil, err
		}
		defer stream.Close()
		turn := turn{client: &m.cfg.Client, draft: wire.Draft{Names: wire.Names{Tools: req.Tools, Most: maxName}}}
		if err := turn.read(stream, tell); err != nil {
			return nil, wire.Paid(err, turn.usage.total())
		}
		stream.Finish()
		return turn.answer(), nil
	})
}

// header adds the betas that requests need. What a user set by hand comes last.
func (m *Model) header() http.Header {
	if len(m.hosted.betas) == 0 {
		return nil
	}
	betas := append([]string{}, m.hosted.betas...)
	betas = append(betas, m.cfg.Client.Header.Values("Anthropic-Beta")...)
	return http.Header{"Anthropic-Beta": {strings.Join(betas, ",")}}
}

// encoded is a message as the API takes it, with its media or without.
func (m *Model) encoded(msg *event.Message, slim bool) *encoded {
	cache := &m.messages
	if slim {
		cache = &m.slimmed
	}
	return cache.Get(msg, func(msg *event.Message) *encoded {
		m.encodings.Add(1)
		return (&encoder{author: m.cfg.Author, known: m.cfg.Known, slim: slim}).message(msg)
	})
}
