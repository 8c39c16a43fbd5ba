package providers

import (
	"encoding/pem"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/expert"
	"github.com/perstack-go/perstack/model"
	"github.com/perstack-go/perstack/rawjson"
)

type jsonValue = rawjson.Value

// asked opens a model, asks it once, and returns the requests that a server got: the
// server refuses them all. The address of the server is handed to choose.
func asked(t *testing.T, choose func(root string) Config) []*http.Request {
	t.Helper()
	var got []*http.Request
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got = append(got, r)
		w.WriteHeader(http.StatusBadRequest)
	}))
	defer server.Close()
	m, err := Open(choose(server.URL))
	if err != nil {
		t.Fatal(err)
	}
	if ask(t, m) == nil {
		t.Error("the server refused, and there was an answer")
	}
	server.Close() // nothing writes to got any more
	return got
}

func ask(t *testing.T, m model.Model) error {
	t.Helper()
	said := &event.Message{ID: "1", Type: event.UserMessage, Contents: []event.Part{{Type: event.TextPart, Text: "hi"}}}
	for _, err := range m.Generate(t.Context(), &model.Request{Messages: []*event.Message{said}}) {
		if err != nil {
			return err
		}
	}
	return nil
}

// What every provider is sent says that key, headers and address come from where they
// should.
func TestPrecedence(t *testing.T) {
	for name, c := range map[string]struct {
		provider string
		env      func(root string) env
		setting  func(root string) expert.Setting
		header   string
		want     string
		path     string // of the request; empty: any
	}{
		"anthropic": {provider: "anthropic", env: func(root string) env {
			return env{"ANTHROPIC_API_KEY": "k1", "ANTHROPIC_BASE_URL": root + "/v1"}
		}, header: "X-Api-Key", want: "k1", path: "/v1/messages"},
		"setting before variable": {provider: "anthropic", env: func(string) env {
			return env{"ANTHROPIC_API_KEY": "k1", "ANTHROPIC_BASE_URL": "https://nowhere.invalid"}
		}, setting: func(root string) expert.Setting {
			return expert.Setting{BaseURL: root + "/gw/", Headers: map[string]string{"x-api-key": "mine"}}
		}, header: "X-Api-Key", want: "mine", path: "/gw/messages"},
		"google, first name": {provider: "google", env: func(root string) env {
			return env{"GOOGLE_GENERATIVE_AI_API_KEY": "k1", "GEMINI_API_KEY": "k2", "GOOGLE_API_KEY": "k3", "GOOGLE_GENERATIVE_AI_BASE_URL": root + "/v1beta"}
		}, header: "X-Goog-Api-Key", want: "k1", path: "/v1beta/models/gemini-2.5-pro:streamGenerateContent"},
		"google, second name": {provider: "google", env: func(root string) env {
			return env{"GEMINI_API_KEY": "k2", "GOOGLE_API_KEY": "k3", "GOOGLE_GENERATIVE_AI_BASE_URL": root}
		}, header: "X-Goog-Api-Key", want: "k2"},
		"google, third name": {provider: "google", env: func(root string) env {
			return env{"GOOGLE_API_KEY": "k3", "GOOGLE_GENERATIVE_AI_BASE_URL": root}
		}, header: "X-Goog-Api-Key", want: "k3"},
		// A repository's key does not take the place of the user's, whatever it is called.
		"google, the user's key": {provider: "google", env: func(root string) env {
			return env{"GOOGLE_GENERATIVE_AI_API_KEY": inFile + "k1", "GOOGLE_API_KEY": "k3", "GOOGLE_GENERATIVE_AI_BASE_URL": root}
		}, header: "X-Goog-Api-Key", want: "k3"},
		"openai": {provider: "openai", env: func(root string) env {
			return env{"OPENAI_API_KEY": "k1", "OPENAI_BASE_URL": root + "/v1"}
		}, header: "Authorization", want: "Bearer k1", path: "/v1/responses"},
		"organization": {provider: "openai", env: func(root string) env {
			return env{"OPENAI_API_KEY": "k1", "OPENAI_BASE_URL": root, "OPENAI_ORGANIZATION": "o1"}
		}, header: "Openai-Organization", want: "o1"},
		"organization of the file": {provider: "openai", env: func(root string) env {
			return env{"OPENAI_API_KEY": "k1", "OPENAI_BASE_URL": root, "OPENAI_ORGANIZATION": "o1"}
		}, setting: func(string) expert.Setting { return expert.Setting{Organization: "o2"} }, header: "Openai-Organization", want: "o2"},
		"project": {provider: "openai", env: func(root string) env {
			return env{"OPENAI_API_KEY": "k1", "OPENAI_BASE_URL": root, "OPENAI_PROJECT": "p1"}
		}, header: "Openai-Project", want: "p1"},
		"azure": {provider: "azure-openai", env: func(root string) env {
			return env{"AZURE_API_KEY": "k1", "AZURE_OPENAI_API_KEY": "k2", "AZURE_BASE_URL": root + "/openai"}
		}, header: "Api-Key", want: "k1", path: "/openai/v1/chat/completions"},
		"azure, second name": {provider: "azure-openai", env: func(root string) env {
			return env{"AZURE_OPENAI_API_KEY": "k2", "AZURE_BASE_URL": root + "/openai"}
		}, setting: func(string) expert.Setting {
			return expert.Setting{UseDeploymentBasedURLs: true, APIVersion: "2025-01-01"}
		}, header: "Api-Key", want: "k2", path: "/openai/deployments/gpt-5/chat/completions"},
		"deepseek": {provider: "deepseek", env: func(root string) env {
			return env{"DEEPSEEK_API_KEY": "k1", "DEEPSEEK_BASE_URL": root}
		}, header: "Authorization", want: "Bearer k1", path: "/chat/completions"},
		"compatible": {provider: "openai-compatible", env: func(root string) env {
			return env{"OPENAI_COMPATIBLE_API_KEY": "k1", "OPENAI_COMPATIBLE_BASE_URL": root}
		}, header: "Authorization", want: "Bearer k1", path: "/chat/completions"},
		"compatible without a key": {provider: "openai-compatible", env: func(root string) env {
			return env{"OPENAI_COMPATIBLE_BASE_URL": root}
		}, header: "Authorization", want: "", path: "/chat/completions"},
		"ollama": {provider: "ollama", env: func(root string) env { return env{"OLLAMA_BASE_URL": root} }, header: "Authorization", want: "", path: "/api/chat"},
		"ollama by its host": {provider: "ollama", env: func(root string) env {
			return env{"OLLAMA_HOST": strings.TrimPrefix(root, "http://")}
		}, header: "Authorization", want: "", path: "/api/chat"},
		"ollama by its base URL, not its host": {provider: "ollama", env: func(root string) env {
			return env{"OLLAMA_HOST": "127.0.0.1:1", "OLLAMA_BASE_URL": root}
		}, header: "Authorization", want: "", path: "/api/chat"},
		"ollama by the address of its other API": {provider: "ollama", env: func(root string) env {
			return env{"OLLAMA_BASE_URL": root + "/v1/"}
		}, header: "Authorization", want: "", path: "/api/chat"},
		"bedrock by token": {provider: "amazon-bedrock", env: func(root string) env {
			return enough("amazon-bedrock").with("AWS_BEARER_TOKEN_BEDROCK", "token", "AWS_ENDPOINT_URL_BEDROCK_RUNTIME", root)
		}, header: "Authorization", want: "Bearer token"},
		"session token": {provider: "amazon-bedrock", env: func(root string) env {
			return enough("amazon-bedrock").with("AWS_SESSION_TOKEN", "session", "AWS_ENDPOINT_URL_BEDROCK_RUNTIME", root)
		}, header: "X-Amz-Security-Token", want: "session"},
		// It belongs to the key that it was made with.
		"session token of another": {provider: "amazon-bedrock", env: func(root string) env {
			return enough("amazon-bedrock").with("AWS_SESSION_TOKEN", inFile+"session", "AWS_ENDPOINT_URL_BEDROCK_RUNTIME", root)
		}, header: "X-Amz-Security-Token", want: ""},
	} {
		t.Run(name, func(t *testing.T) {
			requests := asked(t, func(root string) Config {
				name := model.DefaultModel(c.provider)
				if name == "" {
					name = "gpt-5"
				}
				choice := c.env(root).choose(c.provider, name)
				if c.setting != nil {
					choice.Setting = c.setting(root)
				}
				return choice
			})
			if len(requests) == 0 {
				t.Fatal("there was no request")
			}
			if got := requests[0].Header.Get(c.header); got != c.want {
				t.Errorf("%s is %q, want %q", c.header, got, c.want)
			}
			if c.path != "" && requests[0].URL.Path != c.path {
				t.Errorf("asked at %s, want %s", requests[0].URL.Path, c.path)
			}
		})
	}
}

