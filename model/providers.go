package model

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/perstack-go/perstack/internal/wording"
)

// A Provider is what perstack knows about a provider before it is used. How a provider is
// opened is its row in internal/providers.
type Provider struct {
	Name         string
	DefaultModel string   // "" if only the user can know one
	KeyEnv       []string // variables that hold its secrets, the preferred name first
	BaseURLEnv   string   // variable that names another address
	Settings     []string // keys that its [provider.setting] accepts

	// KeyOptional says that there may be no key. The user may then name an address beyond this
	// machine that is not encrypted.
	KeyOptional bool

	// Timeout is the default time limit of one generation, if it is not the usual one.
	Timeout time.Duration

	Tools    []string // names that providerTools accepts
	ToolHint string   // why none of Tools can be used; "" if they can
	Skills   bool     // it runs providerSkills

	// Catalogue is the provider under which the catalogue lists the models, if they are
	// those of another provider.
	Catalogue string
}

// localTimeout is for models that can run on the user's own machine, where reading a long
// conversation alone can take minutes.
const localTimeout = 30 * time.Minute

// The providers that some code treats specially.
const (
	bedrock = "amazon-bedrock"
	azure   = "azure-openai"
	ollama  = "ollama"
	replay  = "replay"
)

// CredentialsEnv names a file with the key of a Google Cloud account.
const CredentialsEnv = "GOOGLE_APPLICATION_CREDENTIALS"

// providers is the table of facts, one row a provider, in the order of the documentation.
var providers = []Provider{
	{
		Name: "anthropic", DefaultModel: "claude-sonnet-4-5",
		KeyEnv: []string{"ANTHROPIC_API_KEY"}, BaseURLEnv: "ANTHROPIC_BASE_URL",
		Settings: []string{"baseUrl", "headers", "allowPrivateEndpoint", "extraBody"},
		Tools:    []string{"webSearch", "webFetch", "codeExecution"}, Skills: true,
	},
	{
		Name: "google", DefaultModel: "gemini-2.5-pro",
		KeyEnv: []string{"GOOGLE_GENERATIVE_AI_API_KEY", "GEMINI_API_KEY", "GOOGLE_API_KEY"}, BaseURLEnv: "GOOGLE_GENERATIVE_AI_BASE_URL",
		Settings: []string{"baseUrl", "headers", "allowPrivateEndpoint", "extraBody", "safetySettings"},
		Tools:    []string{"googleSearch", "codeExecution", "urlContext", "fileSearch", "googleMaps"},
	},
	{
		Name: "openai", DefaultModel: "gpt-5",
		KeyEnv: []string{"OPENAI_API_KEY"}, BaseURLEnv: "OPENAI_BASE_URL",
		Settings: []string{"baseUrl", "organization", "project", "name", "headers", "allowPrivateEndpoint", "extraBody"},
		Tools:    []string{"webSearch", "fileSearch", "codeInterpreter", "imageGeneration"},
	},
	{
		Name: ollama, DefaultModel: "gpt-oss:20b",
		BaseURLEnv: "OLLAMA_BASE_URL", KeyOptional: true, Timeout: localTimeout,
		Settings: []string{"baseUrl", "headers", "allowPrivateEndpoint", "extraBody"},
	},
	{
		// Its models are the user's own deployments, so there is no default. A deployment
		// that is named like a model of OpenAI is taken to be that model.
		Name:   azure,
		KeyEnv: []string{"AZURE_API_KEY", "AZURE_OPENAI_API_KEY"}, BaseURLEnv: "AZURE_BASE_URL",
		Settings:  []string{"resourceName", "apiVersion", "baseUrl", "headers", "useDeploymentBasedUrls", "allowPrivateEndpoint", "extraBody"},
		Tools:     []string{"webSearchPreview", "fileSearch", "codeInterpreter", "imageGeneration"},
		ToolHint:  "it is asked by Chat Completions, which has none; use openai for them",
		Catalogue: "openai",
	},
	{
		Name: bedrock, DefaultModel: "global.anthropic.claude-sonnet-4-5-20250929-v1:0",
		KeyEnv:     []string{"AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AWS_BEARER_TOKEN_BEDROCK"},
		BaseURLEnv: "AWS_ENDPOINT_URL_BEDROCK_RUNTIME",
		Settings:   []string{"region", "baseUrl", "headers", "allowPrivateEndpoint", "extraBody", "guardrail"},
	},
	{
		Name: "google-vertex", DefaultModel: "gemini-2.5-pro",
		KeyEnv: []string{CredentialsEnv}, BaseURLEnv: "GOOGLE_VERTEX_BASE_URL",
		Settings:  []string{"project", "location", "baseUrl", "headers", "allowPrivateEndpoint", "extraBody", "safetySettings"},
		Tools:     []string{"codeExecution", "urlContext", "googleSearch", "enterpriseWebSearch", "googleMaps"},
		Catalogue: "google",
	},
	{
		Name: "deepseek", DefaultModel: "deepseek-chat",
		KeyEnv: []string{"DEEPSEEK_API_KEY"}, BaseURLEnv: "DEEPSEEK_BASE_URL",
		Settings: []string{"baseUrl", "headers", "allowPrivateEndpoint", "extraBody"},
	},
	{
		// Any server that speaks Chat Completions. Where it is and what it runs, only the user
		// knows; the key may be missing.
		Name:   "openai-compatible",
		KeyEnv: []string{"OPENAI_COMPATIBLE_API_KEY"}, BaseURLEnv: "OPENAI_COMPATIBLE_BASE_URL",
		KeyOptional: true, Timeout: localTimeout,
		Settings: []string{"baseUrl", "headers", "allowPrivateEndpoint", "extraBody"},
	},
	{
		// It plays prepared answers from a file.
		Name: replay, DefaultModel: "replay",
		Settings: []string{"cassette"},
	},
}

// AllProviders returns the whole table. It must not be changed.
func AllProviders() []Provider { return providers }

// Providers returns the names that provider.providerName accepts.
func Providers() []string {
	names := make([]string, len(providers))
	for i := range providers {
		names[i] = providers[i].Name
	}
	return names
}

// ProviderNamed returns the row of a provider; a zero one if there is no such provider.
func ProviderNamed(name string) Provider {
	for i := range providers {
		if providers[i].Name == name {
			return providers[i]
		}
	}
	return Provider{}
}

// DefaultModel returns the model to use if the user names none, or "" if only the user can
// know one: the models of azure-openai are the user's own deployments.
func DefaultModel(provider string) string { return ProviderNamed(provider).DefaultModel }

// KeyEnv lists the variables that hold the secrets of a provider. Skills never get them
// while that provider is in use.
func KeyEnv(provider string) []string { return ProviderNamed(provider).KeyEnv }

// SettingOwners lists the providers whose [provider.setting] accepts a key.
func SettingOwners(key string) (owners []string) {
	for i := range providers {
		if slices.Contains(providers[i].Settings, key) {
			owners = append(owners, providers[i].Name)
		}
	}
	return owners
}

// CheckProvider returns an error that suggests a name if there is no such provider.
func CheckProvider(name string) error {
	if slices.Contains(Providers(), name) {
		return nil
	}
	return fmt.Errorf("provider %.60q is unknown; %s", name, wording.DidYouMean(name, Providers()))
}

// listed returns the provider under which the catalogue lists a provider's models.
func listed(provider string) string {
	return cmp.Or(ProviderNamed(provider).Catalogue, provider)
}
