package run

import (
	"bytes"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"

	"github.com/perstack-go/perstack/engine"
	"github.com/perstack-go/perstack/expert"
	"github.com/perstack-go/perstack/internal/cli/host"
	"github.com/perstack-go/perstack/internal/runtimes"
	"github.com/perstack-go/perstack/model"
)

// The keys of all providers are hidden, whichever is used and wherever they come from.
func TestHideProviderKeys(t *testing.T) {
	dir := t.TempDir()
	var environ []string
	var file strings.Builder
	want := map[string]string{}
	for i, provider := range model.Providers() {
		for j, name := range model.KeyEnv(provider) {
			if name == model.CredentialsEnv {
				continue // it names a file
			}
			value := strings.ToLower(name) + "-9fKx2LmQ8v" + string(rune('a'+i)) + string(rune('a'+j))
			want[value] = name
			if j%2 == 0 {
				environ = append(environ, name+"="+value)
			} else {
				file.WriteString(name + "=" + value + "\n")
			}
		}
	}
	for _, name := range []string{"AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AWS_BEARER_TOKEN_BEDROCK", "AZURE_OPENAI_API_KEY", "GEMINI_API_KEY", "GOOGLE_API_KEY", "DEEPSEEK_API_KEY"} {
		found := false
		for _, other := range want {
			found = found || other == name
		}
		if !found {
			t.Errorf("%s is no key", name)
		}
	}
	for name, text := range map[string]string{"perstack.toml": "[experts.writer]\ninstruction = 'x'", ".env": file.String()} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	h := &host.Host{Dir: dir, Home: t.TempDir(), Stderr: &bytes.Buffer{}, Environ: environ}
	loadAll(t, &Options{Host: h}, "writer")
	for value, name := range want {
		if got := h.Secrets.Redact("is " + value + "."); got != "is [redacted: "+name+"]." {
			t.Errorf("%s: %s", name, got)
		}
	}
}

// What is secret in a credentials file of Google Cloud is hidden, line by line too, and
// no file tool reaches the file.
func TestHideCredentialsFile(t *testing.T) {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	bytesOfKey, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	private := string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: bytesOfKey}))
	credentials, err := json.Marshal(map[string]string{
		"type": "service_account", "client_email": "a@b.example", "private_key": private, "private_key_id": "0f1e2d3c4b5a69788796a5b4c3d2e1f0", "token_uri": "https://oauth2.googleapis.com/token",
	})
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for name, text := range map[string]string{
		"perstack.toml": "[provider]\nproviderName = 'google-vertex'\n[provider.setting]\nproject = 'p'\nlocation = 'global'\n[experts.writer]\ninstruction = 'x'",
		"key.json":      string(credentials),
		".env":          model.CredentialsEnv + "=key.json\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var stderr bytes.Buffer
	h := &host.Host{Dir: dir, Home: t.TempDir(), Stderr: &stderr}
	o := &Options{Host: h}
	p := loadAll(t, o, "writer")
	if !slices.Contains(p.hidden, filepath.Join(dir, "key.json")) {
		t.Errorf("tools can reach it: %q", p.hidden)
	}
	pl, err := makeSpec(t.Context(), o, p, &target{expertKey: "writer"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := runtimes.OpenModel(pl.spec, engine.Parts{Variables: p.variable, Secrets: &h.Secrets, Log: o.logger(), Dir: dir}, nil); err != nil {
		t.Fatal(err)
	}
	if got, want := stderr.String(), "perstack: warning: what the Expert sees goes to the Google Cloud project p, as "+filepath.Join(dir, "perstack.toml")+" says\n"; got != want {
		t.Errorf("got  %q\nwant %q", got, want)
	}
	lines := strings.Split(private, "\n")
	for _, secret := range []string{string(credentials), lines[3], lines[10], "0f1e2d3c4b5a69788796a5b4c3d2e1f0"} {
		if got := h.Secrets.Redact("is " + secret + "."); !strings.Contains(got, "[redacted: ") || strings.Contains(got, lines[3]) || strings.Contains(got, lines[10]) {
			t.Errorf("%s", got)
		}
	}
}

// Without a model, each provider uses its own; what the file says of a model counts.
func TestModelOfProvider(t *testing.T) {
	files := leadOnly("[models.gpt-5]\ncontextWindow = 7000\nmaxOutputTokens = 70\n")
	for provider, want := range map[string]struct {
		model          string
		window, output int
	}{
		"":             {"claude-sonnet-4-5", 200_000, 64_000},
		"openai":       {"gpt-5", 7000, 70},
		"google":       {"gemini-2.5-pro", 1_048_576, 65_536},
		"azure-openai": {"", 0, 0},
		"replay":       {"replay", 0, 0},
	} {
		o := &Options{}
		o.Flags.Provider = provider
		pl, _, err := makePlan(t, proposal{files: files, opts: o})
		if err != nil {
			t.Fatal(err)
		}
		s := pl.spec
		k, _ := model.Lookup(s.Provider, s.Model)
		if k = k.With(s.Models[s.Model]); s.Model != want.model || k.ContextWindow != want.window || k.MaxOutputTokens != want.output {
			t.Errorf("%s: %s, %+v", provider, s.Model, k)
		}
		if !s.ReasoningDefault || s.Reasoning != expert.DefaultReasoningBudget {
			t.Errorf("%s: reasoning %q", provider, s.Reasoning)
		}
	}
}
