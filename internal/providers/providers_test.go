package providers

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/perstack-go/perstack/expert"
	"github.com/perstack-go/perstack/model"
)

// secretKey is the key that no error may show.
const secretKey = "sk-test-9fKx2LmQ8vTz4Wb7"

// env is the environment of a test, with the variables of an env file.
type env map[string]string

const inFile = "file:" // before the value of a variable: it comes from .env

func (e env) choose(provider, model string) Config {
	return Config{
		Provider: provider, Model: model, Expert: &expert.Expert{},
		Variables: func(name string) Variable {
			if value, ok := strings.CutPrefix(e[name], inFile); ok {
				return Variable{value, ".env"}
			}
			return Variable{Value: e[name]}
		},
	}
}

// with returns the environment with more variables, given as name and value in turn.
func (e env) with(pairs ...string) env {
	out := env{}
	for name, value := range e {
		out[name] = value
	}
	for i := 0; i < len(pairs); i += 2 {
		out[pairs[i]] = pairs[i+1]
	}
	return out
}

// enough is what each provider needs at least.
func enough(provider string) env {
	switch provider {
	case "anthropic":
		return env{"ANTHROPIC_API_KEY": secretKey}
	case "google":
		return env{"GOOGLE_GENERATIVE_AI_API_KEY": secretKey}
	case "openai":
		return env{"OPENAI_API_KEY": secretKey}
	case "azure-openai":
		return env{"AZURE_API_KEY": secretKey, "AZURE_RESOURCE_NAME": "mine"}
	case "amazon-bedrock":
		return env{"AWS_ACCESS_KEY_ID": "AKID", "AWS_SECRET_ACCESS_KEY": secretKey, "AWS_REGION": "us-east-1"}
	case "google-vertex":
		return env{"GOOGLE_VERTEX_PROJECT": "p", "GOOGLE_VERTEX_LOCATION": "us-central1"}
	case "deepseek":
		return env{"DEEPSEEK_API_KEY": secretKey}
	case "openai-compatible":
		return env{"OPENAI_COMPATIBLE_BASE_URL": "http://127.0.0.1:8000/v1"}
	}
	return env{}
}

// open opens a model and returns the error, and what was said besides.
func open(t *testing.T, c Config) (warnings []string, err error) {
	t.Helper()
	c.Warn = func(message string) { warnings = append(warnings, message) }
	m, err := Open(c)
	if (m == nil) != (err != nil) {
		t.Errorf("%v, %v", m, err)
	}
	for _, text := range append(slices.Clone(warnings), errorText(err)) {
		if strings.Contains(text, secretKey) || strings.Contains(text, "\n") {
			t.Errorf("a secret or a second line: %q", text)
		}
	}
	return warnings, err
}

