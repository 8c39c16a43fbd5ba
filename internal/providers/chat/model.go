// Package chat is a model behind the Chat Completions API. The services that speak it differ
// in small ways: each is a [Dialect].
//
// Every call streams. Each message of a conversation is encoded once, and its bytes are
// reused in every request. The API takes no media in the result of a tool: they follow in a
// message of their own, after the last result. What a service cannot take is replaced by a
// line that says so, so that one odd file does not end a job.
//
// The package never reads the environment, never retries (the engine does) and never shows
// one model the thoughts of another. Start reading at [New], then [Model.Generate].
package chat

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"sync/atomic"

	"github.com/perstack-go/perstack/internal/providers/wire"
	"github.com/perstack-go/perstack/model"
)

// Config says which model is asked, and how it is reached.
type Config struct {
	wire.Config

	Dialect *Dialect
	Key     string

	// Azure alone: the version of the API, v1 if empty, and whether the model is a part of
	// the address. The name of the model is that of its deployment.
	APIVersion  string
	Deployments bool
}

// A Model asks one model by Chat Completions.
type Model struct {
	cfg   Config
	path  string
	lists wire.Lists

	resolved wire.Resolved

	// Messages as they are sent, and as they are sent to a service that refuses files.
	messages [2]wire.Encoded[*encoded]

	// What the service has refused. The name of a deployment does not tell what its model
	// takes.
	asking   atomic.Int32 // how effort is asked for: one of asks, omits, declines
	fileless atomic.Bool
}

// How a request asks for effort.
const (
	asks     = iota // with the word for the budget
	omits           // not at all: the model takes none, or none beside tools
	declines        // by the word for no thinking: the model takes no other with tools
)

var _ model.Model = (*Model)(nil)

// New returns a model, or says what is wrong with the configuration.
func New(cfg Config) (*Model, error) {
	m := &Model{cfg: cfg, resolved: wire.Resolved{Fetch: cfg.Fetch, Takes: cfg.Dialect.media.Fetches}}
	c, d := &m.cfg, cfg.Dialect
	if d.baseURL == "" && cfg.Client.BaseURL == "" {
		return nil, fmt.Errorf("%s: no address: %s", cmp.Or(cfg.Provider, d.provider), d.noURL)
	}
	if err := c.Begin(d.provider, d.baseURL, "model", "messages", "stream", "stream_options", "tools", "tool_choice",
		"max_tokens", "max_completion_tokens", "n", "data_sources"); err != nil {
		return nil, err
	}
	if err := d.authorize(c); err != nil {
		return nil, err
	}
	if c.Deployments && (c.Model == "." || c.Model == "..") {
		return nil, fmt.Errorf("%s: the model %q is not a name of a deployment", c.Provider, c.Model)
	}
	m.path = d.path(c)
	return m, nil
}

// Generate streams one turn.
func (m *Model) Generate(ctx context.Context, req *model.Request) iter.Seq2[model.Chunk, error] {
	return wire.Generate(func(tell wire.Tell) (*model.Answer, error) {
		req, err := m.resolved.Request(ctx, req)
		if err != nil {
			return nil, err
		}
		for {
			asking, fileless := m.asking.Load(), m.fileless.Load()
			answer, err := m.generate(ctx, req, tell)
			switch { // nothing was generated, and the next request knows
			case asking == asks && wire.RefusesThinking(err):
				m.asking.CompareAndSwap(asking, omits)
			case m.refusesEffort(err, req, asking):
				m.asking.CompareAndSwap(asking, asking+1)
			case !fileless && refusesFiles(err):
				m.fileless.Store(true)
			default:
				return answer, err
			}
		}
	})
}

func (m *Model) generate(ctx context.Context, req *model.Request, tell wire.Tell) (*model.Answer, error) {
	turn := &turn{client: &m.cfg.Client, draft: wire.Draft{Names: wire.Names{Tools: req.Tools, Most: maxName}}, dialect: m.cfg.Dialect}
	client := m.cfg.Client
	client.Explain = func(_ int, body []byte) wire.Problem { return turn.explain(wire.ReadOpenAIError(body)) }
	answer, err := client.Ask(ctx, m.path, nil, m.body(req), turn, tell)
	var failed *model.Error
	if turn.filtered && errors.As(err, &failed) {
		failed.Name = contentFilter
	}
	return answer, err
}
