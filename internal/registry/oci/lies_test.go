package oci

import (
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/perstack-go/perstack/internal/registry/client"
	"github.com/perstack-go/perstack/internal/registry/definition"
	"github.com/perstack-go/perstack/internal/registry/trust"
	"github.com/perstack-go/perstack/internal/testkit/registrytest"
)

const liar = "/v2/acme/liar/"

// on answers requests whose path has a part.
func on(part string, answer http.HandlerFunc) func(http.ResponseWriter, *http.Request) bool {
	return func(w http.ResponseWriter, r *http.Request) bool {
		if !strings.Contains(r.URL.Path, part) {
			return false
		}
		answer(w, r)
		return true
	}
}

// zeros is a text without an end.
type zeros struct{}

func (zeros) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}

// huge answers with a gibibyte, announced or not.
func huge(announced bool) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", manifestType)
		if announced {
			w.Header().Set("Content-Length", fmt.Sprint(1<<30))
		}
		_, _ = io.Copy(w, io.LimitReader(zeros{}, 1<<30)) // the client hangs up
	}
}

// Each lie of a registry ends in an error that says what was seen, and nothing is stored.
func TestLies(t *testing.T) {
	honest := registrytest.Minimal("@acme/liar@1.0.0")
	skilled := func(s definition.Skill) []byte {
		d := registrytest.Minimal("@acme/liar@1.0.0")
		d.Skills["s"] = s
		return d.Encode()
	}
	delegating := func(key string) []byte { return registrytest.Minimal("@acme/liar@1.0.0", key).Encode() }
	zero := "sha256:" + strings.Repeat("0", 64)
	for _, lie := range []struct {
		name   string
		layer  []byte // honest if nil
		change func(*manifest)
		tell   func(f *fake) func(http.ResponseWriter, *http.Request) bool
		pinned bool // the reference has the digest of the honest manifest
		kind   client.Kind
		want   string
	}{
		{name: "wrong manifest", pinned: true, kind: client.Unverified, want: "shows a manifest with the digest", tell: func(f *fake) func(http.ResponseWriter, *http.Request) bool {
			other := f.put("acme/other", "1.0.0", registrytest.Minimal("other@1.0.0").Encode(), nil)
			text := f.manifests["acme/other:"+other]
			return on(liar+"manifests/sha256", func(w http.ResponseWriter, r *http.Request) { send(w, r, text, true, manifestType) })
		}},
		{name: "wrong layer of the same size", kind: client.Unverified, want: "should have the digest", tell: func(*fake) func(http.ResponseWriter, *http.Request) bool {
			other := bytes.Replace(honest.Encode(), []byte("You are"), []byte("Now act"), 1)
			return on(liar+"blobs/", func(w http.ResponseWriter, r *http.Request) { send(w, r, other, true, ExpertType) })
		}},
		{name: "longer layer", kind: client.Unverified, want: "longer than", tell: func(*fake) func(http.ResponseWriter, *http.Request) bool {
			return on(liar+"blobs/", func(w http.ResponseWriter, r *http.Request) {
				send(w, r, append(honest.Encode(), ' '), true, ExpertType)
			})
		}},
		{name: "longer layer, not announced", kind: client.Unverified, want: "longer than", tell: func(*fake) func(http.ResponseWriter, *http.Request) bool {
			return on(liar+"blobs/", func(w http.ResponseWriter, _ *http.Request) {
				w.(http.Flusher).Flush()
				_, _ = w.Write(append(honest.Encode(), ' '))
			})
		}},
		{name: "truncated layer", kind: client.Unverified, want: "that were announced", tell: func(*fake) func(http.ResponseWriter, *http.Request) bool {
			return on(liar+"blobs/", func(w http.ResponseWriter, _ *http.Request) {
				w.(http.Flusher).Flush()
				_, _ = w.Write(honest.Encode()[:100])
			})
		}},
		{name: "broken connection", kind: client.Network, want: "ended too early", tell: func(*fake) func(http.ResponseWriter, *http.Request) bool {
			return on(liar+"blobs/", func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Length", fmt.Sprint(len(honest.Encode())))
				_, _ = w.Write(honest.Encode()[:100])
				panic(http.ErrAbortHandler)
			})
		}},
		{name: "manifest of 1 GiB", kind: client.WrongAnswer, want: "1073741824 bytes", tell: func(*fake) func(http.ResponseWriter, *http.Request) bool { return on(liar+"manifests/", huge(true)) }},
		{name: "manifest of 1 GiB, not announced", kind: client.WrongAnswer, want: "more than 262144 bytes", tell: func(*fake) func(http.ResponseWriter, *http.Request) bool {
			return on(liar+"manifests/", huge(false))
		}},
		{name: "layer of 1 GiB", kind: client.Unverified, want: "longer than", tell: func(*fake) func(http.ResponseWriter, *http.Request) bool { return on(liar+"blobs/", huge(false)) }},
		{name: "layer said to be of 1 GiB", kind: client.WrongAnswer, want: "1073741824 bytes", change: func(m *manifest) { m.Layers[0].Size = 1 << 30 }},
		{name: "error of 1 GiB", kind: client.Refused, want: "answered 500", tell: func(*fake) func(http.ResponseWriter, *http.Request) bool {
			return on(liar, func(w http.ResponseWriter, r *http.Request) {
				w.WriteHeader(http.StatusInternalServerError)
				huge(false)(w, r)
			})
		}},
		{name: "signatures of 1 GiB", kind: client.WrongAnswer, want: "more than 262144 bytes", tell: func(*fake) func(http.ResponseWriter, *http.Request) bool {
			return on(liar+"referrers/", func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Content-Type", indexType)
				_, _ = io.Copy(w, io.MultiReader(strings.NewReader(`{"manifests":[`), io.LimitReader(zeros{}, 1<<30)))
			})
		}},
		{name: "pages of signatures without end", kind: client.WrongAnswer, want: "pages", tell: func(*fake) func(http.ResponseWriter, *http.Request) bool {
			return on(liar+"referrers/", func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Content-Type", indexType)
				w.Header().Set("Link", "<"+r.URL.Path+"?next>; rel=\"next\"")
				_, _ = io.WriteString(w, `{"schemaVersion":2,"manifests":[]}`)
			})
		}},
		{name: "gzip bomb", kind: client.WrongAnswer, want: "packed with gzip", tell: func(*fake) func(http.ResponseWriter, *http.Request) bool {
			return on(liar+"manifests/", func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", manifestType)
				w.Header().Set("Content-Encoding", "gzip")
				packed := gzip.NewWriter(w)
				_, _ = io.Copy(packed, io.LimitReader(zeros{}, 1<<24))
				_ = packed.Close()
			})
		}},
		{name: "manifest with a million layers", kind: client.WrongAnswer, want: "more than 262144", tell: func(*fake) func(http.ResponseWriter, *http.Request) bool {
			return on(liar+"manifests/", func(w http.ResponseWriter, r *http.Request) {
				send(w, r, []byte(`{"layers":[`+strings.Repeat(`{},`, 100_000)+`{}]}`), true, manifestType)
			})
		}},
		{name: "deep manifest", kind: client.WrongAnswer, want: "cannot be read", tell: func(*fake) func(http.ResponseWriter, *http.Request) bool {
			return on(liar+"manifests/", func(w http.ResponseWriter, r *http.Request) {
				send(w, r, []byte(strings.Repeat(`{"a":`, 40_000)), true, manifestType)
			})
		}},
		{name: "two layers", kind: client.WrongAnswer, want: "2 layers", change: func(m *manifest) { m.Layers = append(m.Layers, m.Layers[0]) }},
		{name: "no layer", kind: client.WrongAnswer, want: "0 layers", change: func(m *manifest) { m.Layers = nil }},
		{name: "image", kind: client.WrongAnswer, want: "artifact of the type \"\"", change: func(m *manifest) { m.ArtifactType = "" }},
		{name: "other layer type", kind: client.WrongAnswer, want: "the layer has the type", change: func(m *manifest) { m.Layers[0].MediaType = "application/octet-stream" }},
		{name: "other manifest type", kind: client.WrongAnswer, want: "the manifest has the type", change: func(m *manifest) { m.MediaType = "application/vnd.docker.distribution.manifest.v2+json" }},
		{name: "layer with another kind of digest", kind: client.WrongAnswer, want: "not one of SHA-256", change: func(m *manifest) { m.Layers[0].Digest = "md5:00" }},
		{name: "layer elsewhere", kind: client.WrongAnswer, want: "names other addresses", change: func(m *manifest) { m.Layers[0].URLs = []string{"https://evil.example/x"} }},
		{name: "text that is not JSON", kind: client.WrongAnswer, want: "cannot be read", tell: func(*fake) func(http.ResponseWriter, *http.Request) bool {
			return on(liar+"manifests/", func(w http.ResponseWriter, r *http.Request) {
				send(w, r, []byte("<html>\x1b[31m"), true, manifestType)
			})
		}},
		{name: "page of a proxy", kind: client.WrongAnswer, want: "artifact", tell: func(*fake) func(http.ResponseWriter, *http.Request) bool {
			return on(liar+"manifests/", func(w http.ResponseWriter, r *http.Request) {
				send(w, r, []byte(`{"schemaVersion":2,"mediaType":"`+manifestType+`"}`), true, "text/html")
			})
		}},
		{name: "definition that is not canonical", layer: append([]byte(" "), honest.Encode()...), kind: client.Unverified, want: "canonical"},
		{name: "program", layer: skilled(definition.Skill{Type: "mcpStdioSkill", Command: "bash", PackageName: "x"}), kind: client.Unverified, want: "breaks the rules"},
		{name: "key of the platform", layer: skilled(definition.Skill{Type: "mcpStdioSkill", Command: "npx", PackageName: "x", RequiredEnv: []string{"PERSTACK_API_KEY"}}), kind: client.Unverified, want: "PERSTACK_API_KEY"},
		{name: "delegate by tag", layer: delegating("oci://registry.example/a:1.0.0"), kind: client.Unverified, want: "not a reference with a digest"},
		{name: "delegate of another registry", layer: delegating("@acme/x@1.0.0"), kind: client.Unverified, want: "not a reference with a digest"},
		{name: "delegate elsewhere", layer: delegating("oci://10.0.0.1/a@" + zero), kind: client.Unverified, want: "in another registry"},
		{name: "redirect of a manifest", kind: client.Refused, want: "another origin", tell: redirect(liar + "manifests/")},
		{name: "redirect of the signatures", kind: client.Refused, want: "another origin", tell: redirect(liar + "referrers/")},
		{name: "redirect of a layer to plain HTTP", kind: client.Refused, want: "not encrypted", tell: func(*fake) func(http.ResponseWriter, *http.Request) bool {
			return on(liar+"blobs/", func(w http.ResponseWriter, r *http.Request) {
				http.Redirect(w, r, "http://evil.example/layer", http.StatusTemporaryRedirect)
			})
		}},
		{name: "redirect of a layer into the private network", kind: client.Refused, want: "not public", tell: func(*fake) func(http.ResponseWriter, *http.Request) bool {
			return on(liar+"blobs/", func(w http.ResponseWriter, r *http.Request) {
				http.Redirect(w, r, "https://169.254.169.254/latest", http.StatusTemporaryRedirect)
			})
		}},
		{name: "redirects without end", kind: client.Refused, want: "again and again", tell: func(*fake) func(http.ResponseWriter, *http.Request) bool {
			return on(liar, func(w http.ResponseWriter, r *http.Request) {
				http.Redirect(w, r, r.URL.Path+"x", http.StatusTemporaryRedirect)
			})
		}},
		{name: "message with control characters", kind: client.Refused, want: "answered 418", tell: func(*fake) func(http.ResponseWriter, *http.Request) bool {
			return on(liar, func(w http.ResponseWriter, _ *http.Request) {
				w.WriteHeader(http.StatusTeapot)
				_, _ = io.WriteString(w, `{"errors":[{"code":"X","message":"\u001b[31mred `+strings.Repeat("x", 4000)+`"}]}`)
			})
		}},
		{name: "busy", kind: client.RateLimited, want: "429", tell: func(*fake) func(http.ResponseWriter, *http.Request) bool {
			return on(liar, func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Retry-After", "3600")
				w.WriteHeader(http.StatusTooManyRequests)
			})
		}},
	} {
		t.Run(lie.name, func(t *testing.T) {
			f := newFake(t, true)
			layer := lie.layer
			if layer == nil {
				layer = honest.Encode()
			}
			ref := "oci://" + f.host + "/acme/liar:1.0.0"
			if digest := f.put("acme/liar", "1.0.0", layer, lie.change); lie.pinned {
				ref += "@" + digest
			}
			if lie.tell != nil {
				f.setLie(lie.tell(f))
			}
			dir := t.TempDir()
			s, _ := newSource(t, func(o *Options) { o.Trust = trust.Open(dir) })
			_, err := s.Resolve(t.Context(), ref)
			if client.KindOf(err) != lie.kind || !strings.Contains(fmt.Sprint(err), lie.want) {
				t.Fatalf("%s: %v", client.KindOf(err), err)
			}
			if text := err.Error(); len(text) > 1500 || strings.ContainsRune(text, '\x1b') {
				t.Errorf("%q", text)
			}
			if stored, _ := os.ReadDir(dir); len(stored) > 0 {
				t.Errorf("something is stored: %v", stored)
			}
		})
	}
}

