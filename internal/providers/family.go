package providers

import (
	"slices"
	"strings"

	"github.com/perstack-go/perstack/model"
)

// fit refuses a model that the provider cannot have: most often the file names the model
// of one provider, and a flag another provider. Behind a base URL there may be anything.
func (o *opening) fit() error {
	if Fits(o.Provider, o.Model) || o.Setting.BaseURL != "" || o.Env(baseURLVariables[o.Provider]) != "" {
		return nil
	}
	return o.errorf("the model %q is not one of this provider; use --provider %s, or name another model with --model, such as %s",
		o.Model, strings.Join(runners(o.Model), " or "), model.DefaultModel(o.Provider))
}

// Fits reports whether a provider may have a model, as far as the model's name tells.
func Fits(provider, model string) bool {
	switch provider {
	case "anthropic", "google", "openai", "deepseek", "amazon-bedrock", "google-vertex":
		all := runners(model)
		return len(all) == 0 || slices.Contains(all, provider)
	}
	return true // a model has there what name somebody gives it
}

// runners are the providers that have a model of such a name; none if the name does not tell.
func runners(model string) []string {
	switch owner := familyOf(model); owner {
	case "":
		return nil
	case "google":
		return []string{owner, "google-vertex"}
	default:
		return []string{owner}
	}
}

// familyOf is the provider whose model has such a name; "" if the name does not tell.
// Names that anybody may give, such as those of deployments and of models that run at
// home, are of no family.
func familyOf(model string) string {
	digit := func(i int) bool { return len(model) > i && model[i] >= '0' && model[i] <= '9' }
	switch {
	case isBedrockID(model):
		return "amazon-bedrock"
	case strings.HasPrefix(model, "claude-"):
		return "anthropic"
	case strings.HasPrefix(model, "gemini-"):
		return "google"
	case strings.HasPrefix(model, "gpt-") && digit(4), strings.HasPrefix(model, "chatgpt-"),
		strings.HasPrefix(model, "o") && digit(1) && (len(model) == 2 || model[2] == '-'):
		return "openai"
	case model == "deepseek-chat", model == "deepseek-reasoner":
		return "deepseek"
	}
	return ""
}

// isBedrockID reports whether a name is made of a vendor and a model, with a region
// before them or not.
func isBedrockID(model string) bool {
	parts := strings.Split(model, ".")
	for _, vendor := range parts[:min(2, len(parts)-1)] {
		if slices.Contains([]string{"anthropic", "amazon", "meta", "mistral", "cohere", "ai21", "openai", "deepseek", "qwen"}, vendor) {
			return true
		}
	}
	return false
}

// baseURLVariables say where each provider is, instead of where it usually is.
var baseURLVariables = map[string]string{
	"anthropic":      "ANTHROPIC_BASE_URL",
	"google":         "GOOGLE_GENERATIVE_AI_BASE_URL",
	"openai":         "OPENAI_BASE_URL",
	"ollama":         "OLLAMA_BASE_URL",
	"azure-openai":   "AZURE_BASE_URL",
	"amazon-bedrock": "AWS_ENDPOINT_URL_BEDROCK_RUNTIME",
	"google-vertex":  "GOOGLE_VERTEX_BASE_URL",
	"deepseek":       "DEEPSEEK_BASE_URL",
}
