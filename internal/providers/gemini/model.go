package gemini

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/expert"
	"github.com/perstack-go/perstack/internal/providers/wire"
	"github.com/perstack-go/perstack/model"
)

const (
	google         = "google"
	vertex         = "google-vertex"
	defaultBaseURL = "https://generativelanguage.googleapis.com/v1beta"
)

// Config says which model is asked, and how it is reached.
type Config struct {
	wire.Config

	Key    string                                    // of the Gemini API
	Token  func(ctx context.Context) (string, error) // of Vertex AI; see [TokenSource]
	Safety []expert.SafetySetting
}

// A Model asks one model of Google.
type Model struct {
	wire.Config
	traits   traits
	vertex   bool
	token    func(ctx context.Context) (string, error)
	path     string
	hosted   hosted
	settings settings
	lists    wire.Lists
	resolved wire.Resolved

	messages, slim wire.Encoded[*encoded]
	encodings      atomic.Int64 // how many messages were encoded; tests look at it
}

var _ model.Model = (*Model)(nil)

// New returns a model, or says what is wrong with the configuration.
func New(cfg Config) (*Model, error) {
	m := &Model{Config: cfg.Config, token: cfg.Token, vertex: cfg.Token != nil || cfg.Provider == vertex}
	m.Provider = cmp.Or(m.Provider, google)
	base := defaultBaseURL
	if m.vertex {
		base = ""
	}
	if m.vertex && m.Client.BaseURL == "" {
		return nil, fmt.Errorf("%s: no address is known; set project and location in perstack.toml", m.Provider)
	}
	if m.vertex {
		const both = "check the credentials and what they may do" // there is no API key
		m.Client.Hints = map[int]string{http.StatusUnauthorized: both, http.StatusForbidden: both}
	}
	if err := m.Begin(base); err != nil {
		return nil, err
	}
	if err := m.identify(cfg); err != nil {
		return nil, err
	}
	if !plainModel().MatchString(m.Model) || strings.Contains(m.Model, "..") {
		return nil, fmt.Errorf("%s: %.100q is not the name of a model; names look like gemini-2.5-pro or tunedModels/mine", m.Provider, m.Model)
	}
	m.path = "/models/" + m.Model
	if strings.Contains(m.Model, "/") {
		m.path = "/" + m.Model
	}
	m.resolved = wire.Resolved{Fetch: m.Fetch, Takes: func(p *event.Part) bool { return m.fetches(p.URL) }}
	m.traits = traitsOf(m.Model, m.Known)
	var err error
	if m.hosted, err = m.newHosted(); err != nil {
		return nil, err
	}
	if m.settings, err = newSettings(m.Provider, m.Extra, cfg.Safety); err != nil {
		return nil, err
	}
	m.Client.Explain = explain
	return m, nil
}

// plainModel is what can stand in a path without changing which path it is.
var plainModel = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[a-zA-Z0-9][a-zA-Z0-9._@:/-]*$`) })

// identify puts what proves who asks where it belongs.
func (m *Model) identify(cfg Config) error {
	header := http.Header{}
	switch {
	case m.vertex && cfg.Token == nil:
		return errors.New(m.Provider + ": no credentials were found; set GOOGLE_APPLICATION_CREDENTIALS to a credentials file")
	case !m.vertex:
		if err := m.CheckKey(cmp.Or(m.KeyVariable, "GOOGLE_GENERATIVE_AI_API_KEY"), cfg.Key); err != nil {
			return err
		}
		header.Set("X-Goog-Api-Key", cfg.Key)
		m.Client.Secrets = append([]string{cfg.Key}, m.Client.Secrets...)
	}
	for name, values := range cfg.Client.Header {
		header[http.CanonicalHeaderKey(name)] = values
	}
	m.Client.Header = header
	return nil
}

// Generate streams one turn.
func (m *Model) Generate(ctx context.Context, req *model.Request) iter.Seq2[model.Chunk, error] {
	return wire.Generate(func(tell wire.Tell) (*model.Answer, error) { return m.generate(ctx, req, tell) })
}

func (m *Model) generate(ctx context.Context, req *model.Request, tell wire.Tell) (*model.Answer, error) {
	if err := m.refuseMix(req); err != nil {
		return nil, err
	}
	req, err := m.resolved.Request(ctx, req)
	if err != nil {
		return nil, err
	}
	client := m.Client // of this call: what it waits for and what it hides change on the way
	client.Secrets = slices.Clip(client.Secrets)
	if m.token != nil {
		client.Authorize = func(r *http.Request, _ [][]byte) error { return m.authorize(r, &client) }
	}
	stream, err := client.Post(ctx, m.path+":streamGenerateContent?alt=sse", nil, m.body(req).Pieces...)
	if err != nil {
		return nil, err
	}
	defer stream.Close()
	turn := turn{client: &client, draft: wire.Draft{Names: wire.Names{Tools: req.Tools, Most: maxName}}}
	if err := turn.read(stream, tell); err != nil {
		return nil, wire.Paid(err, turn.usage.total())
	}
	stream.Finish()
	return turn.answer(), nil
}

// authorize gives a request a token. One that a user set by hand stays.
func (m *Model) authorize(r *http.Request, client *wire.Client) error {
	if r.Header.Get("Authorization") != "" {
		return nil
	}
	token, err := m.token(r.Context())
	if err != nil {
		return err
	}
	client.Secrets = append(client.Secrets, token)
	r.Header.Set("Authorization", "Bearer "+token)
	return nil
}

// encoded returns a message as it stands on the wire, or as it does without its media.
func (m *Model) encoded(msg *event.Message, slim bool) *encoded {
	kept := &m.messages
	if slim {
		kept = &m.slim
	}
	return kept.Get(msg, func(msg *event.Message) *encoded {
		m.encodings.Add(1)
		return m.encode(msg, slim)
	})
}