func redirect(path string) func(f *fake) func(http.ResponseWriter, *http.Request) bool {
	return func(*fake) func(http.ResponseWriter, *http.Request) bool {
		return on(path, func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "https://evil.example/x", http.StatusTemporaryRedirect)
		})
	}
}

// A server that never finishes its answer does not hold the client.
func TestSlow(t *testing.T) {
	f := newFake(t, true)
	f.put("acme/liar", "1.0.0", registrytest.Minimal("a@1.0.0").Encode(), nil)
	hang := func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", manifestType)
		w.Header().Set("Content-Length", "100")
		w.(http.Flusher).Flush()
		<-r.Context().Done()
	}
	slow := httptest.NewServer(http.HandlerFunc(hang))
	defer slow.Close()
	host := strings.TrimPrefix(slow.URL, "http://")
	s, _ := newSource(t, func(o *Options) { o.Timeout = 50 * time.Millisecond })
	if _, err := s.Resolve(t.Context(), "oci://"+host+"/acme/liar:1.0.0"); client.KindOf(err) != client.Timeout {
		t.Error(err)
	}
	s, _ = newSource(t, nil)
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := s.Resolve(ctx, "oci://"+host+"/acme/liar:1.0.0"); client.KindOf(err) != client.Timeout {
		t.Error(err)
	}
	ctx, cancel = context.WithCancel(t.Context())
	cancel()
	if _, err := s.Resolve(ctx, "oci://"+host+"/acme/liar:1.0.0"); client.KindOf(err) != client.Cancelled {
		t.Error(err)
	}
}

