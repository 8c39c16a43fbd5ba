package gemini_test

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/perstack-go/perstack/internal/providers/gemini"
	"github.com/perstack-go/perstack/internal/providers/wire"
	"github.com/perstack-go/perstack/internal/testkit/llm"
	scripts "github.com/perstack-go/perstack/internal/testkit/llm/gemini"
)

// An exchange is a server that stands for Google's: it changes tokens of others into its own, and
// those into tokens of a service account.
func exchange(t *testing.T) (root string, said *[]string) {
	t.Helper()
	said = new([]string)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		if err := r.ParseForm(); err != nil {
			t.Error(err)
		}
		*said = append(*said, r.Method+" "+r.URL.Path)
		switch {
		case r.URL.Path == "/subject":
			if r.Header.Get("X-Metadata") != "yes" {
				t.Error("the headers of the file are not sent")
			}
			io.WriteString(w, "subject-token-0123456789")
		case r.URL.Path == "/v1/token" && strings.Contains(r.PostForm.Get("subject_token"), "AKIAEXAMPLE"),
			r.URL.Path == "/v1/token" && r.PostForm.Get("subject_token") == "subject-token-0123456789":
			io.WriteString(w, `{"access_token":"ya29.sts","issued_token_type":"urn:ietf:params:oauth:token-type:access_token","token_type":"Bearer","expires_in":3600}`)
		case r.URL.Path == "/token" && r.PostForm.Get("grant_type") == "refresh_token", r.URL.Path == "/v1/oauthtoken" && r.PostForm.Get("refresh_token") != "":
			io.WriteString(w, `{"access_token":"ya29.user","token_type":"Bearer","expires_in":3600}`)
		case r.URL.Path == "/impersonate" && strings.HasPrefix(r.Header.Get("Authorization"), "Bearer ya29."):
			io.WriteString(w, `{"accessToken":"ya29.account","expireTime":"2099-01-01T00:00:00Z"}`)
		default:
			w.WriteHeader(http.StatusForbidden)
			io.WriteString(w, `{"error":"access_denied","error_description":"`+r.PostForm.Get("subject_token")+`"}`)
		}
	}))
	t.Cleanup(server.Close)
	return server.URL, said
}

// external is a file of an external account whose token comes from source.
func external(root, source, more string) string {
	return fmt.Sprintf(`{"type":"external_account","audience":"//iam.googleapis.com/projects/1/locations/global/workloadIdentityPools/p/providers/q",
		"subject_token_type":"urn:ietf:params:oauth:token-type:jwt","token_url":"%s/v1/token","credential_source":%s%s}`, root, source, more)
}

func TestFederatedTokens(t *testing.T) {
	files := map[string]string{
		"/run/text": "subject-token-0123456789\n",
		"/run/json": `{"id_token":"subject-token-0123456789"}`,
		"/run/none": `{"other":"subject-token-0123456789"}`,
		"/run/old":  "expired-token-0123456789",
	}
	aws := `{"environment_id":"aws1","regional_cred_verification_url":"https://sts.{region}.amazonaws.com?Action=GetCallerIdentity&Version=2011-06-15"}`
	for name, test := range map[string]struct {
		file func(root string) string
		want string // the token, or a part of the error
		said string
	}{
		"file": {func(root string) string { return external(root, `{"file":"/run/text"}`, "") }, "ya29.sts", "POST /v1/token"},
		"JSON file": {func(root string) string {
			return external(root, `{"file":"/run/json","format":{"type":"json","subject_token_field_name":"id_token"}}`, "")
		}, "ya29.sts", "POST /v1/token"},
		"wrong file": {func(root string) string {
			return external(root, `{"file":"/run/none","format":{"type":"json","subject_token_field_name":"id_token"}}`, "")
		},
			"has no token in the form that it says", ""},
		"no file":  {func(root string) string { return external(root, `{"file":"/run/gone"}`, "") }, "has no token in the form that it says", ""},
		"old file": {func(root string) string { return external(root, `{"file":"/run/old"}`, "") }, "answered 403", "POST /v1/token"},
		"URL": {func(root string) string {
			return external(root, `{"url":"`+root+`/subject","headers":{"X-Metadata":"yes"}}`, "")
		}, "ya29.sts", "GET /subject, POST /v1/token"},
		"Amazon": {func(root string) string { return external(root, aws, "") }, "ya29.sts", "POST /v1/token"},
		"file, for an account": {func(root string) string {
			return external(root, `{"file":"/run/text"}`, `,"service_account_impersonation_url":"`+root+`/impersonate"`)
		}, "ya29.account", "POST /v1/token, POST /impersonate"},
		"external user": {func(root string) string {
			return `{"type":"external_account_authorized_user","client_id":"c","client_secret":"s","refresh_token":"refresh-0123456789","token_url":"` + root + `/v1/oauthtoken"}`
		}, "ya29.user", "POST /v1/oauthtoken"},
		"user, for an account": {func(root string) string {
			return `{"type":"impersonated_service_account","service_account_impersonation_url":"` + root + `/impersonate","source_credentials":` + string(scripts.AuthorizedUser(root, llm.Key)) + `}`
		}, "ya29.account", "POST /impersonate"},
	} {
		t.Run(name, func(t *testing.T) {
			root, said := exchange(t)
			c, err := gemini.ReadCredentials([]byte(test.file(root)))
			if err != nil {
				t.Fatal(err)
			}
			c.Getenv = func(name string) string {
				return map[string]string{"AWS_ACCESS_KEY_ID": "AKIAEXAMPLE", "AWS_SECRET_ACCESS_KEY": "aws-secret-0123456789", "AWS_DEFAULT_REGION": "us-east-1"}[name]
			}
			c.ReadFile = func(path string, _ int64) ([]byte, error) {
				if text, ok := files[path]; ok {
					return []byte(text), nil
				}
				return nil, errors.New("no such file: secret-name")
			}
			source := c.Tokens(wire.NewHTTPClient(nil))
			got, err := source(t.Context())
			if err != nil {
				got = err.Error()
			}
			if !strings.Contains(got, test.want) {
				t.Errorf("got %q, want %q", got, test.want)
			}
			for _, secret := range []string{"subject-token", "expired-token", "aws-secret", "refresh-0123456789", "secret-name"} {
				if strings.Contains(got, secret) {
					t.Errorf("%q is in %q", secret, got)
				}
			}
			if all := strings.Join(*said, ", "); !strings.HasSuffix(all, test.said) {
				t.Errorf("asked %s, want %s", all, test.said)
			}
			if err == nil { // a token is kept
				before := len(*said)
				if again, err := source(t.Context()); err != nil || again != got || len(*said) != before {
					t.Errorf("asked again: %q, %v", again, err)
				}
			}
		})
	}
}

