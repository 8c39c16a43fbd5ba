package client

import (
	"context"
	"crypto/tls"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/perstack-go/perstack/internal/registry/api"
	"github.com/perstack-go/perstack/internal/testkit/registrytest"
)

// K1: keys and Experts travel encrypted, but for a registry on this machine that the user allowed.
func TestK1Address(t *testing.T) {
	r := published(t)
	for address, want := range map[string]string{
		"https://registry.example":          "https://registry.example",
		"https://Registry.Example:443/":     "https://registry.example",
		"https://registry.example/a/../b//": "https://registry.example/b",
		"http://registry.example":           "",
		"http://10.0.0.1":                   "",
		"http://127.0.0.1:8080":             "http://127.0.0.1:8080",
		"https://u:p@registry.example":      "",
		"https://registry.example/?a=b":     "",
		"https://registry.example/#a":       "",
		"ftp://registry.example":            "",
		"registry.example":                  "",
		"":                                  "",
	} {
		o := options(t, r)
		o.BaseURL = address
		c, err := New(o)
		if want == "" {
			wantError(t, err, Configuration)
			continue
		}
		if err != nil || c.URL() != want {
			t.Errorf("%s: %v, %v", address, c, err)
		}
	}
	o := options(t, r)
	o.Insecure = false
	_, err := New(o)
	wantError(t, err, Configuration, "must use https")
}

// K2: a redirect is followed within the origin, without a key, and nowhere else. A key is one segment of a path.
func TestK2Redirects(t *testing.T) {
	elsewhere := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("the client followed") }))
	defer elsewhere.Close()
	r := published(t)
	target := elsewhere.URL
	r.Handle = func(w http.ResponseWriter, q *http.Request) bool {
		if q.URL.Path == api.V2+"/experts/@acme/lead" {
			http.Redirect(w, q, target+"/moved", http.StatusTemporaryRedirect)
			return true
		}
		if q.URL.Path == "/moved" {
			registrytest.Answer(w, api.Package{Name: "@acme/lead"})
			return true
		}
		return false
	}
	o := options(t, r)
	_, err := open(t, o).Package(t.Context(), "@acme/lead")
	wantError(t, err, Refused, "redirects to "+elsewhere.URL, "which is another origin")
	target = r.URL
	if p, err := open(t, o).Package(t.Context(), "@acme/lead"); err != nil || p.Name != "@acme/lead" {
		t.Errorf("%v, %v", p, err)
	}
	if want := "GET " + api.V2 + "/experts/%40acme%2Flead"; !slices.Contains(r.Paths(), want) {
		t.Errorf("%v does not have %s", r.Paths(), want)
	}
	o.Key, o.PrivateScopes = "psk_1", []string{"@acme"}
	for _, target = range []string{r.URL, elsewhere.URL} {
		_, err = open(t, o).Package(t.Context(), "@acme/lead")
		wantError(t, err, Refused, "a request with a key does not follow")
	}
}

// K2: neither names nor the discovery document lead out of the registry.
func TestK2Paths(t *testing.T) {
	r := published(t)
	for _, path := range []string{"https://other.example/api", "//other.example/api", "/a/../b", "/a?b", "/a%2Fb", `/a\b`, "", "api"} {
		r.Handle = func(w http.ResponseWriter, q *http.Request) bool {
			if q.URL.Path != api.DiscoveryPath {
				t.Errorf("asked for %s", q.URL)
			}
			registrytest.Answer(w, api.Discovery{API: path, Log: api.Log{Origin: registrytest.Origin, Path: api.LogPath, Keys: []string{r.LogKey}}})
			return true
		}
		_, err := open(t, options(t, r)).Resolve(t.Context(), "helper")
		wantError(t, err, WrongAnswer, "is not a path of this registry")
	}
	before := len(r.Paths())
	for _, key := range []string{"../x", "a/b/c", "", "@acme/../x", "a b"} {
		_, err := open(t, options(t, r)).Resolve(t.Context(), key)
		wantError(t, err, Configuration)
	}
	if len(r.Paths()) != before {
		t.Error("a wrong key was sent")
	}
	if got := escapeSegment("..") + " " + escapeSegment("a/b@1+c?"); got != "%2E%2E a%2Fb%401%2Bc%3F" {
		t.Error(got)
	}
}

