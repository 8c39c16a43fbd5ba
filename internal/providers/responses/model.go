// Package responses is a model behind OpenAI's Responses API.
//
// Every call streams, and the provider is asked to keep nothing: the whole conversation
// goes along each time. Thoughts therefore come encrypted, and go back as they came,
// before what followed them; so does what the provider ran itself. Each message is
// encoded once and its bytes are sent again and again.
//
// The package never reads the environment and never shows one model the marks of another.
// It tries a call a second time only when thoughts, or summaries of them, were refused, and
// then without. Start reading at [New], then [Model.Generate].
package responses

import (
	"context"
	"iter"
	"strings"
	"sync/atomic"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/internal/providers/wire"
	"github.com/perstack-go/perstack/model"
)

const defaultBaseURL = "https://api.openai.com/v1"

// Config says which model is asked, and how it is reached.
type Config struct {
	wire.Config

	Key                   string
	Organization, Project string // who is billed, where a key has several; may be empty
}

// A Model asks one model of OpenAI.
type Model struct {
	cfg    wire.Config
	thinks thinking
	hosted hosted
	lists  wire.Lists
	media  int // bytes that the media of a request may have

	elsewhere bool // the server is not OpenAI's

	messages wire.Encoded[*encoded]

	// What the service has refused.
	terse       atomic.Bool // summaries of thoughts
	thoughtless atomic.Bool // to think at all
}

var _ model.Model = (*Model)(nil)

// New returns a model, or says what is wrong with the configuration.
func New(cfg Config) (*Model, error) {
	if err := cfg.Begin("openai", defaultBaseURL, reserved...); err != nil {
		return nil, err
	}
	if err := cfg.CheckKey(cfg.Key); err != nil {
		return nil, err
	}
	m := &Model{cfg: cfg.Config, thinks: newThinking(&cfg.Config), media: maxMedia}
	m.elsewhere = !strings.HasPrefix(cfg.Client.BaseURL, "https://api.openai.com/")
	var err error
	if m.hosted, err = newHosted(&cfg.Config); err != nil {
		return nil, err
	}
	c := &m.cfg.Client
	c.Explain = func(_ int, body []byte) wire.Problem {
		e := wire.ReadOpenAIError(body)
		return e.Problem()
	}
	if c.MaxEvent == 0 && m.hosted.has(typeImageTool) {
		c.MaxEvent = maxImageEvent
	}
	c.SetHeaders(map[string]string{
		"Authorization": "Bearer " + cfg.Key, "OpenAI-Organization": cfg.Organization, "OpenAI-Project": cfg.Project,
	}, cfg.Key)
	return m, nil
}

// reserved are the members that hold a request together. Some would make the provider
// keep the conversation, or answer later; max_output_tokens is what a budget rests on.
var reserved = []string{
	"model", "input", "instructions", "stream", "store", "include", "tools", "tool_choice", "max_output_tokens",
	"previous_response_id", "conversation", "background", "prompt",
}

// Generate streams one turn.
func (m *Model) Generate(ctx context.Context, req *model.Request) iter.Seq2[model.Chunk, error] {
	return wire.Generate(func(tell wire.Tell) (*model.Answer, error) {
		forgot := false
		for {
			summary, thoughtless := !m.terse.Load() && !m.cfg.Extra.Has(memberReasoning), m.thoughtless.Load()
			answer, err := m.ask(ctx, req, summary, tell)
			switch { // nothing was generated, and the next request knows
			case summary && refusesSummary(err):
				m.terse.Store(true)
			case !thoughtless && wire.RefusesThinking(err):
				m.thoughtless.Store(true)
			case !forgot && refusesThoughts(err):
				m.forget(req)
				forgot = true
			default:
				return answer, err
			}
		}
	})
}

func (m *Model) ask(ctx context.Context, req *model.Request, summary bool, tell wire.Tell) (*model.Answer, error) {
	client := &m.cfg.Client
	turn := &turn{client: client, draft: wire.Draft{Names: wire.Names{Tools: req.Tools, Most: maxName}}, elsewhere: m.elsewhere}
	return client.Ask(ctx, "/responses", nil, m.body(req, summary), turn, tell)
}

// refusesSummary recognises what an organisation without a verified name is told. It is
// worth a second call: everything else works without summaries.
func refusesSummary(err error) bool {
	return wire.IsRefused(err, "reasoning summar", "reasoning.summary")
}

// refusesThoughts recognises thoughts that the provider cannot open any more: another
// organisation's, by a job that was resumed with another key, or ones that it has lost the key
// to. They are in every later request of the job.
func refusesThoughts(err error) bool {
	return wire.IsRefused(err, "ncrypted content") && wire.IsRefused(err, "could not be verified")
}

// forget makes what was answered so far another's: it goes without thoughts and marks. What
// comes after keeps its own.
func (m *Model) forget(req *model.Request) {
	for _, msg := range req.Messages {
		if msg.Type == event.ExpertMessage {
			m.messages.Replace(msg, false, m.encodeAs(msg, false, false))
			m.messages.Replace(msg, true, m.encodeAs(msg, true, false))
		}
	}
}

// encode writes a message. Marks of thoughts go back only to the model that made them.
func (m *Model) encode(msg *event.Message, slim bool) *encoded {
	return m.encodeAs(msg, slim, msg.Author == m.cfg.Author)
}
