package expert

import "github.com/perstack-go/perstack/rawjson"

// Provider is who runs the model. Name is empty when the file has no [provider].
type Provider struct {
	Name    string  `json:"name,omitzero"`
	Setting Setting `json:"setting,omitzero"`
}

// Setting is [provider.setting]. It belongs to the provider it stands with and
// must not be used with another one: it would send keys to the wrong host.
type Setting struct {
	BaseURL                string            `json:"baseUrl,omitzero"`
	Headers                map[string]string `json:"-"`                               // may hold secrets: never print them
	Organization           string            `json:"organization,omitzero"`           // openai
	Project                string            `json:"project,omitzero"`                // openai, google-vertex
	Name                   string            `json:"name,omitzero"`                   // openai
	ResourceName           string            `json:"resourceName,omitzero"`           // azure-openai
	APIVersion             string            `json:"apiVersion,omitzero"`             // azure-openai
	UseDeploymentBasedURLs bool              `json:"useDeploymentBasedUrls,omitzero"` // azure-openai
	Region                 string            `json:"region,omitzero"`                 // amazon-bedrock
	Location               string            `json:"location,omitzero"`               // google-vertex
	Cassette               string            `json:"cassette,omitzero"`               // replay: absolute path of the script
	AllowPrivateEndpoint   bool              `json:"allowPrivateEndpoint,omitzero"`   // BaseURL may be a private address

	ExtraBody      map[string]rawjson.Value `json:"-"`                       // members that are added to every request
	Guardrail      *Guardrail               `json:"guardrail,omitzero"`      // amazon-bedrock
	SafetySettings []SafetySetting          `json:"safetySettings,omitzero"` // google, google-vertex
}

// A Guardrail is a filter of Amazon Bedrock that looks at what goes in and out.
type Guardrail struct {
	Identifier string `json:"identifier,omitzero"`
	Version    string `json:"version,omitzero"`
	Trace      string `json:"trace,omitzero"` // enabled or disabled; may be empty
}

// A SafetySetting says from which degree on Google withholds a kind of answer.
type SafetySetting struct {
	Category  string `json:"category,omitzero"`
	Threshold string `json:"threshold,omitzero"`
}

// A ModelEntry is what the file says of a model: instead of, or beside, what perstack
// knows. Zero says nothing.
type ModelEntry struct {
	ContextWindow   int      `json:"contextWindow,omitzero"`
	MaxOutputTokens int      `json:"maxOutputTokens,omitzero"`
	Reasoning       string   `json:"reasoning,omitzero"` // none, budget, effort, adaptive or switch
	Efforts         []string `json:"efforts,omitzero"`   // the words for effort and adaptive, from little to much
	Images          *bool    `json:"images,omitzero"`
	PDF             *bool    `json:"pdf,omitzero"`
}