// K3: without a key, nothing is sent that needs one.
func TestK3NoKey(t *testing.T) {
	r := published(t)
	o := options(t, r)
	c := open(t, o)
	private := o
	private.PrivateScopes, private.LogKey = []string{"@acme"}, r.LogKey
	for name, err := range map[string]error{
		"publish":   second(c.Publish(t.Context(), api.Publish{Content: registrytest.Minimal("a@1.0.0").Encode()})),
		"whoami":    second(c.Whoami(t.Context())),
		"tag":       c.SetTag(t.Context(), "a", "stable", "1.0.0"),
		"remove":    c.RemoveTag(t.Context(), "a", "stable", "1.0.0"),
		"status":    c.SetStatus(t.Context(), "a@1.0.0", api.SetStatus{Status: api.Disabled}),
		"unpublish": c.Unpublish(t.Context(), "a@1.0.0"),
		"private":   second(open(t, private).Resolve(t.Context(), "@acme/lead")),
	} {
		if KindOf(err) != Unauthorized || !strings.Contains(err.Error(), "PERSTACK_API_KEY") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if len(r.Paths()) != 0 {
		t.Errorf("%v", r.Paths())
	}
	for name, err := range map[string]error{
		"tag latest": c.SetTag(t.Context(), "a", "latest", "1.0.0"),
		"no version": c.Unpublish(t.Context(), "a"),
	} {
		if KindOf(err) != Configuration {
			t.Errorf("%s: %v", name, err)
		}
	}
	o.Key = "a\nb"
	_, err := New(o)
	wantError(t, err, Configuration)
}

func second[T any](_ T, err error) error { return err }

// K4: the key goes along with what changes something, and with reads of private scopes.
func TestK4Key(t *testing.T) {
	r := published(t)
	var sent []string
	r.Handle = func(w http.ResponseWriter, q *http.Request) bool {
		sent = append(sent, q.Method+" "+q.URL.Path+" "+q.Header.Get("Authorization"))
		if q.URL.Path == api.V2+"/resolve" {
			return false
		}
		registrytest.Answer(w, map[string]any{})
		return true
	}
	o := options(t, r)
	o.Key, o.PrivateScopes, o.LogKey = "psk_1", []string{"@acme"}, r.LogKey
	c := open(t, o)
	for _, err := range []error{
		second(c.Resolve(t.Context(), "helper")),
		second(c.Resolve(t.Context(), "@acme/lead")),
		c.SetTag(t.Context(), "@acme/lead", "stable", "1.0.0"),
		c.RemoveTag(t.Context(), "@acme/lead", "stable", "1.0.0"),
		c.SetStatus(t.Context(), "helper@2.0.0", api.SetStatus{Status: api.Deprecated}),
		c.Unpublish(t.Context(), "helper@2.0.0"),
	} {
		if err != nil {
			t.Error(err)
		}
	}
	want := []string{
		"POST /api/registry/v2/resolve ",
		"POST /api/registry/v2/resolve Bearer psk_1",
		"PUT /api/registry/v2/experts/@acme/lead/tags/stable Bearer psk_1",
		"DELETE /api/registry/v2/experts/@acme/lead/tags/stable Bearer psk_1",
		"POST /api/registry/v2/experts/helper@2.0.0/status Bearer psk_1",
		"DELETE /api/registry/v2/experts/helper@2.0.0 Bearer psk_1",
	}
	if !slices.Equal(sent, want) {
		t.Errorf("%q", sent)
	}
}

// K5: a read is tried three times, and waits as long as the registry asks. A change is tried once.
func TestK5Retries(t *testing.T) {
	r := published(t)
	var fail []int
	var retryAfter string
	r.Handle = func(w http.ResponseWriter, _ *http.Request) bool {
		if len(fail) == 0 {
			return false
		}
		code := fail[0]
		fail = fail[1:]
		w.Header().Set("Retry-After", retryAfter)
		if code == 0 {
			panic(http.ErrAbortHandler) // the connection ends
		}
		registrytest.Fail(w, api.Error{Code: code, Message: "Busy", Reason: "try later"})
		return true
	}
	r.Config.ErrorLog = log.New(io.Discard, "", 0)
	for _, test := range []struct {
		name       string
		fail       []int
		retryAfter string
		kind       Kind
		waits      int
	}{
		{"network", []int{0, 0}, "", "", 2},
		{"gateway", []int{502, 504}, "", "", 2},
		{"unavailable", []int{503, 503, 503}, "", Refused, 2},
		{"rate", []int{429}, "7", "", 1},
		{"rate with a date", []int{429}, "Tue, 03 Feb 2026 04:05:10 GMT", "", 1},
		{"rate for long", []int{429}, "3600", RateLimited, 0},
		{"error", []int{500}, "", Refused, 0},
		{"refused", []int{400}, "", Refused, 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			fail, retryAfter = test.fail, test.retryAfter
			var waits []time.Duration
			o := options(t, r)
			o.LogKey = r.LogKey
			o.Wait = func(_ context.Context, d time.Duration) error { waits = append(waits, d); return nil }
			_, err := open(t, o).Resolve(t.Context(), "helper")
			if KindOf(err) != test.kind || len(waits) != test.waits {
				t.Errorf("%v, %v", waits, err)
			}
			for i, d := range waits {
				least, most := firstWait<<i/2, firstWait<<i
				if test.retryAfter != "" {
					least, most = 4*time.Second, longestWait
				}
				if d < least || d > most {
					t.Errorf("waited %s, want %s to %s", d, least, most)
				}
			}
		})
	}
	fail, retryAfter = []int{503}, ""
	o := options(t, r)
	o.LogKey, o.Key = r.LogKey, "psk_1"
	before := len(r.Paths())
	err := open(t, o).Unpublish(t.Context(), "helper@2.0.0")
	if wantError(t, err, Refused, "Busy: try later"); len(r.Paths()) != before+1 {
		t.Errorf("%v", r.Paths())
	}
}

