package gemini_test

import (
	"context"
	"crypto/x509"
	"errors"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/perstack-go/perstack/internal/providers/gemini"
	"github.com/perstack-go/perstack/internal/providers/wire"
	"github.com/perstack-go/perstack/internal/testkit/llm"
	scripts "github.com/perstack-go/perstack/internal/testkit/llm/gemini"
)

// vertexServer plays one answer, and gives tokens for it.
func vertexServer(t *testing.T) (root string) {
	t.Helper()
	s, err := llm.Parse(t.Name(), []byte("[[turn]]\ntext = \"Hello.\"\n"))
	if err != nil {
		t.Fatal(err)
	}
	server, _ := llm.Start(t, s)
	return server.Root()
}

// Both kinds of credentials give a token that Vertex AI takes. The token server checks the
// signature of the account.
func TestTokens(t *testing.T) {
	for name, file := range map[string]func(root, key string) []byte{"service account": scripts.ServiceAccount, "user": scripts.AuthorizedUser} {
		root := vertexServer(t)
		source, err := gemini.TokenSource(file(root, llm.Key), wire.NewHTTPClient(nil))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		m := open(t, root, onVertex, func(c *gemini.Config) { c.Token = source })
		answer, _, err := ask(t.Context(), m, hello())
		if err != nil || answer.Text() != "Hello." {
			t.Errorf("%s: %+v, %v", name, answer, err)
		}

		// An account of another key is refused, and the error quotes nothing of the file.
		file := file(root, "another-key-0123456789")
		source, err = gemini.TokenSource(file, wire.NewHTTPClient(nil))
		if err != nil {
			t.Fatal(err)
		}
		m = open(t, root, onVertex, func(c *gemini.Config) { c.Token = source })
		_, _, err = ask(t.Context(), m, hello())
		e := failure(t, err)
		if e.StatusCode != http.StatusBadRequest || e.Retryable || !strings.Contains(e.Message, "invalid_grant") || strings.Contains(e.Message, "another-key") {
			t.Errorf("%s: %+v", name, e)
		}
	}
}

// tokenServer gives tokens that last so long.
func tokenServer(t *testing.T, seconds string) (root string, asked *atomic.Int64) {
	t.Helper()
	asked = new(atomic.Int64)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n := asked.Add(1)
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Metadata-Flavor", "Google")
		io.WriteString(w, `{"access_token":"ya29.`+strings.Repeat("x", int(n))+`","expires_in":`+seconds+`,"token_type":"Bearer"}`)
	}))
	t.Cleanup(server.Close)
	return server.URL, asked
}

// A token is used until it is about to expire, by however many at once.
func TestTokensAreKept(t *testing.T) {
	for _, tt := range []struct {
		seconds string
		calls   int64
	}{{"3600", 1}, {"30", 20}, {"0", 20}} {
		root, asked := tokenServer(t, tt.seconds)
		account, err := gemini.TokenSource(scripts.ServiceAccount(root, llm.Key), wire.NewHTTPClient(nil))
		if err != nil {
			t.Fatal(err)
		}
		machine := gemini.MetadataTokens(root, wire.NewHTTPClient(nil))
		for name, source := range map[string]func(context.Context) (string, error){"account": account, "machine": machine} {
			before := asked.Load()
			var all sync.WaitGroup
			for range 20 {
				all.Go(func() {
					if token, err := source(t.Context()); err != nil || !strings.HasPrefix(token, "ya29.") {
						t.Errorf("%q, %v", token, err)
					}
				})
			}
			all.Wait()
			if n := asked.Load() - before; n != tt.calls {
				t.Errorf("%s, tokens of %s seconds: asked %d times, want %d", name, tt.seconds, n, tt.calls)
			}
		}
	}
}

func TestRefusedCredentials(t *testing.T) {
	account := string(scripts.ServiceAccount("https://oauth2.googleapis.com", "secret-key"))
	for want, file := range map[string]string{
		"not one of Google Cloud":         "secret-file {",
		"the token_url of":                `{"type":"external_account","credential_source":{"file":"/etc/passwd"},"token_url":"https://evil.example"}`,
		"service_account_impersonation":   `{"type":"impersonated_service_account","service_account_impersonation_url":"https://evil.example"}`,
		"type \"gdch_service_account\"":   `{"type":"gdch_service_account"}`,
		"type \"\"":                       `{}`,
		"token_uri":                       strings.Replace(account, "https://oauth2.googleapis.com/token", "http://oauth2.example.com/token", 1),
		"no private key that can be read": strings.Replace(account, "BEGIN PRIVATE KEY", "BEGIN", 1),
		"no refresh_token":                `{"type":"authorized_user","client_id":"secret-client"}`,
	} {
		_, err := gemini.TokenSource([]byte(file), wire.NewHTTPClient(nil))
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "secret") || strings.Contains(err.Error(), "MII") {
			t.Errorf("%v; want %q", err, want)
		}
	}
	if _, err := gemini.TokenSource([]byte(account), wire.NewHTTPClient(nil)); err != nil {
		t.Errorf("the right one: %v", err)
	}
}

