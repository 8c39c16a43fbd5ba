package oci

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/perstack-go/perstack/internal/registry/client"
	"github.com/perstack-go/perstack/internal/testkit/registrytest"
)

// A guarded is a fake that wants tokens of its own. Each is for one repository, to read or to write.
type guarded struct {
	*fake
	lock    sync.Mutex
	valid   map[string]string // scope by token
	asked   []string          // the scopes that tokens were asked for
	refused int               // requests without a valid token
}

func newGuarded(t *testing.T) *guarded {
	t.Helper()
	g := &guarded{fake: newFake(t, true), valid: map[string]string{}}
	g.setLie(func(w http.ResponseWriter, r *http.Request) bool {
		g.lock.Lock()
		defer g.lock.Unlock()
		if r.URL.Path == "/token" {
			g.give(w, r)
			return true
		}
		repository := strings.TrimPrefix(r.URL.Path, "/v2/")
		for _, kind := range []string{"/manifests/", "/blobs/", "/referrers/"} {
			repository, _, _ = strings.Cut(repository, kind)
		}
		scope := "repository:" + repository + ":pull"
		if r.Method != http.MethodGet {
			scope += ",push"
		}
		if token, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer "); ok && g.valid[token] == scope {
			return false
		}
		g.refused++
		w.Header().Set("WWW-Authenticate", fmt.Sprintf("Bearer realm=%q,service=\"s\",scope=%q", g.URL+"/token?kept=1", scope))
		w.WriteHeader(http.StatusUnauthorized)
		return true
	})
	return g
}

func (g *guarded) give(w http.ResponseWriter, r *http.Request) {
	query := r.URL.Query()
	if user, password, _ := r.BasicAuth(); user != "me" || password != "secret" || query.Get("service") != "s" || query.Get("kept") != "1" {
		w.WriteHeader(http.StatusForbidden)
		return
	}
	token := fmt.Sprintf("token-%d", len(g.asked))
	g.asked = append(g.asked, strings.Join(query["scope"], " "))
	g.valid[token] = query.Get("scope")
	_, _ = fmt.Fprintf(w, `{"token":%q,"expires_in":60}`, token)
}

// A token is asked for once for each repository and right, and again after it has expired.
func TestTokenCache(t *testing.T) {
	g := newGuarded(t)
	logins := 0
	s, _ := newSource(t, func(o *Options) {
		o.Login = func(context.Context, string) (Login, error) {
			logins++
			return Login{"me", "secret"}, nil
		}
	})
	name := "oci://" + g.host + "/acme/a"
	d := registrytest.Minimal("a@1.0.0")
	pushed(t, s, name, d, sign(t, signer(t, 'g'), d))
	if _, err := s.Resolve(t.Context(), name+":1.0.0"); err != nil {
		t.Fatal(err)
	}
	want := []string{"repository:acme/a:pull", "repository:acme/a:pull,push"}
	if !slices.Equal(g.asked, want) || g.refused != 2 || logins != 1 {
		t.Errorf("tokens for %q, %d refused requests, %d logins", g.asked, g.refused, logins)
	}
	clear(g.valid) // they have expired
	if _, err := s.Resolve(t.Context(), name+":1.0.0"); err != nil {
		t.Fatal(err)
	}
	if len(g.asked) != 3 || g.refused != 3 {
		t.Errorf("tokens for %q, %d refused requests", g.asked, g.refused)
	}
}

// A registry that accepts no token is not asked again and again.
func TestTokenRefused(t *testing.T) {
	f := newFake(t, true)
	tokens, others := 0, 0
	f.setLie(func(w http.ResponseWriter, r *http.Request) bool {
		if r.URL.Path == "/token" {
			tokens++
			_, _ = io.WriteString(w, `{"token":"x"}`)
			return true
		}
		others++
		w.Header().Set("WWW-Authenticate", `Bearer realm="`+f.URL+`/token"`)
		w.WriteHeader(http.StatusUnauthorized)
		return true
	})
	s, _ := newSource(t, nil)
	for range 2 {
		_, err := s.Resolve(t.Context(), "oci://"+f.host+"/acme/a:1.0.0")
		if client.KindOf(err) != client.Unauthorized || !strings.Contains(err.Error(), "log in to "+f.URL) {
			t.Error(err)
		}
	}
	if tokens != 2 || others != 4 {
		t.Errorf("%d requests for tokens, %d others", tokens, others)
	}
}

