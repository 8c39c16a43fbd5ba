package run

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/perstack-go/perstack/internal/cli/host"
)

// Every secret that a run comes to know is hidden: from the environment and from env
// files, of the provider in use and of others, of skills and of headers. What only looks
// like a setting is not.
func TestHideSecrets(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"perstack.toml": `[provider]
providerName = "anthropic"
[provider.setting.headers]
X-Gateway = "Bearer gw-9fKx2LmQ8vTz4Wb7"
[provider.setting.extraBody]
gateway = { token = "eb-9fKx2LmQ8vTz4Wb4", tier = "standard" }
[experts.writer]
instruction = "Write."
[experts.writer.skills.search]
type = "mcpStdioSkill"
command = "search"
args = ["go"]
requiredEnv = ["SEARCH_ID", "SEARCH_REGION"]
[experts.other]
instruction = "Read."
[experts.other.skills.find]
type = "mcpStdioSkill"
command = "find"
args = ["go"]
requiredEnv = ["FIND_ID"]
[experts.other.skills.far]
type = "mcpHttpSkill"
endpoint = "https://far.example/mcp"
requiredEnv = ["FAR_TOKEN"]
headers = { Authorization = "Bearer ${FAR_TOKEN}", X-Team = "Token tm-9fKx2LmQ8vTz4Wb6" }
`,
		".env":       "ANTHROPIC_API_KEY=file-key-that-lost-1\nOPENAI_API_KEY=\"other-provider-key \"\nSOME_TOKEN=env-file-token-1\nSEARCH_REGION=us-east-1\n",
		".env.local": "SOME_TOKEN=env-file-token-2\nMODE=production\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var stderr bytes.Buffer
	h := &host.Host{Dir: dir, Home: t.TempDir(), Stderr: &stderr, Environ: []string{
		"ANTHROPIC_API_KEY=process-key-that-won", "PERSTACK_API_KEY=registry-key-here", "HTTPS_PROXY=http://me:proxy-password@proxy.example:3128",
		"SEARCH_ID=9fKx2LmQ8vTz4Wb8", "FIND_ID=9fKx2LmQ8vTz4Wb9", "FAR_TOKEN=9fKx2LmQ8vTz4Wb5", "UNRELATED=9fKx2LmQ8vTz4Wb0", "GOOGLE_APPLICATION_CREDENTIALS=/etc/google/credentials.json",
	}}
	opts := &Options{Host: h, Verbose: true}
	loadAll(t, opts, "writer")
	for value, name := range map[string]string{
		"process-key-that-won":         "ANTHROPIC_API_KEY",
		"file-key-that-lost-1":         "ANTHROPIC_API_KEY",
		"other-provider-key":           "OPENAI_API_KEY",
		"registry-key-here":            "PERSTACK_API_KEY",
		"env-file-token-1":             "SOME_TOKEN",
		"env-file-token-2":             "SOME_TOKEN",
		"9fKx2LmQ8vTz4Wb8":             "SEARCH_ID",
		"9fKx2LmQ8vTz4Wb9":             "FIND_ID",
		"gw-9fKx2LmQ8vTz4Wb7":          "X-Gateway",
		"9fKx2LmQ8vTz4Wb5":             "FAR_TOKEN",
		"eb-9fKx2LmQ8vTz4Wb4":          "gateway.token",
		"standard":                     "",
		"tm-9fKx2LmQ8vTz4Wb6":          "X-Team",
		"proxy-password":               "HTTPS_PROXY",
		"9fKx2LmQ8vTz4Wb0":             "",
		"us-east-1":                    "",
		"production":                   "",
		"/etc/google/credentials.json": "",
	} {
		want := "is " + value + "."
		if name != "" {
			want = "is [redacted: " + name + "]."
		}
		if got := h.Secrets.Redact("is " + value + "."); got != want {
			t.Errorf("%s: %q, want %q", value, got, want)
		}
	}
	// The log hides them as well, in text and in attributes.
	stderr.Reset()
	opts.logger().Warn("key process-key-that-won", "value", "registry-key-here", "error", os.ErrNotExist, "list", []string{"env-file-token-1"})
	if got := stderr.String(); strings.Count(got, "[redacted: ") != 3 || !strings.Contains(got, "file does not exist") {
		t.Errorf("log: %s", got)
	}
}