// A file's token does not take the place of the user's key: what the Expert sees would
// go to another account.
func TestBearerTokenOfAFile(t *testing.T) {
	for token, want := range map[string]string{"theirs": "Bearer theirs", inFile + "theirs": "AWS4-HMAC-SHA256 "} {
		requests := asked(t, func(root string) Config {
			return enough("amazon-bedrock").with("AWS_BEARER_TOKEN_BEDROCK", token, "AWS_ENDPOINT_URL_BEDROCK_RUNTIME", root).choose("amazon-bedrock", "amazon.nova-pro-v1:0")
		})
		if len(requests) == 0 || !strings.HasPrefix(requests[0].Header.Get("Authorization"), want) {
			t.Errorf("%s: %v", token, requests)
		}
	}
}

// Vertex takes the credentials that a variable names, else those of gcloud, else those of
// the machine.
func TestVertexCredentials(t *testing.T) {
	home := t.TempDir()
	gcloud, variable := filepath.Join(home, ".config", "gcloud"), "HOME"
	if runtime.GOOS == "windows" {
		gcloud, variable = filepath.Join(home, "gcloud"), "APPDATA"
	}
	if err := os.MkdirAll(gcloud, 0o700); err != nil {
		t.Fatal(err)
	}
	write := func(path, refresh string) {
		t.Helper()
		text := `{"type":"authorized_user","client_id":"c","client_secret":"the-client-secret","refresh_token":"` + refresh + `","token_uri":"http://127.0.0.1:1/token"}`
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	named := filepath.Join(home, "named.json")
	write(named, "refresh-of-named")
	write(filepath.Join(gcloud, "application_default_credentials.json"), "refresh-of-gcloud")
	large, pipe := filepath.Join(home, "large.json"), home
	if err := os.WriteFile(large, make([]byte, maxCredentials+1), 0o600); err != nil {
		t.Fatal(err)
	}
	key := filepath.Join(home, "id_rsa")
	if err := os.WriteFile(key, []byte("-----BEGIN KEY-----\n"+secretKey), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		env    env
		err    string
		hidden string // a secret that must have been told
	}{
		"named":            {env{credentialsVariable: named, variable: home}, "", "refresh-of-named"},
		"relative":         {env{credentialsVariable: "named.json"}, "", "refresh-of-named"},
		"gcloud's":         {env{variable: home}, "", "refresh-of-gcloud"},
		"gcloud's, faked":  {env{variable: inFile + home}, "", ""}, // a file does not say where home is
		"the machine's":    {env{}, "", ""},
		"missing":          {env{credentialsVariable: filepath.Join(home, "none.json")}, "GOOGLE_APPLICATION_CREDENTIALS names ", ""},
		"too large":        {env{credentialsVariable: large}, "larger than 64 KiB", ""},
		"not a file":       {env{credentialsVariable: pipe}, "not a regular file", ""},
		"something secret": {env{credentialsVariable: inFile + key}, "is not one of Google Cloud", ""},
	} {
		t.Run(name, func(t *testing.T) {
			whole := enough("google-vertex")
			for name, value := range c.env {
				whole[name] = value
			}
			choice := whole.choose("google-vertex", "gemini-2.5-pro")
			choice.Dir = home
			hidden := map[string]string{}
			choice.Hide = func(name, value string) { hidden[name] = value }
			_, err := open(t, choice)
			expect(t, err, c.err)
			if hidden["refresh_token"] != c.hidden || (hidden["client_secret"] != "") != (c.hidden != "") {
				t.Errorf("hidden: %v", hidden)
			}
		})
	}
}

// A machine of Google Cloud gives tokens itself; where that is, only the user says.
func TestMetadataServer(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Metadata-Flavor", "Google")
		w.Write([]byte(`{"access_token":"ya29.metadata","expires_in":3600,"token_type":"Bearer"}`))
	}))
	defer server.Close()
	host := strings.TrimPrefix(server.URL, "http://")
	requests := asked(t, func(root string) Config {
		return enough("google-vertex").with("GCE_METADATA_HOST", host, "GOOGLE_VERTEX_BASE_URL", root+"/v1beta1/projects/p").choose("google-vertex", "gemini-2.5-pro")
	})
	if len(requests) == 0 || requests[0].Header.Get("Authorization") != "Bearer ya29.metadata" {
		t.Errorf("%v", requests)
	}
	o := &opening{Config: enough("google-vertex").with("GCE_METADATA_HOST", inFile+host).choose("google-vertex", "m")}
	if got := o.users("GCE_METADATA_HOST"); got != "" {
		t.Errorf("an env file says where tokens come from: %s", got)
	}
}