// K7: an answer without end is not read to the end.
func TestK7Size(t *testing.T) {
	r := published(t)
	r.Handle = func(w http.ResponseWriter, _ *http.Request) bool {
		w.Header().Set("Content-Type", "application/json")
		piece := []byte(strings.Repeat(" ", 1<<16))
		for range 1 << 14 { // 1 GiB
			if _, err := w.Write(piece); err != nil {
				return true
			}
		}
		t.Error("the client has read all of it")
		return true
	}
	o := options(t, r)
	o.LogKey = r.LogKey
	_, err := open(t, o).Package(t.Context(), "helper")
	wantError(t, err, WrongAnswer, "has more than 1 MiB")
	_, err = open(t, o).Resolve(t.Context(), "helper")
	wantError(t, err, WrongAnswer, "has more than 64 MiB")
	r.Handle = func(w http.ResponseWriter, _ *http.Request) bool {
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Content-Encoding", "gzip")
		_, _ = w.Write([]byte("{}"))
		return true
	}
	_, err = open(t, o).Package(t.Context(), "helper")
	wantError(t, err, WrongAnswer, `packed as "gzip"`)
}

// K8: an error says what the registry said, safely for a terminal, and names the request.
func TestK8Reason(t *testing.T) {
	r := published(t)
	r.Handle = func(w http.ResponseWriter, _ *http.Request) bool {
		w.Header().Set(api.RequestIDHeader, "r-17")
		registrytest.Fail(w, api.Error{Code: 422, Message: "Validation Failed", Reason: "name\x1b[31m is wrong", Field: "name", Hint: "use another"})
		return true
	}
	o := options(t, r)
	o.LogKey = r.LogKey
	_, err := open(t, o).Package(t.Context(), "helper")
	wantError(t, err, Refused, "view: Validation Failed: name", "use another", "request r-17")
	if strings.Contains(err.Error(), "\x1b") {
		t.Errorf("%q", err)
	}
	r.Handle = func(w http.ResponseWriter, _ *http.Request) bool {
		http.Error(w, "<html>", http.StatusTeapot)
		return true
	}
	_, err = open(t, o).Package(t.Context(), "helper")
	wantError(t, err, Refused, "the registry answered 418")
	r.Handle = func(w http.ResponseWriter, _ *http.Request) bool {
		_, _ = w.Write([]byte("<html>"))
		return true
	}
	_, err = open(t, o).Package(t.Context(), "helper")
	wantError(t, err, WrongAnswer, "not application/json")
}