// What a token server says in place of a token is not repeated: it may be what it was sent.
func TestTokenFailures(t *testing.T) {
	var visits atomic.Int32
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { visits.Add(1) }))
	defer other.Close()
	echo := func(status int) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			body, _ := io.ReadAll(r.Body)
			w.WriteHeader(status)
			io.WriteString(w, `{"error":"`+string(body)+`","error_description":"`+string(body)+`"}`)
		}
	}
	for name, test := range map[string]struct {
		handler http.HandlerFunc
		status  int
		passes  bool
		words   string
	}{
		"it repeats what it is sent": {echo(400), 400, false, "answered 400; check the credentials file"},
		"it is busy":                 {echo(503), 503, true, "answered 503"},
		"it has a limit":             {echo(429), 429, true, "answered 429"},
		"a redirect": {func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, other.URL, http.StatusTemporaryRedirect)
		}, 307, false, "answered 307"},
		"garbage":                 {refusing(200, nil, "garbage"), 0, true, "no token"},
		"no token":                {refusing(200, http.Header{"Content-Type": {"application/json"}}, `{"access_token":""}`), 0, true, "no token"},
		"a token with a line end": {refusing(200, http.Header{"Content-Type": {"application/json"}}, `{"access_token":"a\nb","expires_in":3600}`), 0, true, "no token"},
		"it hangs up":             {func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, 0, true, "cannot be reached"},
	} {
		server := httptest.NewServer(test.handler)
		for kind, file := range map[string]func(root, key string) []byte{"account": scripts.ServiceAccount, "user": scripts.AuthorizedUser} {
			source, err := gemini.TokenSource(file(server.URL, "key-0123456789"), &http.Client{})
			if err != nil {
				t.Fatal(err)
			}
			m := open(t, server.URL, onVertex, func(c *gemini.Config) { c.Token = source })
			_, _, err = ask(t.Context(), m, hello())
			e := failure(t, err)
			if e.StatusCode != test.status || e.Retryable != test.passes || !strings.Contains(e.Message, test.words) || !strings.Contains(e.Message, "google-vertex") {
				t.Errorf("%s, %s: %+v", name, kind, e)
			}
			for _, secret := range []string{"key-0123456789", "assertion", "eyJ", "refresh"} {
				if strings.Contains(e.Message, secret) {
					t.Errorf("%s, %s: %q is in %q", name, kind, secret, e.Message)
				}
			}
		}
		server.Close()
	}
	if visits.Load() != 0 {
		t.Errorf("%d visits elsewhere", visits.Load())
	}
}

// The token server is asked first. An untrusted certificate is not
// retried.
func TestTokenServerIsNotTrusted(t *testing.T) {
	server := httptest.NewUnstartedServer(refusing(200, nil, "{}"))
	server.Config.ErrorLog = log.New(io.Discard, "", 0) // it says what clients think of it
	server.StartTLS()
	defer server.Close()
	for kind, file := range map[string]func(root, key string) []byte{"account": scripts.ServiceAccount, "user": scripts.AuthorizedUser} {
		source, err := gemini.TokenSource(file(server.URL, "key-0123456789"), wire.HTTPOptions{Roots: x509.NewCertPool()}.Client())
		if err != nil {
			t.Fatal(err)
		}
		_, err = source(t.Context())
		if e := failure(t, err); e.Retryable || !strings.Contains(e.Message, "no token") || !strings.Contains(e.Message, "; set PERSTACK_CA_CERTS") {
			t.Errorf("%s: %+v", kind, e)
		}
	}
}

func TestMetadataTokens(t *testing.T) {
	flavour := http.Header{"Metadata-Flavor": {"Google"}}
	for _, tt := range []struct {
		handler http.HandlerFunc
		want    string // of the token or the error
		passes  bool
	}{
		{func(w http.ResponseWriter, r *http.Request) {
			if r.Header.Get("Metadata-Flavor") != "Google" || !strings.HasPrefix(r.RequestURI, "/computeMetadata/v1/instance/service-accounts/default/token?scopes=") {
				t.Errorf("%s %v", r.RequestURI, r.Header)
			}
			refusing(200, flavour, `{"access_token":"ya29.m","expires_in":3600}`)(w, r)
		}, "ya29.m", false},
		{refusing(200, nil, `{"access_token":"stolen"}`), "GOOGLE_APPLICATION_CREDENTIALS", false},
		{refusing(404, flavour, "none"), "service account of this machine", false},
		{refusing(503, flavour, ""), "busy", true},
		{refusing(200, flavour, "garbage"), "GOOGLE_APPLICATION_CREDENTIALS", false},
		{refusing(200, flavour, `{}`), "no token", true},
	} {
		server := httptest.NewServer(tt.handler)
		got, err := gemini.MetadataTokens(server.URL+"/", wire.NewHTTPClient(nil))(t.Context())
		server.Close()
		if err != nil {
			got = err.Error()
		}
		if !strings.Contains(got, tt.want) || strings.Contains(got, "stolen") {
			t.Errorf("%q, want %q", got, tt.want)
		}
	}
	_, err := gemini.MetadataTokens("http://127.0.0.1:1", wire.NewHTTPClient(nil))(t.Context())
	if err == nil || !strings.Contains(err.Error(), "GOOGLE_APPLICATION_CREDENTIALS") {
		t.Errorf("no server: %v", err)
	}
}

// Who waits for a token can be stopped.
func TestTokenIsInterrupted(t *testing.T) {
	asked := make(chan struct{}, 10)
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // else the server does not see that the client leaves
		asked <- struct{}{}
		<-r.Context().Done()
	}))
	defer server.Close()
	source, err := gemini.TokenSource(scripts.ServiceAccount(server.URL, llm.Key), wire.NewHTTPClient(nil))
	if err != nil {
		t.Fatal(err)
	}
	stopped := errors.New("stopped")
	ctx, cancel := context.WithCancelCause(t.Context())
	go func() {
		<-asked
		cancel(stopped)
	}()
	if _, err := source(ctx); !errors.Is(err, stopped) {
		t.Errorf("%v", err)
	}
	if _, err := source(ctx); !errors.Is(err, stopped) {
		t.Errorf("%v", err)
	}
}
