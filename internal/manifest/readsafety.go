package manifest

import (
	"slices"
	"strconv"

	"github.com/perstack-go/perstack/expert"
	"github.com/perstack-go/perstack/internal/toml"
)

// The words of Google for what it withholds, and from which degree on.
var (
	harmCategories = []string{
		"HARM_CATEGORY_UNSPECIFIED", "HARM_CATEGORY_HATE_SPEECH", "HARM_CATEGORY_DANGEROUS_CONTENT",
		"HARM_CATEGORY_HARASSMENT", "HARM_CATEGORY_SEXUALLY_EXPLICIT",
	}
	harmThresholds = []string{
		"HARM_BLOCK_THRESHOLD_UNSPECIFIED", "BLOCK_LOW_AND_ABOVE", "BLOCK_MEDIUM_AND_ABOVE", "BLOCK_ONLY_HIGH", "BLOCK_NONE",
	}

	safetyKeys    = []string{"category", "threshold"}
	guardrailKeys = []string{"identifier", "version", "trace"}
	traceWords    = []string{"enabled", "disabled"}
)

// safetySettings reads [[provider.setting.safetySettings]].
func (r *reader) safetySettings(t *toml.Table) (all []expert.SafetySetting) {
	n := t.Want("safetySettings", toml.KindArray)
	if n == nil {
		return nil
	}
	r.AtMost(n, t.At("safetySettings"), len(n.Items), len(harmCategories), "entries")
	for i, item := range n.First(len(harmCategories)) {
		path := toml.PathTo(t.At("safetySettings"), strconv.Itoa(i))
		if !r.Is(item, toml.KindTable, path) {
			continue
		}
		s := r.Table(item, path)
		one := expert.SafetySetting{
			Category:  s.Require("category", `write category = "HARM_CATEGORY_HARASSMENT", for instance`, toml.OneOf(harmCategories...)),
			Threshold: s.Require("threshold", `write threshold = "BLOCK_ONLY_HIGH", for instance`, toml.OneOf(harmThresholds...)),
		}
		if one.Category != "" && slices.ContainsFunc(all, func(other expert.SafetySetting) bool { return other.Category == one.Category }) {
			r.Fault(item.Fields["category"].At, s.At("category"), one.Category+" is there already", "each category has one threshold")
		}
		s.Finish()
		all = append(all, one)
	}
	return all
}

// guardrail reads [provider.setting.guardrail].
func (r *reader) guardrail(t *toml.Table) *expert.Guardrail {
	g := t.Sub("guardrail")
	if g == nil {
		return nil
	}
	out := &expert.Guardrail{
		Identifier: g.Require("identifier", "it is the id or the ARN of the guardrail", toml.Length(1, 2048), toml.Printable),
		Version:    g.Require("version", `write its number, in quotes, or "DRAFT"`, toml.Length(1, 255), toml.Printable),
		Trace:      g.Str("trace", toml.OneOf(traceWords...)),
	}
	g.Finish()
	return out
}