// K9: an error of the network names host, operation and cause. An answer that ends early is one.
func TestK9Network(t *testing.T) {
	r := published(t)
	o := options(t, r)
	o.LogKey = r.LogKey
	r.Handle = func(w http.ResponseWriter, _ *http.Request) bool {
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Content-Length", "1000")
		_, _ = w.Write([]byte(`{"checkpoint":`))
		return true
	}
	_, err := open(t, o).Resolve(t.Context(), "helper")
	wantError(t, err, Network, "resolve: the answer ended too early")
	r.Close()
	_, err = open(t, o).Resolve(t.Context(), "helper")
	wantError(t, err, Network, strings.TrimPrefix(r.URL, "http://"), "resolve", "refused")
}

// K10: time that is up is not the same as a caller that has cancelled.
func TestK10Timeout(t *testing.T) {
	r := published(t)
	began := make(chan struct{}, 10)
	r.Handle = func(w http.ResponseWriter, q *http.Request) bool {
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte("{")) // slowly
		w.(http.Flusher).Flush()
		began <- struct{}{}
		<-q.Context().Done()
		return true
	}
	o := options(t, r)
	o.LogKey = r.LogKey
	slow := o
	slow.Timeout = 50 * time.Millisecond
	_, err := open(t, slow).Resolve(t.Context(), "helper")
	wantError(t, err, Timeout, "no whole answer within 50ms")
	<-began
	ctx, cancel := context.WithCancel(t.Context())
	go func() { <-began; cancel() }()
	_, err = open(t, o).Resolve(ctx, "helper")
	wantError(t, err, Cancelled, "resolve")
	ctx, cancel = context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	_, err = open(t, o).Resolve(ctx, "helper")
	wantError(t, err, Timeout)
}

// TLS cannot be downgraded: not by an old version, another authority, or a redirect to plain HTTP.
func TestDowngradedTLS(t *testing.T) {
	quiet := func(change func(*httptest.Server)) func(http.Handler) *httptest.Server {
		return func(h http.Handler) *httptest.Server {
			s := httptest.NewUnstartedServer(h)
			s.Config.ErrorLog = log.New(io.Discard, "", 0)
			change(s)
			s.StartTLS()
			return s
		}
	}
	old := registrytest.New(t, quiet(func(s *httptest.Server) {
		s.TLS = &tls.Config{MinVersion: tls.VersionTLS10, MaxVersion: tls.VersionTLS11} //nolint:gosec // the client has to refuse it
	}))
	_, err := open(t, options(t, old)).Resolve(t.Context(), "helper")
	wantError(t, err, Network, "protocol version")
	foreign := registrytest.New(t, quiet(func(*httptest.Server) {}))
	o := options(t, foreign)
	o.HTTP = published(t).Client()
	_, err = open(t, o).Resolve(t.Context(), "helper")
	wantError(t, err, Network, "certificate")
	plain := registrytest.New(t, quiet(func(*httptest.Server) {}))
	plain.Handle = func(w http.ResponseWriter, q *http.Request) bool {
		http.Redirect(w, q, "http://"+q.Host+q.URL.Path, http.StatusMovedPermanently)
		return true
	}
	_, err = open(t, options(t, plain)).Resolve(t.Context(), "helper")
	wantError(t, err, Refused, "redirects to http://")
}
