package model

import (
	"errors"
	"slices"

	"github.com/perstack-go/perstack/internal/wording"
)

// DefaultProvider is the provider to use when neither the file nor a flag names one.
const DefaultProvider = "anthropic"

// A providerFacts is what is known of a provider before it is asked anything.
type providerFacts struct {
	name         string
	defaultModel string   // "" where only the user can know
	keyEnv       []string // variables that hold its secrets
	tools        []string // what it runs itself
}

var providerTable = []providerFacts{
	{
		"anthropic", "claude-sonnet-4-5", []string{"ANTHROPIC_API_KEY"},
		[]string{"webSearch", "webFetch", "codeExecution"},
	},
	{
		"google", "gemini-2.5-pro", []string{"GOOGLE_GENERATIVE_AI_API_KEY", "GEMINI_API_KEY", "GOOGLE_API_KEY"},
		[]string{"googleSearch", "codeExecution", "urlContext", "fileSearch", "googleMaps"},
	},
	{
		"openai", "gpt-5", []string{"OPENAI_API_KEY"},
		[]string{"webSearch", "fileSearch", "codeInterpreter", "imageGeneration"},
	},
	{"ollama", "gpt-oss:20b", nil, nil},
	{
		// Its models are the user's own deployments.
		"azure-openai", "", []string{"AZURE_API_KEY", "AZURE_OPENAI_API_KEY"},
		[]string{"webSearchPreview", "fileSearch", "codeInterpreter", "imageGeneration"},
	},
	{
		"amazon-bedrock", "global.anthropic.claude-sonnet-4-5-20250929-v1:0",
		[]string{"AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AWS_BEARER_TOKEN_BEDROCK"}, nil,
	},
	{
		"google-vertex", "gemini-2.5-pro", []string{"GOOGLE_APPLICATION_CREDENTIALS"},
		[]string{"codeExecution", "urlContext", "googleSearch", "enterpriseWebSearch", "googleMaps"},
	},
	{"deepseek", "deepseek-chat", []string{"DEEPSEEK_API_KEY"}, nil},
	{"replay", "replay", nil, nil},
}

func providerOf(name string) (facts providerFacts) {
	for _, p := range providerTable {
		if p.name == name {
			return p
		}
	}
	return facts
}

// Providers are the names that provider.providerName accepts.
func Providers() []string {
	names := make([]string, len(providerTable))
	for i, p := range providerTable {
		names[i] = p.name
	}
	return names
}

// CheckProvider says that there is no such provider, and which one may have been meant.
func CheckProvider(name string) error {
	if slices.Contains(Providers(), name) {
		return nil
	}
	return errors.New("provider " + wording.Quote(name) + " is unknown; " + wording.DidYouMean(name, Providers()))
}

// DefaultModel is the model to use when nobody names one, or "" where only the user can
// know it.
func DefaultModel(provider string) string { return providerOf(provider).defaultModel }

// ProviderKeyEnv lists the variables that hold the secrets of a provider. They
// are never handed to a skill while that provider is in use.
func ProviderKeyEnv(provider string) []string { return slices.Clone(providerOf(provider).keyEnv) }

// ToolsOfProvider are the names that providerTools can have with a provider.
func ToolsOfProvider(provider string) []string { return slices.Clone(providerOf(provider).tools) }
