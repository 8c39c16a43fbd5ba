// Package builds verifies the tokens by which builds say what they are: an issuer that the operator of a
// registry has named signed them, for this registry, and they are still valid.
//
// It decides nothing about what a build can do; package server has the bindings for that. Start reading at
// [Verifier.Build].
package builds

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"

	"github.com/perstack-go/perstack/internal/registry/server"
)

// Options are what a Verifier needs.
type Options struct {
	Issuers  []string // addresses, as tokens name them
	Audience string   // of tokens for this registry: its address
	// Client returns the client for an issuer. It reaches nothing else, and bounds what comes back.
	Client func(issuer *url.URL) *http.Client
	Now    func() time.Time
}

// A Verifier verifies tokens of builds.
type Verifier struct {
	opts    Options
	issuers map[string]*issuer
}

// An issuer is one that the operator has named. Its keys are fetched when they are needed first.
type issuer struct {
	address *url.URL

	mu       sync.Mutex
	verifier *oidc.IDTokenVerifier
}

// New returns a verifier. It makes no request.
func New(opts Options) (*Verifier, error) {
	if opts.Client == nil || opts.Now == nil || opts.Audience == "" {
		return nil, errors.New("tokens of builds need a client, a clock and an audience")
	}
	v := &Verifier{opts: opts, issuers: map[string]*issuer{}}
	for _, text := range opts.Issuers {
		u, err := url.Parse(text)
		if err != nil || u.Host == "" || u.RawQuery != "" || u.Fragment != "" || u.User != nil || u.Scheme != "https" && u.Hostname() != "127.0.0.1" {
			return nil, fmt.Errorf("%q is not an issuer; write its https:// address as its tokens have it", text)
		}
		v.issuers[text] = &issuer{address: u}
	}
	return v, nil
}

// Issuers lists the issuers.
func (v *Verifier) Issuers() []string { return slices.Clone(v.opts.Issuers) }

// maxToken bounds a token. Those of builds have one or two kilobytes.
const maxToken = 16 << 10

// fetchTimeout is how long an issuer can take to show its keys.
const fetchTimeout = 10 * time.Second

// An Unreachable error says that an issuer could not be asked: the token can be good.
type Unreachable struct {
	Issuer string
	Err    error
}

func (e *Unreachable) Error() string {
	return "the issuer " + e.Issuer + " could not be asked: " + e.Err.Error()
}
func (e *Unreachable) Unwrap() error { return e.Err }

// Build returns what a token says about the build that presents it.
func (v *Verifier) Build(ctx context.Context, token string) (server.Build, error) {
	var none server.Build
	if len(token) > maxToken {
		return none, errors.New("the token is too long")
	}
	named, err := issuerOf(token)
	if err != nil {
		return none, err
	}
	from := v.issuers[named]
	if from == nil {
		return none, errors.New("the token is of an issuer that is not trusted")
	}
	check, err := v.verifier(ctx, named, from)
	if err != nil {
		return none, &Unreachable{named, err}
	}
	verified, err := check.Verify(ctx, token)
	if err != nil {
		return none, err
	}
	var c claims
	if err := verified.Claims(&c); err != nil {
		return none, err
	}
	return c.build(named, verified.Subject)
}

// verifier fetches what an issuer says about itself, once it succeeds.
func (v *Verifier) verifier(ctx context.Context, name string, from *issuer) (*oidc.IDTokenVerifier, error) {
	from.mu.Lock()
	defer from.mu.Unlock()
	if from.verifier != nil {
		return from.verifier, nil
	}
	client := v.opts.Client(from.address)
	client.Timeout = fetchTimeout
	// The keys are fetched again when an issuer has new ones: longer than this request.
	provider, err := oidc.NewProvider(oidc.ClientContext(context.WithoutCancel(ctx), client), name)
	if err != nil {
		return nil, err
	}
	from.verifier = provider.Verifier(&oidc.Config{ClientID: v.opts.Audience, Now: v.opts.Now})
	return from.verifier, nil
}

// claims are what tokens of builds say. Each issuer has its own words.
type claims struct {
	RepositoryID string `json:"repository_id"` // GitHub, Gitea
	WorkflowRef  string `json:"workflow_ref"`
	ProjectID    any    `json:"project_id"` // GitLab, as a text or a number
	ConfigRef    string `json:"ci_config_ref_uri"`
	Environment  string `json:"environment"`
}

// withoutRef cuts the branch or the tag off. Names of files can have an @, too.
func withoutRef(path string) string {
	if at := strings.LastIndex(path, "@refs/"); at >= 0 {
		return path[:at]
	}
	return path
}

// build reads the claims. Of an issuer without ids of repositories, the subject identifies the build.
func (c *claims) build(issuer, subject string) (server.Build, error) {
	b := server.Build{Issuer: issuer, Repository: c.RepositoryID, Environment: c.Environment}
	switch id := c.ProjectID.(type) {
	case string:
		b.Repository = id
	case float64:
		b.Repository = strconv.FormatInt(int64(id), 10)
	}
	switch {
	case c.WorkflowRef != "":
		// owner/name/.github/workflows/file.yml@refs/heads/main: the names can change, the file is meant.
		path := withoutRef(c.WorkflowRef)
		if parts := strings.SplitN(path, "/", 3); len(parts) == 3 {
			b.Workflow = parts[2]
		}
	case c.ConfigRef != "":
		// host/group/name//.gitlab-ci.yml@refs/heads/main
		path := withoutRef(c.ConfigRef)
		_, b.Workflow, _ = strings.Cut(path, "//")
	}
	if b.Repository == "" {
		b.Repository = subject
	}
	if b.Repository == "" {
		return b, errors.New("the token does not say which build it is of")
	}
	return b, nil
}
