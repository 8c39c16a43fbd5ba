package builds_test

import (
	"errors"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/perstack-go/perstack/internal/registry/builds"
	"github.com/perstack-go/perstack/internal/registry/server"
	"github.com/perstack-go/perstack/internal/testkit/issuer"
)

const audience = "https://registry.example"

func verifier(t *testing.T, issuers ...*issuer.Issuer) *builds.Verifier {
	t.Helper()
	o := builds.Options{Audience: audience, Now: time.Now, Client: func(*url.URL) *http.Client { return &http.Client{} }}
	for _, i := range issuers {
		o.Issuers = append(o.Issuers, i.URL)
	}
	v, err := builds.New(o)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func TestBuild(t *testing.T) {
	i := issuer.Start(t)
	v := verifier(t, i)
	for name, c := range map[string]struct {
		claims map[string]any
		want   server.Build
	}{
		"GitHub": {
			map[string]any{"repository_id": "123", "repository": "acme/web", "workflow_ref": "acme/web/.github/workflows/release.yml@refs/heads/main", "environment": "production"},
			server.Build{Repository: "123", Workflow: ".github/workflows/release.yml", Environment: "production"},
		},
		"GitLab": {
			map[string]any{"project_id": "77", "ci_config_ref_uri": "gitlab.example/acme/web//.gitlab-ci.yml@refs/heads/main"},
			server.Build{Repository: "77", Workflow: ".gitlab-ci.yml"},
		},
		"GitHub, a name with @": {
			map[string]any{"repository_id": "123", "workflow_ref": "acme/web/.github/workflows/a@b.yml@refs/heads/main@2"},
			server.Build{Repository: "123", Workflow: ".github/workflows/a@b.yml"},
		},
		"GitLab, a name with @": {
			map[string]any{"project_id": "77", "ci_config_ref_uri": "gitlab.example/acme/web//a@refs.yml@refs/heads/main"},
			server.Build{Repository: "77", Workflow: "a@refs.yml"},
		},
		"a number": {map[string]any{"project_id": 77}, server.Build{Repository: "77"}},
		"another":  {map[string]any{"sub": "pipeline/9"}, server.Build{Repository: "pipeline/9"}},
	} {
		c.want.Issuer = i.URL
		got, err := v.Build(t.Context(), i.Token(t, audience, c.claims))
		if err != nil || got != c.want {
			t.Errorf("%s: %+v %v", name, got, err)
		}
	}
}

// A token that is not for this registry, of another issuer, too old, changed or signed by another key says
// nothing.
func TestTokensThatAreNotGood(t *testing.T) {
	good, other := issuer.Start(t), issuer.Start(t)
	v := verifier(t, good)
	sound := map[string]any{"repository_id": "1"}
	for name, token := range map[string]string{
		"another audience": good.Token(t, "https://other.example", sound),
		"another issuer":   other.Token(t, audience, sound),
		"foreign key":      other.Token(t, audience, map[string]any{"repository_id": "1", "iss": good.URL}),
		"expired":          good.Token(t, audience, map[string]any{"repository_id": "1", "exp": time.Now().Add(-time.Hour).Unix()}),
		"not yet":          good.Token(t, audience, map[string]any{"repository_id": "1", "nbf": time.Now().Add(time.Hour).Unix()}),
		"no algorithm":     good.Unsigned(t, audience, sound),
		"changed":          changed(good.Token(t, audience, sound)),
		"nothing":          "",
		"not a token":      "a.b.c",
		"long":             strings.Repeat("a", 1<<20),
	} {
		if got, err := v.Build(t.Context(), token); err == nil || got != (server.Build{}) {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

// changed lets a token name another repository, with the old signature.
func changed(token string) string {
	parts := strings.Split(token, ".")
	body := []byte(parts[1])
	body[len(body)/2] ^= 1
	return parts[0] + "." + string(body) + "." + parts[2]
}

// An issuer that cannot be reached is tried again with the next token.
func TestUnreachableIssuer(t *testing.T) {
	i := issuer.Start(t)
	v := verifier(t, i)
	i.Fail(true)
	token := i.Token(t, audience, map[string]any{"repository_id": "1"})
	_, err := v.Build(t.Context(), token)
	if _, ok := errors.AsType[*builds.Unreachable](err); !ok {
		t.Errorf("%v", err)
	}
	i.Fail(false)
	if _, err := v.Build(t.Context(), token); err != nil {
		t.Error(err)
	}
}

// New keys of an issuer are fetched when a token has one.
func TestRotatedKeys(t *testing.T) {
	i := issuer.Start(t)
	v := verifier(t, i)
	for range 2 {
		if _, err := v.Build(t.Context(), i.Token(t, audience, map[string]any{"repository_id": "1"})); err != nil {
			t.Error(err)
		}
		i.Rotate(t)
	}
}

func TestIssuersThatAreNone(t *testing.T) {
	for _, text := range []string{"", "example.com", "http://example.com", "https://user@example.com", "https://example.com/?q", "ftp://example.com"} {
		if _, err := builds.New(builds.Options{Issuers: []string{text}, Audience: audience, Now: time.Now, Client: func(*url.URL) *http.Client { return nil }}); err == nil {
			t.Errorf("%q was accepted", text)
		}
	}
}
