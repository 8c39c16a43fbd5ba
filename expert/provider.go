package expert

import "github.com/go-json-experiment/json/jsontext"

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
