package providers_test

import (
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/perstack-go/perstack/expert"
	"github.com/perstack-go/perstack/internal/providers"
	"github.com/perstack-go/perstack/internal/testkit/llm"
	"github.com/perstack-go/perstack/internal/testkit/llm/converse"
	"github.com/perstack-go/perstack/internal/testkit/llm/gemini"
	"github.com/perstack-go/perstack/model"
)

// The canaries are set beside whatever a provider needs, and needed by none that is
// tested with them.
var canaries = map[string]string{
	"GITHUB_TOKEN": "canary", "PERSTACK_API_KEY": "canary", "SSH_AUTH_SOCK": "canary", "PATH": "canary", "NPM_TOKEN": "canary",
	"ANTHROPIC_API_KEY": "canary", "OPENAI_API_KEY": "canary", "GOOGLE_GENERATIVE_AI_API_KEY": "canary", "DEEPSEEK_API_KEY": "canary",
	"AZURE_API_KEY": "canary", "AWS_ACCESS_KEY_ID": "canary", "AWS_SECRET_ACCESS_KEY": "canary", "AWS_SESSION_TOKEN": "canary",
	"AWS_BEARER_TOKEN_BEDROCK": "canary", "GOOGLE_APPLICATION_CREDENTIALS": "canary", "AWS_PROFILE": "canary",
}

// A containerCase is a model that is packed here and opened in a container.
type containerCase struct {
	provider, model string
	env             map[string]string
	setting         expert.Setting
	files           map[string][]byte // below the directory that paths start from
	home            string            // where home is, below that; "" for no home
	urls            []string
}

const (
	googleTokens = "https://oauth2.googleapis.com"
	bedrockModel = "anthropic.claude-sonnet-4-5-20250929-v1:0"
)

