package wire_test

import (
	"encoding/base64"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"golang.org/x/oauth2/google"

	"github.com/perstack-go/perstack/internal/providers/gemini"
	"github.com/perstack-go/perstack/internal/testkit/llm"
	scripts "github.com/perstack-go/perstack/internal/testkit/llm/gemini"
)

// A token of Google Cloud is asked for in the words of Google's own library.
func TestTokenRequests(t *testing.T) {
	requests := make(chan url.Values, 1)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err := r.ParseForm(); err != nil || r.Method != http.MethodPost {
			t.Errorf("%s: %v", r.Method, err)
		}
		requests <- r.PostForm
		w.Header().Set("Content-Type", "application/json")
		io.WriteString(w, `{"access_token":"ya29.x","expires_in":3600,"token_type":"Bearer"}`)
	}))
	defer server.Close()
	for kind, file := range map[google.CredentialsType][]byte{
		google.ServiceAccount: scripts.ServiceAccount(server.URL, llm.Key), google.AuthorizedUser: scripts.AuthorizedUser(server.URL, llm.Key),
	} {
		theirs, err := google.CredentialsFromJSONWithType(t.Context(), file, kind, "https://www.googleapis.com/auth/cloud-platform")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := theirs.TokenSource.Token(); err != nil {
			t.Fatal(err)
		}
		want := tokenRequest(t, <-requests)

		ours, err := gemini.ReadCredentials(file)
		if err != nil {
			t.Fatal(err)
		}
		if token, err := ours.Tokens(server.Client())(t.Context()); err != nil || token != "ya29.x" {
			t.Fatalf("%q, %v", token, err)
		}
		if diff := gocmp.Diff(want, tokenRequest(t, <-requests)); diff != "" {
			t.Errorf("%s: what we ask differs from what the library asks:\n%s", kind, diff)
		}
	}
}

// A token of another identity provider is exchanged in the words of Google's own library, although
// perstack reads the file itself.
func TestExchangeRequests(t *testing.T) {
	requests := make(chan url.Values, 1)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err := r.ParseForm(); err != nil {
			t.Error(err)
		}
		requests <- r.PostForm
		w.Header().Set("Content-Type", "application/json")
		io.WriteString(w, `{"access_token":"ya29.x","issued_token_type":"urn:ietf:params:oauth:token-type:access_token","token_type":"Bearer","expires_in":3600}`)
	}))
	defer server.Close()
	for name, format := range map[string]string{"subject": `{"type":"text"}`, `{"id":"subject"}`: `{"type":"json","subject_token_field_name":"id"}`} {
		subject := filepath.Join(t.TempDir(), "token")
		if err := os.WriteFile(subject, []byte(name), 0o600); err != nil {
			t.Fatal(err)
		}
		file := []byte(`{"type":"external_account","audience":"//iam.googleapis.com/projects/1/locations/global/workloadIdentityPools/p/providers/q",
			"subject_token_type":"urn:ietf:params:oauth:token-type:jwt","token_url":"` + server.URL + `","client_id":"c","client_secret":"s",
			"credential_source":{"file":"` + subject + `","format":` + format + `}}`)
		theirs, err := google.CredentialsFromJSONWithType(t.Context(), file, google.ExternalAccount, "https://www.googleapis.com/auth/cloud-platform")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := theirs.TokenSource.Token(); err != nil {
			t.Fatal(err)
		}
		want := <-requests
		ours, err := gemini.ReadCredentials(file)
		if err != nil {
			t.Fatal(err)
		}
		ours.ReadFile = func(path string, _ int64) ([]byte, error) { return os.ReadFile(path) }
		if token, err := ours.Tokens(server.Client())(t.Context()); err != nil || token != "ya29.x" {
			t.Fatalf("%q, %v", token, err)
		}
		if diff := gocmp.Diff(want, <-requests); diff != "" || want.Get("subject_token") != "subject" {
			t.Errorf("what we ask differs from what the library asks:\n%s", diff)
		}
	}
}

// tokenRequest is a form with its assertion taken apart. What it says of the time becomes how long
// it lasts, and its signature is left out, since it covers the time.
func tokenRequest(t *testing.T, form url.Values) map[string]any {
	t.Helper()
	all := map[string]any{}
	for name := range form {
		all[name] = form[name]
	}
	if !form.Has("assertion") {
		return all
	}
	parts := strings.Split(form.Get("assertion"), ".")
	var said [2]map[string]any
	for i := range said {
		text, err := base64.RawURLEncoding.DecodeString(parts[i])
		if err != nil || json.Unmarshal(text, &said[i]) != nil {
			t.Fatalf("%q: %v", text, err)
		}
	}
	said[1]["exp"] = said[1]["exp"].(float64) - said[1]["iat"].(float64)
	delete(said[1], "iat")
	all["assertion"] = said
	return all
}
