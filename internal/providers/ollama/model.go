// Package ollama is a model behind the chat API of an Ollama server, mostly one on this
// machine.
//
// Every call streams, as lines of JSON. Each message of a conversation is encoded once and
// its bytes are sent again and again. Parts that the API cannot take are replaced by a
// line that says so, so that one odd file does not end a job.
//
// A server of this kind cuts a conversation that is longer than its window, or becomes so
// while it answers, and says nothing. It is asked not to: a model that has lost its task
// works on, at something else.
//
// The package never reads the environment, never tries a call a second time (the engine
// does), but for one that was refused because the model cannot think, and never shows one
// model the thoughts of another. Start reading at [New], then [Model.Generate].
package ollama

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"net/http"
	"strings"
	"sync/atomic"

	"github.com/perstack-go/perstack/internal/providers/wire"
	"github.com/perstack-go/perstack/model"
)

const (
	defaultBaseURL = "http://127.0.0.1:11434/api"
	ndjson         = "application/x-ndjson"
)

// A Model asks one model of an Ollama server.
type Model struct {
	config  wire.Config
	options wire.Extra // settings of the model that a user gives by extraBody
	lists   wire.Lists
	media   int // what the media of a request may weigh

	resolved wire.Resolved
	messages wire.Encoded[*encoded]

	// thoughtless is set when the server has said that the model cannot think.
	thoughtless atomic.Bool
}

var _ model.Model = (*Model)(nil)

// New returns a model, or says what is wrong with the configuration. The base URL may end in
// /api, in /v1 or in neither: people write it in all ways.
func New(c wire.Config) (*Model, error) {
	if err := c.Begin("ollama", defaultBaseURL, "model", "messages", "stream", "tools"); err != nil {
		return nil, err
	}
	for name := range c.Extra { // the server does not look at the case, and would take the second of two
		if name != strings.ToLower(name) {
			return nil, fmt.Errorf("%s: write %q in extraBody in small letters", c.Provider, name)
		}
	}
	m := &Model{config: c, media: maxMedia, resolved: wire.Resolved{Fetch: c.Fetch}}
	var err error
	if m.options, err = m.config.TakeSettings("options", ""); err != nil {
		return nil, err
	}
	client := &m.config.Client
	client.BaseURL = withAPI(client.BaseURL)
	client.Accept, client.Explain, client.PassingWords = ndjson, m.explain, []string{"connection refused"}
	// The server is silent while it loads a model, reads the conversation and collects a call of
	// a tool. That takes minutes on a small machine, and would start again with every attempt:
	// the limit of the whole call is enough.
	client.FirstByte, client.Idle = cmp.Or(client.FirstByte, -1), cmp.Or(client.Idle, -1)
	client.NoServer = "if the server does not run, start it with: ollama serve"
	client.Hints = map[int]string{http.StatusUnauthorized: "", http.StatusForbidden: ""} // there is no key to check
	return m, nil
}

// withAPI completes an address that names the server alone, or its imitation of OpenAI's API.
func withAPI(base string) string {
	base = strings.TrimSuffix(strings.TrimRight(base, "/"), "/v1")
	if !strings.HasSuffix(base, "/api") {
		base += "/api"
	}
	return base
}

// Generate streams one turn.
func (m *Model) Generate(ctx context.Context, req *model.Request) iter.Seq2[model.Chunk, error] {
	return wire.Generate(func(tell wire.Tell) (*model.Answer, error) {
		req, err := m.resolved.Request(ctx, req)
		if err != nil {
			return nil, err
		}
		think := m.think(req.Reasoning)
		answer, err := m.ask(ctx, req, think, tell)
		if think != "" && wire.RefusesThinking(err) {
			// Which models can think is known to the server alone.
			m.thoughtless.Store(true)
			answer, err = m.ask(ctx, req, "", tell)
		}
		return answer, err
	})
}

func (m *Model) ask(ctx context.Context, req *model.Request, think string, tell wire.Tell) (*model.Answer, error) {
	client := &m.config.Client
	turn := &turn{client: client, draft: wire.Draft{Names: wire.Names{Tools: req.Tools, Most: maxName}}}
	return client.Ask(ctx, "/chat", nil, m.body(req, think), turn, tell)
}
