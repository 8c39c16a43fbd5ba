// Package anthropic is a model behind Anthropic's Messages API.
//
// Every call streams. Each message of a conversation is encoded once and its bytes are
// sent again and again; what moves from call to call, the mark of the prompt cache, is
// spliced in between. Parts that the API cannot take are replaced by a line that says
// so, so that one odd file does not end a job. Blocks that we do not know, and what the
// provider ran itself, are kept as they came and sent back so.
//
// The package never reads the environment, never tries a call a second time (the engine
// does) and never shows one model the signed thoughts of another. Start reading at
// [New], then [Model.Generate].
package anthropic

import (
	"context"
	"iter"
	"net/http"
	"slices"
	"strings"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/internal/providers/wire"
	"github.com/perstack-go/perstack/model"
)

const (
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

	resolved wire.Resolved
	messages wire.Encoded[*encoded]
}

var _ model.Model = (*Model)(nil)

// New returns a model, or says what is wrong with the configuration.
func New(cfg Config) (*Model, error) {
	m := &Model{cfg: cfg.Config, resolved: wire.Resolved{Fetch: cfg.Fetch, Takes: fetches}}
	if err := m.cfg.Begin("anthropic", defaultBaseURL, "model", "max_tokens", "stream", "system", "messages", "tools", "tool_choice", "mcp_servers"); err != nil {
		return nil, err
	}
	if err := m.cfg.CheckKey(cfg.Key); err != nil {
		return nil, err
	}
	var err error
	if m.hosted, err = newHosted(&m.cfg); err != nil {
		return nil, err
	}
	c := &m.cfg.Client
	c.Explain, c.PassingWords = explain, []string{"overloaded"}
	c.SetHeaders(map[string]string{"X-Api-Key": cfg.Key, "Anthropic-Version": apiVersion}, cfg.Key)
	return m, nil
}

// Generate streams one turn.
func (m *Model) Generate(ctx context.Context, req *model.Request) iter.Seq2[model.Chunk, error] {
	return wire.Generate(func(tell wire.Tell) (*model.Answer, error) {
		req, err := m.resolved.Request(ctx, req)
		if err != nil {
			return nil, err
		}
		turn := &turn{client: &m.cfg.Client, draft: wire.Draft{Names: wire.Names{Tools: req.Tools, Most: maxName}}}
		return m.cfg.Client.Ask(ctx, "/messages", m.header(), m.body(req), turn, tell)
	})
}

// header adds the betas that requests need. What a user set by hand comes last.
func (m *Model) header() http.Header {
	if len(m.hosted.betas) == 0 {
		return nil
	}
	betas := slices.Concat(m.hosted.betas, m.cfg.Client.Header.Values("Anthropic-Beta"))
	return http.Header{"Anthropic-Beta": {strings.Join(betas, ",")}}
}

func (m *Model) encode(msg *event.Message, slim bool) *encoded {
	return (&encoder{author: m.cfg.Author, known: m.cfg.Known, slim: slim}).message(msg)
}