// A provider behind an authority of its own is reached once the user names it, and not
// before.
func TestExtraAuthorities(t *testing.T) {
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/x-ndjson")
		w.Write([]byte(`{"model":"m","message":{"role":"assistant","content":"hello"},"done":true,"done_reason":"stop","prompt_eval_count":1,"eval_count":1}` + "\n"))
	}))
	server.Config.ErrorLog = log.New(io.Discard, "", 0) // it complains about who does not trust it
	defer server.Close()
	dir := t.TempDir()
	write := func(name string, data []byte) string {
		t.Helper()
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	certificate := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	good := write("ca.pem", append([]byte("a comment\n"), certificate...))
	for name, c := range map[string]struct{ path, open, ask string }{
		"none":        {"", "", "certificate"},
		"the right":   {good, "", ""},
		"relative":    {"ca.pem", "", ""},
		"missing":     {"none.pem", "PERSTACK_CA_CERTS names none.pem, which cannot be read: ", ""},
		"no PEM":      {write("text.pem", []byte("hello")), "which holds no certificate", ""},
		"another PEM": {write("key.pem", []byte("-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n")), "which holds no certificate", ""},
		"broken":      {write("bad.pem", []byte("-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n")), "whose certificate number 1 cannot be read", ""},
		"a directory": {dir, "not a regular file", ""},
	} {
		t.Run(name, func(t *testing.T) {
			choice := env{"OLLAMA_BASE_URL": server.URL, rootsVariable: c.path}.choose("ollama", "gpt-oss:20b")
			choice.Dir = dir
			m, err := Open(choice)
			expect(t, err, c.open)
			if err == nil {
				expect(t, ask(t, m), c.ask)
			}
		})
	}
}

