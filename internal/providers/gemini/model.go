// Package gemini is a model behind Google's generateContent: of the Gemini API, with a key,
// or of Vertex AI, with a token of Google Cloud.
//
// Every call streams. Each message of a conversation is encoded once and its bytes are sent
// again and again; results of tools are put behind the calls that asked for them when a
// request is put together, because the API counts them. Parts that it cannot take are
// replaced by a line that says so, so that one odd file does not end a job.
//
// The package never reads the environment or a file, never tries a call a second time (the
// engine does), and never sends one model the signatures of another. Start reading at
// [New], then [Model.Generate]; tokens are made by [Credentials.Tokens].
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
	Token  func(ctx context.Context) (string, error) // of Vertex AI; see [Credentials.Tokens]
	Safety []expert.SafetySetting
}

// A Model asks one model of Google.
type Model struct {
	wire.Config
	traits     traits
	vertex     bool
	token      func(ctx context.Context) (string, error)
	path       string
	hosted     string     // elements of tools
	generation wire.Extra // what the user adds to generationConfig
	lists      wire.Lists
	resolved   wire.Resolved

	messages wire.Encoded[*encoded]
}

var _ model.Model = (*Model)(nil)

// New returns a model, or says what is wrong with the configuration.
func New(cfg Config) (*Model, error) {
	m := &Model{Config: cfg.Config, token: cfg.Token, vertex: cfg.Token != nil || cfg.Provider == vertex}
	base := defaultBaseURL
	if m.vertex {
		if m.Client.BaseURL == "" {
			return nil, fmt.Errorf("%s: no address is known; set project and location in perstack.toml", cmp.Or(m.Provider, google))
		}
		base = ""
		const both = "check the credentials and what they may do" // there is no API key
		m.Client.Hints = map[int]string{http.StatusUnauthorized: both, http.StatusForbidden: both}
	}
	if err := m.Begin(google, base, reserved...); err != nil {
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
	if m.hosted, err = m.hostedTools(); err != nil {
		return nil, err
	}
	if err := m.takeSettings(cfg.Safety); err != nil {
		return nil, err
	}
	m.Client.Explain, m.Client.PassingWords = explain, []string{"quota exceeded"}
	return m, nil
}

// plainModel is what a path can contain without changing which path it is.
var plainModel = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[a-zA-Z0-9][a-zA-Z0-9._@:/-]*$`) })

// identify puts the credentials where they belong.
func (m *Model) identify(cfg Config) error {
	if m.vertex {
		if cfg.Token == nil {
			return errors.New(m.Provider + ": no credentials were found; set GOOGLE_APPLICATION_CREDENTIALS to a credentials file")
		}
		m.Client.SetHeaders(nil)
		return nil
	}
	m.Client.SetHeaders(map[string]string{"X-Goog-Api-Key": cfg.Key}, cfg.Key)
	return m.CheckKey(cfg.Key)
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
	turn := &turn{client: &client, draft: wire.Draft{Names: wire.Names{Tools: req.Tools, Most: maxName}}}
	return client.Ask(ctx, m.path+":streamGenerateContent?alt=sse", nil, m.body(req).Pieces, turn, tell)
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
