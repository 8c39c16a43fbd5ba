// Package bedrock is a model behind Amazon Bedrock's ConverseStream API, of any family:
// Claude, Nova, Llama, Mistral and what else takes messages there.
//
// Every call streams, in AWS's binary framing, and is signed over its body, unless a
// bearer token speaks for it. Each message of a conversation is encoded once and its
// bytes are sent again and again; what moves from call to call, the points of the prompt
// cache and the numbers of documents, is put in between. What only some families take is
// sent to those alone; what a model refuses all the same, the service says in its own
// words.
//
// The package never reads the environment or a profile, never tries a call a second time
// (the engine does) and never shows one model the signed thoughts of another. Start
// reading at [New], then [Model.Generate].
package bedrock

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"iter"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	sigv4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/expert"
	"github.com/perstack-go/perstack/internal/providers/wire"
	"github.com/perstack-go/perstack/model"
)

const mediaType = "application/vnd.amazon.eventstream"

// Config says which model is asked, and how it is reached.
type Config struct {
	wire.Config

	// The credentials: an access key, or a bearer token, which wins.
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
	lists  wire.Lists

	// What the user adds to inferenceConfig, and to additionalModelRequestFields.
	inference, fields wire.Extra

	resolved wire.Resolved
	messages wire.Encoded[*encoded]
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
	own := []string{"messages", "system", "toolConfig", "modelId"}
	if cfg.Guardrail != nil {
		own = append(own, "guardrailConfig") // extraBody must not switch the filter off
	}
	if err := cfg.Begin("amazon-bedrock", "https://bedrock-runtime."+cfg.Region+"."+domain(cfg.Region), own...); err != nil {
		return nil, err
	}
	if err := checkKeys(&cfg); err != nil {
		return nil, err
	}
	m := &Model{family: familyOf(cfg.Model), path: path(cfg.Model), resolved: wire.Resolved{Fetch: cfg.Fetch}}
	if err := m.takeSettings(&cfg); err != nil {
		return nil, err
	}
	c := &cfg.Client
	c.Accept, c.Explain, c.PassingWords = mediaType, explain, []string{"throttl"}
	bearer := ""
	if cfg.BearerToken != "" {
		bearer = "Bearer " + cfg.BearerToken
	} else {
		c.Authorize = newSigner(&cfg)
	}
	c.SetHeaders(map[string]string{"Authorization": bearer}, cfg.SecretAccessKey, cfg.SessionToken, cfg.BearerToken)
	m.cfg = cfg
	return m, nil
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

// domain is where the endpoints of a region are. Those of closed regions are
// not public; such regions need a base URL.
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
		return cfg.CheckSecret("AWS_BEARER_TOKEN_BEDROCK", cfg.BearerToken)
	}
	err := cmp.Or(cfg.CheckSecret("AWS_ACCESS_KEY_ID", cfg.AccessKeyID), cfg.CheckSecret("AWS_SECRET_ACCESS_KEY", cfg.SecretAccessKey))
	if err != nil || cfg.SessionToken == "" {
		return err
	}
	return cfg.CheckSecret("AWS_SESSION_TOKEN", cfg.SessionToken)
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
		turn := &turn{client: &m.cfg.Client, open: map[int]*growing{}, draft: wire.Draft{Names: wire.Names{Tools: req.Tools, Most: maxName}}}
		return m.cfg.Client.Ask(ctx, m.path, nil, m.body(req), turn, tell)
	})
}

func (m *Model) encode(msg *event.Message, slim bool) *encoded {
	return encode(msg, &encoder{own: msg.Author == m.cfg.Author, rich: m.family.rich(), known: &m.cfg.Known, slim: slim})
}

// newSigner returns what proves by AWS's signature, version 4, who sends a request. The
// signature covers the path, the headers and the body, and is good for some minutes; so each
// call gets its own.
func newSigner(cfg *Config) func(r *http.Request, body [][]byte) error {
	signer, region, now := sigv4.NewSigner(), cfg.Region, cfg.Now
	key := aws.Credentials{AccessKeyID: cfg.AccessKeyID, SecretAccessKey: cfg.SecretAccessKey, SessionToken: cfg.SessionToken}
	if now == nil {
		now = time.Now
	}
	return func(r *http.Request, body [][]byte) error {
		if r.Header.Get("Authorization") != "" {
			return nil // the user's own, for a gateway that signs
		}
		sum := sha256.New()
		for _, piece := range body {
			sum.Write(piece)
		}
		return signer.SignHTTP(r.Context(), key, r, hex.EncodeToString(sum.Sum(nil)), "bedrock", region, now())
	}
}