// A login by name and password is sent to all repositories of the registry after the first has asked for it.
func TestBasic(t *testing.T) {
	f := newFake(t, true)
	for _, name := range []string{"a", "b"} {
		f.put("acme/"+name, "1.0.0", registrytest.Minimal(name+"@1.0.0").Encode(), nil)
	}
	refused := 0
	f.setLie(func(w http.ResponseWriter, r *http.Request) bool {
		if user, password, _ := r.BasicAuth(); user == "me" && password == "secret" {
			return false
		}
		refused++
		w.Header().Add("WWW-Authenticate", "Negotiate")
		w.Header().Add("WWW-Authenticate", `Basic realm="x"`)
		w.WriteHeader(http.StatusUnauthorized)
		return true
	})
	s, _ := newSource(t, func(o *Options) { o.Login = only(f.URL, Login{"me", "secret"}) })
	for _, name := range []string{"a", "b"} {
		if _, err := s.Resolve(t.Context(), "oci://"+f.host+"/acme/"+name+":1.0.0"); err != nil {
			t.Error(err)
		}
	}
	if refused != 1 {
		t.Errorf("%d refused requests", refused)
	}
	refused = 0
	wrong, n := newSource(t, func(o *Options) { o.Login = only(f.URL, Login{"me", "wrong"}) })
	if _, err := wrong.Resolve(t.Context(), "oci://"+f.host+"/acme/a:1.0.0"); client.KindOf(err) != client.Unauthorized || n.Load() != 2 {
		t.Errorf("%v after %d requests", err, n.Load())
	}
	broken, n := newSource(t, func(o *Options) {
		o.Login = func(context.Context, string) (Login, error) { return Login{}, errors.New("the keychain is locked") }
	})
	if _, err := broken.Resolve(t.Context(), "oci://"+f.host+"/acme/a:1.0.0"); err == nil || !strings.Contains(err.Error(), "keychain is locked") || n.Load() != 1 {
		t.Errorf("%v after %d requests", err, n.Load())
	}
}

// What a server that gives tokens says is not believed, and not shown.
func TestBadTokens(t *testing.T) {
	for _, test := range []struct {
		name   string
		status int
		answer string
		kind   client.Kind
		want   string
	}{
		{"no token", 200, `{}`, client.WrongAnswer, "given none"},
		{"line in a token", 200, `{"token":"hush\r\nX-Evil: 1"}`, client.WrongAnswer, "given none"},
		{"not JSON", 200, `hush`, client.WrongAnswer, "cannot be read"},
		{"long", 200, `{"token":"` + strings.Repeat("hush", maxToken/4) + `"}`, client.WrongAnswer, "more than 65536 bytes"},
		{"unauthorized", 401, `{"errors":[{"code":"UNAUTHORIZED","message":"who are you?"}]}`, client.Unauthorized, "gives tokens answered 401: UNAUTHORIZED who are you?"},
		// It says nothing about the Expert: a push must not take it for a free tag.
		{"not found", 404, ``, client.Refused, "gives tokens answered 404"},
		{"busy", 429, ``, client.RateLimited, "answered 429"},
	} {
		t.Run(test.name, func(t *testing.T) {
			f := newFake(t, true)
			f.setLie(func(w http.ResponseWriter, r *http.Request) bool {
				if r.URL.Path == "/token" {
					w.Header().Set("Retry-After", "3600")
					w.WriteHeader(test.status)
					_, _ = io.WriteString(w, test.answer)
					return true
				}
				w.Header().Set("WWW-Authenticate", `Bearer realm="`+f.URL+`/token"`)
				w.WriteHeader(http.StatusUnauthorized)
				return true
			})
			s, _ := newSource(t, nil)
			_, err := s.Resolve(t.Context(), "oci://"+f.host+"/acme/a:1.0.0")
			if client.KindOf(err) != test.kind || !strings.Contains(err.Error(), test.want) || strings.Contains(err.Error(), "hush") {
				t.Errorf("%s: %v", client.KindOf(err), err)
			}
		})
	}
	f := newFake(t, true)
	for _, header := range []string{"", "Negotiate", `Bearer realm=""`, `Bearer realm="/token"`, `Bearer realm="http://[x"`, `Bearer service="x"`} {
		f.setLie(func(w http.ResponseWriter, _ *http.Request) bool {
			w.Header().Set("WWW-Authenticate", header)
			w.WriteHeader(http.StatusUnauthorized)
			return true
		})
		s, n := newSource(t, nil)
		if _, err := s.Resolve(t.Context(), "oci://"+f.host+"/acme/a:1.0.0"); err == nil || n.Load() != 1 {
			t.Errorf("%s: %v after %d requests", header, err, n.Load())
		}
	}
}