// Layers that are elsewhere are read there, without credentials.
func TestLayerElsewhere(t *testing.T) {
	d := registrytest.Minimal("a@1.0.0")
	var got atomic.Value
	cdn := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got.Store(r.Header.Clone())
		_, _ = w.Write(d.Encode())
	}))
	defer cdn.Close()
	f := newFake(t, true)
	f.put("acme/a", "1.0.0", d.Encode(), nil)
	f.setLie(func(w http.ResponseWriter, r *http.Request) bool {
		if user, _, _ := r.BasicAuth(); user != "me" {
			w.Header().Set("WWW-Authenticate", `Basic realm="x"`)
			w.WriteHeader(http.StatusUnauthorized)
			return true
		}
		return on("/blobs/", func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, cdn.URL+"/x", http.StatusTemporaryRedirect)
		})(w, r)
	})
	s, _ := newSource(t, func(o *Options) { o.Login = only(f.URL, Login{"me", "secret"}) })
	if _, err := s.Resolve(t.Context(), "oci://"+f.host+"/acme/a:1.0.0"); err != nil {
		t.Fatal(err)
	}
	if header, _ := got.Load().(http.Header); header == nil || header.Get("Authorization") != "" {
		t.Errorf("%v", header)
	}
	anonymous, _ := newSource(t, nil)
	if _, err := anonymous.Resolve(t.Context(), "oci://"+f.host+"/acme/a:1.0.0"); client.KindOf(err) != client.Unauthorized || !strings.Contains(err.Error(), "log in to "+f.URL) {
		t.Error(err)
	}
}