func errorText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// expect compares an error; an empty want is none.
func expect(t *testing.T, err error, want string) {
	t.Helper()
	if got := errorText(err); got == "" && want != "" || got != "" && want == "" || !strings.Contains(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}

// With its key, its default model and nothing else, every provider opens without a word.
func TestOpenWithDefaults(t *testing.T) {
	for _, provider := range model.Providers() {
		name := model.DefaultModel(provider)
		if provider == "replay" {
			continue
		}
		if provider == "azure-openai" {
			name = "gpt-5"
		}
		config := enough(provider).choose(provider, name)
		if provider == "openai-compatible" { // which has no models of its own
			config.Model, config.Entry.ContextWindow = "qwen3", 32_768
		}
		warnings, err := open(t, config)
		if err != nil || len(warnings) > 0 {
			t.Errorf("%s: %v, %q", provider, err, warnings)
		}
	}
}

// What is missing or wrong shows when the model is opened, with the way out.
func TestOpen(t *testing.T) {
	set := func(c Config, s expert.Setting) Config { c.Setting = s; return c }
	from := func(provider string, pairs ...string) Config {
		name := model.DefaultModel(provider)
		if name == "" {
			name = "gpt-5"
		}
		return enough(provider).with(pairs...).choose(provider, name)
	}
	notSet := " is not set; set it in the environment or in .env"
	tools := from("anthropic")
	tools.Expert = &expert.Expert{ProviderTools: []string{"webSerch"}}
	for name, c := range map[string]struct {
		choice Config
		want   string // in the error; empty: none
	}{
		"anthropic without a key":       {from("anthropic", "ANTHROPIC_API_KEY", ""), "anthropic: ANTHROPIC_API_KEY" + notSet},
		"google without a key":          {from("google", "GOOGLE_GENERATIVE_AI_API_KEY", ""), "google: GOOGLE_GENERATIVE_AI_API_KEY" + notSet},
		"openai without a key":          {from("openai", "OPENAI_API_KEY", ""), "openai: OPENAI_API_KEY" + notSet},
		"azure without a key":           {from("azure-openai", "AZURE_API_KEY", ""), "azure-openai: AZURE_API_KEY" + notSet},
		"azure without all":             {env{}.choose("azure-openai", "gpt-5"), "azure-openai: AZURE_API_KEY and AZURE_RESOURCE_NAME or baseUrl are not set; set them"},
		"vertex without all":            {env{}.choose("google-vertex", "gemini-2.5-pro"), "google-vertex: GOOGLE_VERTEX_PROJECT and GOOGLE_VERTEX_LOCATION are not set; set them in the environment or in .env, or write project and location into [provider.setting]"},
		"azure without a place":         {from("azure-openai", "AZURE_RESOURCE_NAME", ""), "azure-openai: AZURE_RESOURCE_NAME or baseUrl is not set;"},
		"compatible without a key":      {from("openai-compatible"), ""},
		"compatible with a key":         {from("openai-compatible", "OPENAI_COMPATIBLE_API_KEY", secretKey), ""},
		"compatible without an address": {from("openai-compatible", "OPENAI_COMPATIBLE_BASE_URL", ""), "openai-compatible: no address: set baseUrl in [provider.setting] or OPENAI_COMPATIBLE_BASE_URL, like http://127.0.0.1:8000/v1"},
		"compatible without a model":    {enough("openai-compatible").choose("openai-compatible", ""), "openai-compatible: no model is named"},
		"compatible in the network":     {from("openai-compatible", "OPENAI_COMPATIBLE_BASE_URL", "http://192.168.1.5:8000/v1"), ""},
		"compatible in the clear":       {from("openai-compatible", "OPENAI_COMPATIBLE_BASE_URL", "http://192.168.1.5:8000/v1", "OPENAI_COMPATIBLE_API_KEY", secretKey), "is not https"},
		"compatible, address of a file": {from("openai-compatible", "OPENAI_COMPATIBLE_BASE_URL", inFile+"https://gw.example/v1", "OPENAI_COMPATIBLE_API_KEY", secretKey), "does not say where your key goes"},
		"deepseek without a key":        {from("deepseek", "DEEPSEEK_API_KEY", ""), "deepseek: DEEPSEEK_API_KEY" + notSet},
		"bedrock without all":           {env{}.choose("amazon-bedrock", "amazon.nova-pro-v1:0"), "amazon-bedrock: AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and AWS_REGION are not set; set them in the environment or in .env, or set AWS_BEARER_TOKEN_BEDROCK instead of a key, or write region"},
		"bedrock without secret":        {from("amazon-bedrock", "AWS_SECRET_ACCESS_KEY", ""), "amazon-bedrock: AWS_SECRET_ACCESS_KEY" + notSet},
		"bedrock without region":        {from("amazon-bedrock", "AWS_REGION", ""), "amazon-bedrock: AWS_REGION" + notSet},
		"bedrock, other region":         {from("amazon-bedrock", "AWS_REGION", "", "AWS_DEFAULT_REGION", "eu-west-1"), ""},
		"bedrock, set region":           {set(from("amazon-bedrock", "AWS_REGION", ""), expert.Setting{Region: "eu-west-1"}), ""},
		"bedrock, odd region":           {from("amazon-bedrock", "AWS_REGION", "evil.example/"), "amazon-bedrock: AWS_REGION becomes part of a host name"},
		"bedrock by token":              {env{"AWS_BEARER_TOKEN_BEDROCK": secretKey, "AWS_REGION": "us-east-1"}.choose("amazon-bedrock", "amazon.nova-pro-v1:0"), ""},
		"vertex without project":        {from("google-vertex", "GOOGLE_VERTEX_PROJECT", ""), "google-vertex: GOOGLE_VERTEX_PROJECT" + notSet},
		"vertex without location":       {from("google-vertex", "GOOGLE_VERTEX_LOCATION", ""), "google-vertex: GOOGLE_VERTEX_LOCATION" + notSet},
		"vertex, cloud's names":         {env{"GOOGLE_CLOUD_PROJECT": "p", "GOOGLE_CLOUD_LOCATION": "global"}.choose("google-vertex", "gemini-2.5-pro"), ""},
		"vertex, odd location":          {from("google-vertex", "GOOGLE_VERTEX_LOCATION", "evil.example/"), "google-vertex: GOOGLE_VERTEX_LOCATION becomes part of a host name"},
		"vertex, odd project":           {from("google-vertex", "GOOGLE_VERTEX_PROJECT", "p/../q"), "GOOGLE_VERTEX_PROJECT is not the id of a project"},
		"vertex, domain project":        {from("google-vertex", "GOOGLE_VERTEX_PROJECT", "example.com:p-1"), ""},
		"azure, odd resource":           {from("azure-openai", "AZURE_RESOURCE_NAME", "evil.example/"), "azure-openai: AZURE_RESOURCE_NAME becomes part of a host name"},
		"azure without model":           {enough("azure-openai").choose("azure-openai", ""), "azure-openai: no deployment is named"},
		"no model":                      {enough("anthropic").choose("anthropic", ""), "no model is named"},
		"ollama needs nothing":          {from("ollama"), ""},
		"a key with a line end":         {from("anthropic", "ANTHROPIC_API_KEY", "a\nb"), "check ANTHROPIC_API_KEY"},

		"local base URL":            {from("anthropic", "ANTHROPIC_BASE_URL", "http://127.0.0.1:1/v1"), ""},
		"plain base URL":            {from("anthropic", "ANTHROPIC_BASE_URL", "http://example.com/v1"), "anthropic: ANTHROPIC_BASE_URL must use https; plain http is accepted for localhost only"},
		"no URL":                    {from("openai", "OPENAI_BASE_URL", "gateway"), "openai: OPENAI_BASE_URL is not a URL"},
		"password in the URL":       {from("deepseek", "DEEPSEEK_BASE_URL", "https://me:"+secretKey+"@gw.example"), "DEEPSEEK_BASE_URL must not contain a user name or password"},
		"private base URL":          {from("openai", "OPENAI_BASE_URL", "https://10.0.0.7/v1"), ""}, // the user says so
		"private one of a file":     {from("openai", "OPENAI_API_KEY", inFile+"k", "OPENAI_BASE_URL", inFile+"https://10.0.0.7/v1"), "OPENAI_BASE_URL is a private address"},
		"setting before variable":   {set(from("anthropic", "ANTHROPIC_BASE_URL", "https://b.example"), expert.Setting{BaseURL: "http://a.example"}), "a.example is not https"},
		"endpoint of bedrock":       {from("amazon-bedrock", "AWS_ENDPOINT_URL_BEDROCK_RUNTIME", "http://vpce.example"), "AWS_ENDPOINT_URL_BEDROCK_RUNTIME must use https"},
		"bad proxy":                 {from("anthropic", "PERSTACK_PROXY_URL", "::"), "PERSTACK_PROXY_URL is not a URL"},
		"proxy without a scheme":    {from("anthropic", "PERSTACK_PROXY_URL", "me:"+secretKey+"@proxy:3128"), "PERSTACK_PROXY_URL is not a URL"},
		"unknown tool":              {tools, "webSerch"},
		"member of our own":         {set(from("openai"), expert.Setting{ExtraBody: map[string]jsonValue{"input": jsonValue("1")}}), `extraBody cannot set "input"`},
		"member of theirs":          {set(from("openai"), expert.Setting{ExtraBody: map[string]jsonValue{"service_tier": jsonValue(`"flex"`)}}), ""},
		"replay without a cassette": {from("replay"), "needs a cassette"},
		"replay with a missing one": {set(from("replay"), expert.Setting{Cassette: "nope.toml"}), "nope.toml"},
		"unknown provider":          {env{}.choose("opnai", "m"), `provider "opnai" is unknown`},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := open(t, c.choice)
			expect(t, err, c.want)
		})
	}
	if _, err := Open(Config{Provider: "ollama", Model: "gpt-oss:20b"}); err != nil {
		t.Errorf("without an environment: %v", err)
	}
}

