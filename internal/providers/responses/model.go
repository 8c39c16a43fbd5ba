package responses

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"net/http"
	"strings"
	"sync/atomic"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/internal/providers/wire"
	"github.com/perstack-go/perstack/model"
)

const (
	defaultProvider = "openai"
	defaultBaseURL  = "https://api.openai.com/v1"
)

// Config says which model is asked, and how it is reached.
type Config struct {
	wire.Config

	Key                   string
	Organization, Project string // who is billed, where a key has several; may be empty
}

// A Model asks one model of OpenAI.
type Model struct {
	cfg    Config
	client wire.Client
	thinks thinking
	hosted hosted
	lists  wire.Lists
	room   int // for the media of a request

	messages  wire.Encoded[*encoded]
	slimmed   wire.Encoded[*encoded] // without media
	encodings atomic.Int64           // how many messages were encoded; tests look at it
	terse     atomic.Bool            // summaries of thoughts were refused
}

var _ model.Model = (*Model)(nil)

// New returns a model, or says what is wrong with the configuration.
func New(cfg Config) (*Model, error) {
	if cfg.Provider == "" {
		cfg.Provider = defaultProvider
	}
	if err := cfg.Begin(defaultBaseURL); err != nil {
		return nil, err
	}
	if err := cfg.CheckKey(cmp.Or(cfg.KeyVariable, "OPENAI_API_KEY"), cfg.Key); err != nil {
		return nil, err
	}
	if len(cfg.Skills) > 0 {
		return nil, fmt.Errorf("%s: this provider has no skills of its own; remove providerSkills, or use a skill of the Expert", cfg.Provider)
	}
	if err := cfg.Extra.Check(cfg.Provider, reserved...); err != nil {
		return nil, err
	}
	m := &Model{cfg: cfg, client: cfg.Client, thinks: newThinking(&cfg.Config), room: maxMedia}
	var err error
	if m.hosted, err = newHosted(&cfg.Config); err != nil {
		return nil, err
	}
	c := &m.client
	c.Explain = explain
	c.Secrets = append([]string{cfg.Key}, c.Secrets...)
	if c.MaxEvent == 0 && m.hosted.has(typeImageTool) {
		c.MaxEvent = maxImageEvent
	}
	c.Header = http.Header{}
	c.Header.Set("Authorization", "Bearer "+cfg.Key)
	if cfg.Organization != "" {
		c.Header.Set("OpenAI-Organization", cfg.Organization)
	}
	if cfg.Project != "" {
		c.Header.Set("OpenAI-Project", cfg.Project)
	}
	for name, values := range cfg.Client.Header {
		c.Header[http.CanonicalHeaderKey(name)] = values
	}
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
		summary := !m.terse.Load() && !m.cfg.Extra.Has(memberReasoning)
		answer, err := m.ask(ctx, req, summary, tell)
		if summary && refusesSummary(err) {
			m.terse.Store(true)
			summary = false
			answer, err = m.ask(ctx, req, summary, tell)
		}
		if refusesThoughts(err) {
			m.forget(req)
			return m.ask(ctx, req, summary, tell)
		}
		return answer, err
	})
}

func (m *Model) ask(ctx context.Context, req *model.Request, summary bool, tell wire.Tell) (*model.Answer, error) {
	stream, err := m.client.Post(ctx, "/responses", nil, m.body(req, summary)...)
	if err != nil {
		return nil, err
	}
	defer stream.Close()
	turn := turn{client: &m.client, draft: wire.Draft{Names: wire.Names{Tools: req.Tools, Most: maxName}}}
	if err := turn.read(stream, tell); err != nil {
		return nil, wire.Paid(err, turn.used)
	}
	stream.Finish()
	return turn.answer(), nil
}

// refusesSummary recognises what an organisation without a verified name is told. It is
// worth a second call: everything else works without summaries.
func refusesSummary(err error) bool {
	var e *model.Error
	return errors.As(err, &e) && e.StatusCode == http.StatusBadRequest &&
		(strings.Contains(e.Message, "reasoning summar") || strings.Contains(e.Message, "reasoning.summary"))
}

// refusesThoughts recognises thoughts that the provider cannot open any more: another
// organisation's, by a job that goes on with another key, or ones that it has lost the key
// to. They are in every later request of the job.
func refusesThoughts(err error) bool {
	var e *model.Error
	return errors.As(err, &e) && e.StatusCode == http.StatusBadRequest &&
		strings.Contains(e.Message, "ncrypted content") && strings.Contains(e.Message, "could not be verified")
}

// forget makes what was answered so far another's: it goes without thoughts and marks. What
// comes after keeps its own.
func (m *Model) forget(req *model.Request) {
	for _, msg := range req.Messages {
		if msg.Type == event.ExpertMessage {
			m.messages.Replace(msg, m.encode(msg, true, false))
			m.slimmed.Replace(msg, m.encode(msg, false, false))
		}
	}
}

func (m *Model) encoded(msg *event.Message) *encoded {
	return m.messages.Get(msg, func(msg *event.Message) *encoded { return m.encode(msg, true, m.isOwn(msg)) })
}

// slim is a message whose media are left out, because there are too many of them.
func (m *Model) slim(msg *event.Message) *encoded {
	return m.slimmed.Get(msg, func(msg *event.Message) *encoded { return m.encode(msg, false, m.isOwn(msg)) })
}

// isOwn reports whether a message is by the very model that is asked.
func (m *Model) isOwn(msg *event.Message) bool { return msg.Author == m.cfg.Author }