// only has the login of one origin.
func only(origin string, login Login) func(context.Context, string) (Login, error) {
	return func(_ context.Context, asked string) (Login, error) {
		if asked == origin {
			return login, nil
		}
		return Login{}, nil
	}
}

// A tokens is a server that gives tokens, and remembers the logins that it was shown.
type tokens struct {
	*httptest.Server
	shown atomic.Value
}

func newTokens(t *testing.T) *tokens {
	t.Helper()
	s := &tokens{}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		user, password, _ := r.BasicAuth()
		s.shown.Store(user + ":" + password)
		text, err := json.Marshal(map[string]string{"token": "token-of-" + user})
		if err != nil {
			panic(err)
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(text)
	}))
	t.Cleanup(s.Close)
	return s
}

// The login of a registry goes to the registry. A token server elsewhere gets the login of that origin, or none.
func TestTokens(t *testing.T) {
	d := registrytest.Minimal("a@1.0.0")
	realm := newTokens(t)
	f := newFake(t, true)
	f.put("acme/a", "1.0.0", d.Encode(), nil)
	challenge := func(realm, accepted string) {
		f.setLie(func(w http.ResponseWriter, r *http.Request) bool {
			if r.Header.Get("Authorization") == "Bearer "+accepted {
				return false
			}
			w.Header().Set("WWW-Authenticate", `Bearer realm="`+realm+`",service="x",scope="repository:acme/a:pull"`)
			w.WriteHeader(http.StatusUnauthorized)
			return true
		})
	}
	resolve := func(login func(context.Context, string) (Login, error)) error {
		s, _ := newSource(t, func(o *Options) { o.Login = login })
		_, err := s.Resolve(t.Context(), "oci://"+f.host+"/acme/a:1.0.0")
		return err
	}
	challenge(realm.URL+"/token", "token-of-me")
	if err := resolve(only(f.URL, Login{"me", "secret"})); client.KindOf(err) != client.Unauthorized {
		t.Errorf("%v", err)
	}
	if realm.shown.Load() != ":" {
		t.Errorf("another origin was shown the login %v", realm.shown.Load())
	}
	// With its own login, it would make a token for the user, which the registry would get.
	if err := resolve(only(realm.URL, Login{"me", "other"})); client.KindOf(err) != client.Unauthorized {
		t.Errorf("%v", err)
	}
	if realm.shown.Load() != ":" {
		t.Errorf("the token server was shown the login %v", realm.shown.Load())
	}
	challenge(realm.URL+"/token", "token-of-")
	if err := resolve(nil); err != nil { // anonymous
		t.Error(err)
	}
	for _, bad := range []string{"http://evil.example/token", "https://169.254.169.254/token", "https://10.0.0.1/token", "ftp://evil.example/x", "https://me:pw@registry.example/x"} {
		challenge(bad, "x")
		if err := resolve(only(f.URL, Login{"me", "secret"})); err == nil || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %v", bad, err)
		}
	}
	// The registry itself can give tokens, and is shown its own login.
	f.setLie(func(w http.ResponseWriter, r *http.Request) bool {
		user, password, _ := r.BasicAuth()
		switch {
		case r.URL.Path == "/token" && user == "me" && password == "secret":
			_, _ = io.WriteString(w, `{"access_token":"good"}`)
		case r.Header.Get("Authorization") == "Bearer good":
			return false
		default:
			w.Header().Set("WWW-Authenticate", `Bearer realm="`+f.URL+`/token"`)
			w.WriteHeader(http.StatusUnauthorized)
		}
		return true
	})
	if err := resolve(only(f.URL, Login{"me", "secret"})); err != nil {
		t.Error(err)
	}
	// A token server that redirects gets nothing to pass on.
	away := httptest.NewServer(http.RedirectHandler(realm.URL+"/token", http.StatusTemporaryRedirect))
	defer away.Close()
	challenge(away.URL+"/token", "token-of-me")
	if err := resolve(only(away.URL, Login{"me", "secret"})); client.KindOf(err) != client.Refused {
		t.Error(err)
	}
}

