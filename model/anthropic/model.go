package anthropic

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
	"github.com/perstack-go/perstack/expert"
	"github.com/perstack-go/perstack/model"
	"github.com/perstack-go/perstack/model/wire"
)

const (
	provider       = "anthropic"
	defaultBaseURL = "https://api.anthropic.com/v1"
	apiVersion     = "2023-06-01"
)

// Config says which model is asked, and how it is reached.
type Config struct {
	// Client holds the address, further headers, the HTTP client and limits. What it
	// does not say gets a default; its Provider and Explain are set by New.
	Client wire.Client

	Key       string
	Model     string
	Author    string // who the answers are by; anthropic/<Model> if empty
	MaxTokens int    // of an answer, thinking included; 0: what the model is known to allow

	// What the provider itself runs, as the Expert's definition names it.
	Tools       []string
	ToolOptions *expert.ProviderToolOptions
	Skills      []expert.ProviderSkill
}

// A Model asks one model of Anthropic.
type Model struct {
	client    wire.Client
	name      string
	author    string
	maxTokens int
	hosted    hosted
	lists     lists

	messages  wire.Encoded[*encoded]
	encodings atomic.Int64 // how many messages were encoded; tests look at it
}

var _ model.Model = (*Model)(nil)

// New returns a model, or says what is wrong with the configuration.
func New(cfg Config) (*Model, error) {
	m := &Model{client: cfg.Client, name: cfg.Model, author: cmp.Or(cfg.Author, provider+"/"+cfg.Model), maxTokens: cfg.MaxTokens}
	switch {
	case cfg.Model == "":
		return nil, errors.New("anthropic: no model is named; use --model or set model in perstack.toml")
	case cfg.Key == "":
		return nil, errors.New("anthropic: ANTHROPIC_API_KEY is not set; set it in the environment or in .env")
	case strings.ContainsFunc(cfg.Key, func(r rune) bool { return r <= ' ' || r >= 0x7f }):
		return nil, errors.New("anthropic: the API key has a character that no key has; check ANTHROPIC_API_KEY for spaces and line ends")
	case cfg.MaxTokens < 0:
		return nil, fmt.Errorf("anthropic: the limit of %d tokens is negative", cfg.MaxTokens)
	}
	var err error
	if m.hosted, err = newHosted(cfg); err != nil {
		return nil, err
	}
	c := &m.client
	c.Provider, c.Explain = provider, explain
	c.BaseURL = cmp.Or(c.BaseURL, defaultBaseURL)
	c.Secrets = append([]string{cfg.Key}, c.Secrets...)
	c.Header = http.Header{}
	c.Header.Set("X-Api-Key", cfg.Key)
	c.Header.Set("Anthropic-Version", apiVersion)
	for name, values := range cfg.Client.Header {
		c.Header[http.CanonicalHeaderKey(name)] = values
	}
	if c.HTTP == nil {
		return nil, errors.New("anthropic: no HTTP client was handed in; wire.NewHTTPClient makes one")
	}
	if err := c.Check(); err != nil {
		return nil, err
	}
	return m, nil
}

// Generate streams one turn.
func (m *Model) Generate(ctx context.Context, req *model.Request) iter.Seq2[model.Chunk, error] {
	return func(yield func(model.Chunk, error) bool) {
		answer, err := m.generate(ctx, req, func(c model.Chunk) bool { return yield(c, nil) })
		switch {
		case errors.Is(err, errUnheard):
		case err != nil:
			yield(model.Chunk{}, err)
		default:
			yield(model.Chunk{Answer: answer}, nil)
		}
	}
}

// errUnheard ends a call whose caller has stopped listening.
var errUnheard = errors.New("nobody listens")

func (m *Model) generate(ctx context.Context, req *model.Request, tell func(model.Chunk) bool) (*model.Answer, error) {
	stream, err := m.client.Post(ctx, "/messages", m.header(req), m.body(req)...)
	if err != nil {
		return nil, err
	}
	defer stream.Close()
	turn := turn{client: &m.client}
	if err := turn.read(stream, tell); err != nil {
		return nil, turn.paid(err)
	}
	return turn.answer(), nil
}

// header adds the betas that this request needs. What a user set by hand comes last.
func (m *Model) header(req *model.Request) http.Header {
	if len(req.Tools) == 0 || len(m.hosted.betas) == 0 {
		return nil
	}
	betas := append([]string{}, m.hosted.betas...)
	betas = append(betas, m.client.Header.Values("Anthropic-Beta")...)
	return http.Header{"Anthropic-Beta": {strings.Join(betas, ",")}}
}

func (m *Model) encoded(msg *event.Message) *encoded {
	return m.messages.Get(msg, func(msg *event.Message) *encoded {
		m.encodings.Add(1)
		return encode(msg, m.author)
	})
}