// What a file could do with what it reads is refused before anything is read or sent.
func TestRefusedFederatedCredentials(t *testing.T) {
	google := "https://sts.googleapis.com"
	for file, want := range map[string]string{
		external("https://evil.example", `{"file":"/etc/shadow"}`, ""):                                    "the token_url of the credentials file is not",
		external("http://sts.googleapis.com", `{"file":"/etc/shadow"}`, ""):                               "the token_url of the credentials file is not",
		external("https://sts.googleapis.com.evil.example", `{"file":"/etc/shadow"}`, ""):                 "the token_url of the credentials file is not",
		external(google, `{"file":"/x"}`, `,"service_account_impersonation_url":"https://evil.example/"`): "service_account_impersonation_url of the credentials file is not",
		external(google, `{"executable":{"command":"/bin/sh -c id"}}`, ""):                                "start a program",
		external(google, `{"certificate":{"use_default_certificate_config":true}}`, ""):                   "certificate",
		external(google, `{"url":"file:///etc/shadow"}`, ""):                                              "not a web address",
		external(google, `{}`, ""): "no credential_source",
		`{"type":"external_account","token_url":"https://sts.googleapis.com/v1/token","credential_source":{"file":"/x"}}`:          "no audience",
		`{"type":"external_account_authorized_user","token_url":"https://sts.googleapis.com/v1/oauthtoken"}`:                       "no client_id",
		`{"type":"impersonated_service_account","service_account_impersonation_url":"https://iamcredentials.googleapis.com/v1/x"}`: "no source_credentials",
		`{"type":"impersonated_service_account","service_account_impersonation_url":"https://iamcredentials.googleapis.com/v1/x",
			"source_credentials":` + external(google, `{"executable":{"command":"id"}}`, "") + `}`: "source_credentials: credentials that start a program",
		`{"type":"impersonated_service_account","service_account_impersonation_url":"https://iamcredentials.googleapis.com/v1/x",
			"source_credentials":` + string(scripts.AuthorizedUser("https://evil.example", llm.Key)) + `}`: "source_credentials: the token_uri is not",
		`{"type":"external_account","audience":1}`: "another type",
	} {
		if _, err := gemini.ReadCredentials([]byte(file)); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "shadow") || strings.Contains(err.Error(), llm.Key) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}

func FuzzReadCredentials(f *testing.F) {
	f.Add([]byte(external("https://sts.googleapis.com", `{"file":"/x"}`, "")))
	f.Add([]byte(`{"type":"impersonated_service_account","service_account_impersonation_url":"https://iamcredentials.googleapis.com/v1/x","source_credentials":{"type":"authorized_user","client_id":"c","refresh_token":"r"}}`))
	f.Add(scripts.ServiceAccount("https://oauth2.googleapis.com", llm.Key))
	f.Fuzz(func(t *testing.T, data []byte) {
		c, err := gemini.ReadCredentials(data)
		if err != nil {
			return
		}
		for _, address := range c.Addresses() {
			if address == "" {
				t.Error("an empty address")
			}
		}
		if c.IsFederated() && len(c.Files()) > 1 {
			t.Errorf("files %q", c.Files())
		}
	})
}