func containerCases() map[string]containerCase {
	vertex := func(more ...string) map[string]string {
		env := map[string]string{"GOOGLE_VERTEX_PROJECT": "p", "GOOGLE_VERTEX_LOCATION": "europe-west1"}
		for i := 0; i < len(more); i += 2 {
			env[more[i]] = more[i+1]
		}
		return env
	}
	keys := func(more ...string) map[string]string {
		env := map[string]string{"AWS_ACCESS_KEY_ID": "AKIDTEST", "AWS_SECRET_ACCESS_KEY": llm.Key}
		for i := 0; i < len(more); i += 2 {
			env[more[i]] = more[i+1]
		}
		return env
	}
	gcloud := filepath.Join("home", ".config", "gcloud", "application_default_credentials.json")
	if runtime.GOOS == "windows" {
		gcloud = filepath.Join("home", "gcloud", "application_default_credentials.json")
	}
	return map[string]containerCase{
		"anthropic": {
			provider: "anthropic", model: "claude-sonnet-4-5", env: map[string]string{"ANTHROPIC_API_KEY": llm.Key},
			urls: []string{"https://api.anthropic.com"},
		},
		"anthropic, gateway of a variable": {
			provider: "anthropic", model: "claude-sonnet-4-5", env: map[string]string{"ANTHROPIC_API_KEY": llm.Key, "ANTHROPIC_BASE_URL": "https://Gateway.example.com/v1"},
			urls: []string{"https://gateway.example.com"},
		},
		"anthropic, gateway of the file": {
			provider: "anthropic", model: "claude-sonnet-4-5", env: map[string]string{"ANTHROPIC_API_KEY": llm.Key},
			setting: expert.Setting{BaseURL: "https://gateway.example.com:443/v1"}, urls: []string{"https://gateway.example.com"},
		},
		"openai": {
			provider: "openai", model: "gpt-5", env: map[string]string{"OPENAI_API_KEY": llm.Key, "OPENAI_ORGANIZATION": "org"},
			urls: []string{"https://api.openai.com"},
		},
		"google": {
			provider: "google", model: "gemini-2.5-pro", env: map[string]string{"GEMINI_API_KEY": llm.Key},
			urls: []string{"https://generativelanguage.googleapis.com"},
		},
		"deepseek": {
			provider: "deepseek", model: "deepseek-chat", env: map[string]string{"DEEPSEEK_API_KEY": llm.Key},
			urls: []string{"https://api.deepseek.com"},
		},
		"compatible": {
			provider: "openai-compatible", model: "qwen3", env: map[string]string{"OPENAI_COMPATIBLE_API_KEY": llm.Key, "OPENAI_COMPATIBLE_BASE_URL": "https://models.example.com/compatible/v1"},
			urls: []string{"https://models.example.com"},
		},
		"ollama": {
			provider: "ollama", model: "gpt-oss:20b", env: map[string]string{"OLLAMA_BASE_URL": "https://ollama.example.com"},
			urls: []string{"https://ollama.example.com"},
		},
		"azure, resource of a variable": {
			provider: "azure-openai", model: "gpt-5", env: map[string]string{"AZURE_API_KEY": llm.Key, "AZURE_RESOURCE_NAME": "mine"},
			urls: []string{"https://mine.openai.azure.com"},
		},
		"azure, resource of the file, deployment": {
			provider: "azure-openai", model: "gpt-5", env: map[string]string{"AZURE_OPENAI_API_KEY": llm.Key, "AZURE_API_VERSION": "2025-04-01-preview"},
			setting: expert.Setting{ResourceName: "theirs", UseDeploymentBasedURLs: true}, urls: []string{"https://theirs.openai.azure.com"},
		},
		"azure, base URL": {
			provider: "azure-openai", model: "gpt-5", env: map[string]string{"AZURE_API_KEY": llm.Key, "AZURE_BASE_URL": "https://models.example.com/openai"},
			urls: []string{"https://models.example.com"},
		},
		"bedrock, region of a variable": {
			provider: "amazon-bedrock", model: bedrockModel, env: keys("AWS_REGION", "eu-central-1"),
			urls: []string{"https://bedrock-runtime.eu-central-1.amazonaws.com"},
		},
		"bedrock, session, region of the file": {
			provider: "amazon-bedrock", model: bedrockModel, env: keys("AWS_SESSION_TOKEN", converse.SessionToken),
			setting: expert.Setting{Region: "cn-north-1"}, urls: []string{"https://bedrock-runtime.cn-north-1.amazonaws.com.cn"},
		},
		"bedrock, bearer, endpoint": {
			provider: "amazon-bedrock", model: bedrockModel,
			env:  map[string]string{"AWS_BEARER_TOKEN_BEDROCK": llm.Key, "AWS_DEFAULT_REGION": "eu-west-1", "AWS_ENDPOINT_URL_BEDROCK_RUNTIME": "https://vpce.example.com"},
			urls: []string{"https://vpce.example.com"},
		},
		"vertex, service account": {
			provider: "google-vertex", model: "gemini-2.5-pro", env: vertex("GOOGLE_APPLICATION_CREDENTIALS", "account.json"),
			files: map[string][]byte{"account.json": gemini.ServiceAccount(googleTokens, llm.Key)},
			urls:  []string{"https://europe-west1-aiplatform.googleapis.com", googleTokens},
		},
		"vertex, tokens from elsewhere": {
			provider: "google-vertex", model: "gemini-2.5-pro", env: vertex("GOOGLE_APPLICATION_CREDENTIALS", "account.json", "GOOGLE_VERTEX_LOCATION", "global"),
			files: map[string][]byte{"account.json": gemini.ServiceAccount("https://tokens.example.com", llm.Key)},
			urls:  []string{"https://aiplatform.googleapis.com", "https://tokens.example.com"},
		},
		"vertex, gcloud's": {
			provider: "google-vertex", model: "gemini-2.5-pro", env: vertex("GOOGLE_VERTEX_LOCATION", "eu"), home: "home",
			files: map[string][]byte{gcloud: gemini.AuthorizedUser(googleTokens, llm.Key)},
			urls:  []string{"https://aiplatform.eu.rep.googleapis.com", googleTokens},
		},
		"replay": {
			provider: "replay", model: "replay", setting: expert.Setting{Cassette: "tape.toml"},
			files: map[string][]byte{"tape.toml": []byte("[[turn]]\ntext = \"ok\"\n")},
		},
	}
}

// pack packs a model in a place that has all sorts of things, and then is no more.
func (m containerCase) pack(t *testing.T, roots []byte, upstream string) (*providers.Bundle, providers.Config) {
	t.Helper()
	dir := t.TempDir()
	write := func(name string, data []byte) {
		t.Helper()
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for name, data := range m.files {
		write(name, data)
	}
	env := maps.Clone(canaries)
	for _, name := range model.KeyEnv(m.provider) {
		delete(env, name)
	}
	maps.Copy(env, m.env)
	if m.home != "" {
		env["HOME"], env["APPDATA"] = filepath.Join(dir, m.home), filepath.Join(dir, m.home)
	}
	env["PERSTACK_PROXY_URL"] = upstream
	if roots != nil {
		write("ca.pem", roots)
		env["PERSTACK_CA_CERTS"] = "ca.pem"
	}
	c := providers.Config{Provider: m.provider, Model: m.model, Setting: m.setting}
	if c.Setting.Cassette != "" {
		c.Setting.Cassette = filepath.Join(dir, c.Setting.Cassette)
	}
	here := c
	here.Dir, here.Variables = dir, func(name string) providers.Variable { return providers.Variable{Value: env[name]} }
	p, err := providers.Pack(here, []*expert.Expert{{Key: "a"}, {Key: "b"}})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	return p, c
}
