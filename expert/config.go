package expert

import (
	"time"

	"github.com/go-json-experiment/json/jsontext"
)

// What holds when neither the file nor a flag says otherwise.
const (
	DefaultProvider        = "anthropic"
	DefaultRuntime         = "local"
	DefaultReasoningBudget = ReasoningLow
	DefaultMaxSteps        = 100
	DefaultMaxRetries      = 5
	DefaultTimeout         = 300000 * time.Millisecond
	DefaultAPIBaseURL      = "https://api.perstack.ai"
	DefaultVersion         = "1.0.0" // of an Expert that does not state one
)

// DefaultModel is the model to use when nobody names one, or "" where only the
// user can know: what azure-openai has are the user's own deployments.
func DefaultModel(provider string) string {
	switch provider {
	case "anthropic":
		return "claude-sonnet-4-5"
	case "openai":
		return "gpt-5"
	case "google", "google-vertex":
		return "gemini-2.5-pro"
	case "amazon-bedrock":
		return "global.anthropic.claude-sonnet-4-5-20250929-v1:0"
	case "deepseek":
		return "deepseek-chat"
	case "ollama":
		return "gpt-oss:20b"
	case "replay":
		return "replay"
	}
	return ""
}

// Config is what a perstack.toml says. It does not hold defaults: a field that
// the file does not set is zero, so that flags and defaults can be told apart.
type Config struct {
	Path string // absolute path of the file
	Dir  string // its directory

	Provider        Provider
	Model           string
	ReasoningBudget ReasoningBudget
	Runtime         string
	Limits                         // of the whole job
	MaxRetries      *int           // of one generation
	Timeout         *time.Duration // of one generation
	APIBaseURL      string         // perstackApiBaseUrl: the registry

	Docker Docker // [docker]

	MaxWorkspaceBytes *int64 // how large the workspace may grow; nil means no limit

	MaxDepth    int              // Experts on one path of delegation; 0 when the file does not say
	MaxParallel int              // Runs of a job at once; 0 when the file does not say
	Prices      map[string]Price // by model, over what is known of it; nil when the file names none

	Models map[string]ModelEntry // by model, over what is known of it; nil when the file names none

	// BaseSkillCommand is perstackBaseSkillCommand: a program that takes the
	// place of the built-in base skill. Empty means the built-in one. The base
	// skills of the Experts have it as their Command already.
	BaseSkillCommand []string

	// EnvPath lists the env files to read, as written. Nil means that the file
	// does not say; empty but not nil means none.
	EnvPath []string

	Experts []*Expert // in file order

	file      string // as it was given, for messages
	source    []byte
	positions map[string]Position
}

// Source is the text of the file, word for word. It is not to be changed.
func (c *Config) Source() []byte { return c.source }

// Provider is who runs the model. Name is empty when the file has no [provider].
type Provider struct {
	Name    string
	Setting Setting
}

// Setting is [provider.setting]. It belongs to the provider it stands with and
// must not be used with another one: it would send keys to the wrong host.
type Setting struct {
	BaseURL                string
	Headers                map[string]string // may hold secrets: never print them
	Organization           string            // openai
	Project                string            // openai, google-vertex
	Name                   string            // openai
	ResourceName           string            // azure-openai
	APIVersion             string            // azure-openai
	UseDeploymentBasedURLs bool              // azure-openai
	Region                 string            // amazon-bedrock
	Location               string            // google-vertex
	Cassette               string            // replay: absolute path of the script
	AllowPrivateEndpoint   bool              // BaseURL may be a private address

	ExtraBody      map[string]jsontext.Value // members that are added to every request
	Guardrail      *Guardrail                // amazon-bedrock
	SafetySettings []SafetySetting           // google, google-vertex
}

// A Guardrail is a filter of Amazon Bedrock that looks at what goes in and out.
type Guardrail struct {
	Identifier string
	Version    string
	Trace      string // enabled or disabled; may be empty
}

// A SafetySetting says from which degree on Google withholds a kind of answer.
type SafetySetting struct {
	Category  string
	Threshold string
}

// A ModelEntry is what the file says of a model: instead of, or beside, what perstack
// knows. Zero says nothing.
type ModelEntry struct {
	ContextWindow   int
	MaxOutputTokens int
	Reasoning       string   // none, budget, effort, adaptive or switch
	Efforts         []string // the words for effort and adaptive, from little to much
	Images, PDF     *bool
}

// Lookup finds the Expert that key names: one with exactly this name, or one
// with this name and version if the key has a version.
func (c *Config) Lookup(key string) (*Expert, bool) {
	name, version := meant(key)
	for _, e := range c.Experts {
		if e.Name == name && (version == "" || e.Version == version) {
			return e, true
		}
	}
	return nil, false
}

// meant is the name of the Expert of this file that a key means, and its version, if
// the key has one. Tags belong to the registry: no Expert of a file has one.
func meant(key string) (name, version string) {
	if k, err := ParseKey(key); err == nil && k.Version != "" {
		return k.Name, k.Version
	}
	return key, ""
}