// With a proxy named, requests go through it; the environment's own is the fallback.
func TestProxy(t *testing.T) {
	var connects []string
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		connects = append(connects, r.Method+" "+r.Host)
		w.WriteHeader(http.StatusForbidden)
	}))
	m, err := Open(enough("openai").with(proxyVariable, proxy.URL).choose("openai", "gpt-5"))
	if err != nil {
		t.Fatal(err)
	}
	err = ask(t, m)
	proxy.Close()
	if err == nil || len(connects) == 0 || connects[0] != "CONNECT api.openai.com:443" {
		t.Errorf("%v, %q", err, connects)
	}
}

// The addresses that follow from a resource, a region, or a project.
func TestComputedAddresses(t *testing.T) {
	for _, c := range []struct {
		provider string
		env      env
		want     string
	}{
		{"azure-openai", env{"AZURE_API_KEY": "k", "AZURE_RESOURCE_NAME": "mine"}, "CONNECT mine.openai.azure.com:443"},
		{"amazon-bedrock", enough("amazon-bedrock").with("AWS_REGION", "eu-central-1"), "CONNECT bedrock-runtime.eu-central-1.amazonaws.com:443"},
		{"google-vertex", enough("google-vertex"), "CONNECT us-central1-aiplatform.googleapis.com:443"},
		{"google-vertex", enough("google-vertex").with("GOOGLE_VERTEX_LOCATION", "global"), "CONNECT aiplatform.googleapis.com:443"},
		{"google-vertex", enough("google-vertex").with("GOOGLE_VERTEX_LOCATION", "eu"), "CONNECT aiplatform.eu.rep.googleapis.com:443"},
		{"deepseek", enough("deepseek"), "CONNECT api.deepseek.com:443"},
		{"google", enough("google"), "CONNECT generativelanguage.googleapis.com:443"},
	} {
		var connects []string
		proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path != "" && r.Method == http.MethodGet { // of the metadata server
				w.Header().Set("Metadata-Flavor", "Google")
				w.Write([]byte(`{"access_token":"t","expires_in":3600}`))
				return
			}
			connects = append(connects, r.Method+" "+r.Host)
			w.WriteHeader(http.StatusForbidden)
		}))
		name := model.DefaultModel(c.provider)
		if name == "" {
			name = "gpt-5"
		}
		c.env["GCE_METADATA_HOST"], c.env[proxyVariable] = strings.TrimPrefix(proxy.URL, "http://"), proxy.URL
		m, err := Open(c.env.choose(c.provider, name))
		if err != nil {
			t.Fatal(err)
		}
		err = ask(t, m)
		proxy.Close()
		if err == nil || len(connects) == 0 || connects[0] != c.want {
			t.Errorf("%s: %v, %q, want %s", c.provider, err, connects, c.want)
		}
	}
}
