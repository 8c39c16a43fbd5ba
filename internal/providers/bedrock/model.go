package bedrock

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/expert"
	"github.com/perstack-go/perstack/internal/providers/wire"
	"github.com/perstack-go/perstack/model"
)

const mediaType = "application/vnd.amazon.eventstream"

// Config says which model is asked, and how it is reached.
type Config struct {
	wire.Config

	// Who asks: an access key, or a bearer token, which wins.
	AccessKeyID, SecretAccessKey string
	SessionToken                 string // of a key for a limited time; may be empty
	BearerToken                  string

	Region    string
	Guardrail *expert.Guardrail // may be nil
	Now       func() time.Time  // nil: time.Now
}

// A Model asks one model of Bedrock.
type Model struct {
	cfg    Config
	family family
	path   string
	adds   additions
	lists  wire.Lists

	resolved wire.Resolved

	full, slim wire.Encoded[*encoded]
	encodings  atomic.Int64 // how many messages were encoded; tests look at it
}

var _ model.Model = (*Model)(nil)

// New returns a model, or says what is wrong with the configuration.
func New(cfg Config) (*Model, error) {
	if err := checkRegion(&cfg); err != nil {
		return nil, err
	}
	cfg.KeyVariable = "AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY" // either may be the wrong one
	if cfg.BearerToken != "" {
		cfg.KeyVariable = "AWS_BEARER_TOKEN_BEDROCK"
	}
	if err := cfg.Begin("https://bedrock-runtime." + cfg.Region + "." + domain(cfg.Region)); err != nil {
		return nil, err
	}
	if err := checkKeys(&cfg); err != nil {
		return nil, err
	}
	if err := cfg.CheckTools(); err != nil {
		return nil, err
	}
	if len(cfg.Skills) > 0 {
		return nil, errors.New(cfg.Provider + ": this provider has no skills of its own; remove providerSkills, or use the provider anthropic")
	}
	adds, err := newAdditions(&cfg)
	if err != nil {
		return nil, err
	}
	c := &cfg.Client
	c.Accept, c.Explain = mediaType, explain
	c.Header = c.Header.Clone()
	c.Secrets = append([]string{cfg.SecretAccessKey, cfg.SessionToken, cfg.BearerToken}, c.Secrets...)
	if cfg.BearerToken != "" {
		c.Header = withBearer(c.Header, cfg.BearerToken)
	} else {
		c.Authorize = newSigner(&cfg).sign
	}
	return &Model{cfg: cfg, family: familyOf(cfg.Model), path: path(cfg.Model), adds: adds, resolved: wire.Resolved{Fetch: cfg.Fetch}}, nil
}

// checkRegion keeps out what is not a region: it becomes part of a host's name, and the
// key would go to whatever host that is.
func checkRegion(cfg *Config) error {
	signs := cfg.BearerToken == ""
	switch {
	case cfg.Region == "" && (signs || cfg.Client.BaseURL == ""):
		return errors.New(cfg.Provider + ": AWS_REGION is not set; set it in the environment or region in perstack.toml")
	case cfg.Region != "" && !region().MatchString(cfg.Region):
		return fmt.Errorf("%s: %.50q is not a region; one looks like us-east-1", cfg.Provider, cfg.Region)
	}
	return nil
}

var region = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[a-z]{2,8}(-[a-z0-9]{1,20}){1,4}$`) })

// domain is where the endpoints of a region are. Of closed regions nobody outside knows
// more; they are reached by a base URL.
func domain(region string) string {
	switch {
	case strings.HasPrefix(region, "cn-"):
		return "amazonaws.com.cn"
	case strings.HasPrefix(region, "eusc-"):
		return "amazonaws.eu"
	}
	return "amazonaws.com"
}

func checkKeys(cfg *Config) error {
	if cfg.BearerToken != "" {
		return cfg.CheckKey("AWS_BEARER_TOKEN_BEDROCK", cfg.BearerToken)
	}
	if err := cfg.CheckKey("AWS_ACCESS_KEY_ID", cfg.AccessKeyID); err != nil {
		return err
	}
	if err := cfg.CheckKey("AWS_SECRET_ACCESS_KEY", cfg.SecretAccessKey); err != nil {
		return err
	}
	if cfg.SessionToken != "" {
		return cfg.CheckKey("AWS_SESSION_TOKEN", cfg.SessionToken)
	}
	return nil
}

func withBearer(h http.Header, token string) http.Header {
	with := http.Header{"Authorization": {"Bearer " + token}}
	for name, values := range h { // what the user says wins
		with[http.CanonicalHeaderKey(name)] = values
	}
	return with
}

// path is where a model is. Its id, which may be an ARN with colons and slashes, is one
// element of it.
func path(id string) string {
	return "/model/" + strings.ReplaceAll(url.QueryEscape(id), "+", "%20") + "/converse-stream"
}

// Generate streams one turn.
func (m *Model) Generate(ctx context.Context, req *model.Request) iter.Seq2[model.Chunk, error] {
	return wire.Generate(func(tell wire.Tell) (*model.Answer, error) {
		req, err := m.resolved.Request(ctx, req)
		if err != nil {
			return nil, err
		}
		stream, err := m.cfg.Client.Post(ctx, m.path, nil, m.body(req)...)
		if err != nil {
			return nil, err
		}
		defer stream.Close()
		turn := turn{client: &m.cfg.Client, draft: wire.Draft{Names: wire.Names{Tools: req.Tools, Most: maxName}}}
		if err := turn.read(stream, tell); err != nil {
			return nil, wire.Paid(err, turn.usage.total())
		}
		stream.Finish()
		return turn.answer()
	})
}

// encoded is what a message looks like, with its media or without.
func (m *Model) encoded(msg *event.Message, slim bool) *encoded {
	kept := &m.full
	if slim {
		kept = &m.slim
	}
	return kept.Get(msg, func(msg *event.Message) *encoded {
		m.encodings.Add(1)
		return encode(msg, &encoder{own: msg.Author == m.cfg.Author, rich: m.family.rich(), known: &m.cfg.Known, slim: slim})
	})
}