// An env file may have come with a repository: it does not redirect what is the user's,
// nor does it take its place, and where it leads the user is told.
func TestEnvFilesDoNotRedirect(t *testing.T) {
	const gateway, both = "https://gateway.example/v1", "set both in that file, or both in your environment"
	dir := t.TempDir()
	file := filepath.Join(dir, "key.json")
	if err := os.WriteFile(file, []byte(`{"type":"authorized_user","client_id":"c","client_secret":"s","refresh_token":"r"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		provider string
		env      env
		err      string
		warning  string
	}{
		"base URL":                      {"anthropic", env{"ANTHROPIC_BASE_URL": inFile + gateway}, "ANTHROPIC_BASE_URL is set in .env, but ANTHROPIC_API_KEY is not: a file that may have come with a repository does not say where your key goes; " + both, ""},
		"base URL of openai":            {"openai", env{"OPENAI_BASE_URL": inFile + gateway}, both, ""},
		"base URL of google":            {"google", env{"GOOGLE_GENERATIVE_AI_BASE_URL": inFile + gateway}, both, ""},
		"base URL of deepseek":          {"deepseek", env{"DEEPSEEK_BASE_URL": inFile + gateway}, both, ""},
		"base URL of azure":             {"azure-openai", env{"AZURE_BASE_URL": inFile + gateway}, both, ""},
		"resource of azure":             {"azure-openai", env{"AZURE_RESOURCE_NAME": inFile + "evil"}, "AZURE_RESOURCE_NAME is set in .env, but AZURE_API_KEY is not", ""},
		"endpoint of bedrock":           {"amazon-bedrock", env{"AWS_ENDPOINT_URL_BEDROCK_RUNTIME": inFile + gateway}, both, ""},
		"endpoint, one key of the file": {"amazon-bedrock", env{"AWS_ENDPOINT_URL_BEDROCK_RUNTIME": inFile + gateway, "AWS_ACCESS_KEY_ID": inFile + "a"}, "but AWS_SECRET_ACCESS_KEY is not", ""},
		"endpoint, token of the user":   {"amazon-bedrock", env{"AWS_ENDPOINT_URL_BEDROCK_RUNTIME": inFile + gateway, "AWS_BEARER_TOKEN_BEDROCK": "token-of-the-user"}, "but AWS_BEARER_TOKEN_BEDROCK is not", ""},
		"base URL of vertex":            {"google-vertex", env{"GOOGLE_VERTEX_BASE_URL": inFile + gateway}, "GOOGLE_VERTEX_BASE_URL is set in .env, which may have come with a repository; set it in your environment", ""},
		"base URL and credentials":      {"google-vertex", env{"GOOGLE_VERTEX_BASE_URL": inFile + gateway, "GOOGLE_APPLICATION_CREDENTIALS": inFile + file}, "GOOGLE_VERTEX_BASE_URL is set in .env", ""},
		"proxy":                         {"anthropic", env{"PERSTACK_PROXY_URL": inFile + "http://p.example"}, "PERSTACK_PROXY_URL is set in .env", ""},
		"authorities":                   {"ollama", env{"PERSTACK_CA_CERTS": inFile + "ca.pem"}, "PERSTACK_CA_CERTS is set in .env", ""},

		"base URL and key of one file": {"anthropic", env{"ANTHROPIC_BASE_URL": inFile + gateway, "ANTHROPIC_API_KEY": inFile + "k"}, "", "what the Expert sees goes to " + gateway + ", as .env says"},
		"key of a file":                {"anthropic", env{"ANTHROPIC_BASE_URL": gateway, "ANTHROPIC_API_KEY": inFile + "k"}, "", ""},
		"ollama elsewhere":             {"ollama", env{"OLLAMA_BASE_URL": inFile + "https://gpu.example"}, "", "what the Expert sees goes to https://gpu.example, as .env says"},
		"ollama here":                  {"ollama", env{"OLLAMA_BASE_URL": inFile + "http://localhost:11434"}, "", "what the Expert sees goes to http://localhost:11434, as .env says"},
		"region":                       {"amazon-bedrock", env{"AWS_REGION": inFile + "eu-west-1"}, "", ""},
		"project":                      {"google-vertex", env{"GOOGLE_VERTEX_PROJECT": inFile + "evil"}, "", "what the Expert sees goes to the Google Cloud project evil, as .env says"},
		"location":                     {"google-vertex", env{"GOOGLE_VERTEX_LOCATION": inFile + "europe-west1"}, "", ""},
		"credentials":                  {"google-vertex", env{"GOOGLE_APPLICATION_CREDENTIALS": inFile + file}, "", ""},
		"resource and key of one file": {"azure-openai", env{"AZURE_RESOURCE_NAME": inFile + "theirs", "AZURE_API_KEY": inFile + "k"}, "", "what the Expert sees goes to https://theirs.openai.azure.com/openai, as .env says"},
	} {
		t.Run(name, func(t *testing.T) {
			environment := enough(c.provider)
			for name, value := range c.env {
				environment[name] = value
			}
			name := model.DefaultModel(c.provider)
			if name == "" {
				name = "gpt-5"
			}
			warnings, err := open(t, environment.choose(c.provider, name))
			expect(t, err, c.err)
			if got := strings.Join(warnings, "\n"); err == nil && got != c.warning {
				t.Errorf("warnings %q, want %q", got, c.warning)
			}
		})
	}
	// Where the file of the project names the address, its variable does not matter.
	c := enough("anthropic").with("ANTHROPIC_BASE_URL", inFile+gateway).choose("anthropic", "claude-sonnet-4-5")
	c.Setting.BaseURL = "https://a.example"
	if _, err := open(t, c); err != nil {
		t.Error(err)
	}
}

// A user who runs another person's perstack.toml is told where it sends what the Expert sees.
func TestFileDestinationsAreTold(t *testing.T) {
	for provider, c := range map[string]struct {
		setting expert.Setting
		want    string
	}{
		"anthropic":      {expert.Setting{BaseURL: "https://gw.example/v1"}, "what the Expert sees and your key go to https://gw.example/v1, as /x/perstack.toml says"},
		"ollama":         {expert.Setting{BaseURL: "https://gw.example"}, "what the Expert sees goes to https://gw.example, as /x/perstack.toml says"},
		"azure-openai":   {expert.Setting{ResourceName: "theirs"}, "what the Expert sees and your key go to https://theirs.openai.azure.com/openai, as /x/perstack.toml says"},
		"amazon-bedrock": {expert.Setting{BaseURL: "https://gw.example"}, "what the Expert sees and your key go to https://gw.example, as /x/perstack.toml says"},
		"google-vertex":  {expert.Setting{Project: "theirs"}, "what the Expert sees goes to the Google Cloud project theirs, as /x/perstack.toml says"},
		"openai":         {expert.Setting{Organization: "o", Project: "p"}, ""}, // the key says whose it is
	} {
		name := model.DefaultModel(provider)
		if name == "" {
			name = "gpt-5"
		}
		choice := enough(provider).choose(provider, name)
		choice.Setting, choice.File = c.setting, "/x/perstack.toml"
		warnings, err := open(t, choice)
		if got := strings.Join(warnings, "\n"); err != nil || got != c.want {
			t.Errorf("%s: %v, %q", provider, err, got)
		}
	}
}

// A model that the provider cannot have is an error, unless a gateway may have it.
func TestFamilies(t *testing.T) {
	for _, c := range []struct{ provider, model, want string }{
		{"openai", "claude-sonnet-4-5", `openai: the model "claude-sonnet-4-5" is not one of this provider; use the provider anthropic, or another model, such as gpt-5`},
		{"anthropic", "gpt-5", "use the provider openai, or another model, such as claude-sonnet-4-5"},
		{"anthropic", "o3", "use the provider openai"},
		{"anthropic", "us.anthropic.claude-sonnet-4-5-20250929-v1:0", "use the provider amazon-bedrock"},
		{"google", "claude-opus-4-5", "use the provider anthropic"},
		{"google-vertex", "claude-opus-4-5", "use the provider anthropic"},
		{"google-vertex", "gemini-3-pro-preview", ""},
		{"openai", "gemini-2.5-pro", "use the provider google or google-vertex"},
		{"deepseek", "gpt-4o", "use the provider openai"},
		{"openai", "deepseek-chat", "use the provider deepseek"},
		{"amazon-bedrock", "claude-sonnet-4-5", "use the provider anthropic, or another model, such as global.anthropic."},
		{"openai", "o3-mini", ""},
		{"openai", "omni-next", ""},
		{"openai", "ft:gpt-4o:mine", ""},
		{"anthropic", "my-model", ""},
		{"ollama", "gpt-oss:20b", ""},
		{"ollama", "claude-like:7b", ""}, // a local model can have any name
		{"ollama", "deepseek-r1:8b", ""},
		{"azure-openai", "claude-sonnet-4-5", ""}, // the name of a deployment
	} {
		_, err := open(t, enough(c.provider).choose(c.provider, c.model))
		t.Run(c.provider+" "+c.model, func(t *testing.T) { expect(t, err, c.want) })
	}
	_, err := open(t, enough("openai").with("OPENAI_BASE_URL", "https://gw.example/v1").choose("openai", "claude-sonnet-4-5"))
	expect(t, err, "")
}

// What will not be as the user thinks is said once.
func TestModelWarnings(t *testing.T) {
	const unknown = `the model "m" of openai is not in perstack's list, so its context size is unknown; describe it in [models."m"] of perstack.toml`
	for _, c := range []struct {
		provider, model string
		reasoning       expert.ReasoningBudget
		entry           expert.ModelEntry
		want            string
	}{
		{"openai", "gpt-5", "", expert.ModelEntry{}, ""},
		{"openai", "m", "", expert.ModelEntry{}, unknown},
		{"openai", "m", "", expert.ModelEntry{ContextWindow: 1000}, ""},
		{"openai", "gpt5-mimi", "", expert.ModelEntry{}, strings.ReplaceAll(unknown, `"m"`, `"gpt5-mimi"`) + `; did you mean "gpt-5-mini"?`},
		{"azure-openai", "gpt5-mimi", "", expert.ModelEntry{}, strings.ReplaceAll(strings.ReplaceAll(unknown, `"m"`, `"gpt5-mimi"`), "openai", "azure-openai")}, // a deployment
		{"anthropic", "m", "", expert.ModelEntry{}, strings.NewReplacer("openai", "anthropic", "is unknown", "is unknown, and its answers have at most 4096 tokens besides its reasoning").Replace(unknown)},
		{"anthropic", "m", "", expert.ModelEntry{MaxOutputTokens: 9}, strings.ReplaceAll(unknown, "openai", "anthropic")},
		{"openai", "gpt-5-ultra", "", expert.ModelEntry{ContextWindow: 1000}, ""},
		{"openai", "gpt-4o", "", expert.ModelEntry{}, ""}, // reasoning was not requested
		{"openai", "gpt-4o", "low", expert.ModelEntry{}, `the model "gpt-4o" does not think, so a reasoning budget of low has no effect`},
		{"openai", "gpt-4o", "none", expert.ModelEntry{}, ""},
		{"openai", "gpt-4o", "high", expert.ModelEntry{Reasoning: "effort"}, ""},
		{"anthropic", "claude-sonnet-4-5", "500", expert.ModelEntry{}, "a reasoning budget of 500 tokens is less than Claude can be given; it gets 1024"},
		{"anthropic", "claude-sonnet-4-5", "1024", expert.ModelEntry{}, ""},
		{"anthropic", "claude-sonnet-4-5", "0", expert.ModelEntry{}, ""},
		{"amazon-bedrock", "us.anthropic.claude-sonnet-4-5-20250929-v1:0", "1", expert.ModelEntry{}, "a reasoning budget of 1 tokens is less than Claude can be given; it gets 1024"},
		{"google", "gemini-2.5-pro", "500", expert.ModelEntry{}, ""},
	} {
		choice := enough(c.provider).choose(c.provider, c.model)
		choice.Reasoning, choice.Entry = c.reasoning, c.entry
		warnings, err := open(t, choice)
		if got := strings.Join(warnings, "\n"); err != nil || got != c.want {
			t.Errorf("%s %s: %v, %q, want %q", c.provider, c.model, err, got, c.want)
		}
	}
}
