package bedrock

import (
	"fmt"
	"maps"

	"github.com/go-json-experiment/json"

	"github.com/perstack-go/perstack/expert"
	"github.com/perstack-go/perstack/internal/providers/wire"
)

// additions is what the user adds to requests, taken apart: two members are objects that
// hold something of ours as well.
type additions struct {
	inference wire.Extra // in inferenceConfig, without maxTokens
	fields    wire.Extra // in additionalModelRequestFields
	rest      string     // members of the request, each with a comma before it
}

func newAdditions(cfg *Config) (a additions, err error) {
	if a.inference, err = object(cfg, "inferenceConfig"); err != nil {
		return a, err
	}
	if a.fields, err = object(cfg, "additionalModelRequestFields"); err != nil {
		return a, err
	}
	if err := a.fields.Check(cfg.Provider, "max_tokens", "max_tokens_to_sample", "max_gen_len"); err != nil {
		return a, err // a limit beside ours would not be held by the budget of a job
	}
	if err := takeLimit(cfg, a.inference); err != nil {
		return a, err
	}
	var b wire.Body
	if !cfg.Extra.Has("additionalModelResponseFieldPaths") {
		b.Text(`,"additionalModelResponseFieldPaths":["/stop_sequence"]`)
	}
	if g := cfg.Guardrail; g != nil {
		b.Text(`,"guardrailConfig":` + guardrail(g))
	}
	rest := maps.Clone(cfg.Extra)
	delete(rest, "inferenceConfig")
	delete(rest, "additionalModelRequestFields")
	rest.AppendTo(&b)
	for _, piece := range b.Pieces {
		a.rest += string(piece)
	}
	return a, nil
}

// object reads an object that the user adds to. It is empty if there is none.
func object(cfg *Config, name string) (wire.Extra, error) {
	var o wire.Extra
	if raw, ok := cfg.Extra[name]; ok {
		if raw.Kind() != '{' || json.Unmarshal(raw, &o) != nil {
			return nil, fmt.Errorf("%s: %s of extraBody is not an object", cfg.Provider, name)
		}
	}
	return o, nil
}

// takeLimit makes a limit that the user gives there one of the configuration: the budget
// of a job has to be held against it.
func takeLimit(cfg *Config, inference wire.Extra) error {
	raw, ok := inference["maxTokens"]
	if !ok {
		return nil
	}
	var n int
	if json.Unmarshal(raw, &n) != nil || n <= 0 {
		return fmt.Errorf("%s: inferenceConfig.maxTokens of extraBody is not a number of tokens", cfg.Provider)
	}
	delete(inference, "maxTokens")
	cfg.MaxTokens = least(cfg.MaxTokens, n)
	return nil
}

func guardrail(g *expert.Guardrail) string {
	own := wire.Extra{"guardrailIdentifier": wire.Quote(g.Identifier), "guardrailVersion": wire.Quote(g.Version)}
	if g.Trace != "" {
		own["trace"] = wire.Quote(g.Trace)
	}
	return wire.Extra(nil).Object(own)
}