// A server that is busy is asked again, and a certificate that is not trusted is not.
func TestAgain(t *testing.T) {
	f := newFake(t, true)
	f.put("acme/a", "1.0.0", registrytest.Minimal("a@1.0.0").Encode(), nil)
	var asked atomic.Int64
	f.setLie(func(w http.ResponseWriter, _ *http.Request) bool {
		if asked.Add(1) > 2 {
			return false
		}
		w.WriteHeader(http.StatusServiceUnavailable)
		return true
	})
	s, _ := newSource(t, nil)
	if _, err := s.Resolve(t.Context(), "oci://"+f.host+"/acme/a:1.0.0"); err != nil {
		t.Error(err)
	}
	down := httptest.NewServer(http.NotFoundHandler())
	down.Close()
	s, n := newSource(t, nil)
	if _, err := s.Resolve(t.Context(), "oci://"+strings.TrimPrefix(down.URL, "http://")+"/a"); client.KindOf(err) != client.Network || n.Load() != maxTries {
		t.Errorf("%v, %d requests", err, n.Load())
	}
}

// A server need not say how long a manifest is.
func TestLengthUnknown(t *testing.T) {
	f := newFake(t, true)
	digest := f.put("acme/a", "1.0.0", registrytest.Minimal("a@1.0.0").Encode(), nil)
	text := f.manifests["acme/a:"+digest]
	f.setLie(on("/manifests/", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", manifestType)
		w.(http.Flusher).Flush()
		_, _ = w.Write(text)
	}))
	s, _ := newSource(t, nil)
	if found, err := s.Resolve(t.Context(), "oci://"+f.host+"/acme/a:1.0.0"); err != nil || len(found.Experts) != 1 {
		t.Error(err)
	}
}

// What lies in the store is checked at every read.
func TestStoreChanged(t *testing.T) {
	f := newFake(t, true)
	f.put("acme/a", "1.0.0", registrytest.Minimal("a@1.0.0").Encode(), nil)
	dir := t.TempDir()
	s, _ := newSource(t, func(o *Options) { o.Trust = trust.Open(dir) })
	found, err := s.Resolve(t.Context(), "oci://"+f.host+"/acme/a:1.0.0")
	if err != nil {
		t.Fatal(err)
	}
	for key, e := range found.Experts {
		for _, digest := range []string{e.Digest, e.Expert.Version} {
			path := dir + "/definitions/" + strings.TrimPrefix(digest, "sha256:")
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, append(text, ' '), 0o600); err != nil {
				t.Fatal(err)
			}
			if _, err := s.Offline(t.Context(), client.Pin{Key: key, Digest: e.Digest}); client.KindOf(err) != client.Unverified {
				t.Error(err)
			}
			if err := os.Remove(path); err != nil {
				t.Fatal(err)
			}
			if _, err := s.Offline(t.Context(), client.Pin{Key: key, Digest: e.Digest}); client.KindOf(err) != client.NotVerified {
				t.Error(err)
			}
			if _, err := s.Resolve(t.Context(), key); err != nil { // fetched again
				t.Error(err)
			}
		}
	}
}

func FuzzManifest(f *testing.F) {
	layer := describe(ExpertType, []byte("{}"))
	text, err := newManifest(ExpertType, layer, nil, nil)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(text)
	f.Add([]byte(`{"schemaVersion":2,"layers":[{"size":-1}]}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		got, _, err := readManifest(text, ExpertType, definition.MaxSize)
		if err == nil && (!definition.IsDigest(got.Digest) || got.Size <= 0 || got.Size > definition.MaxSize) {
			t.Errorf("%+v", got)
		}
	})
}
