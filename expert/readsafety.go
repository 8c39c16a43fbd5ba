package expert

import (
	"slices"
	"strconv"
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
func (r *reader) safetySettings(t *table) (all []SafetySetting) {
	n := t.want("safetySettings", kindArray)
	if n == nil {
		return nil
	}
	r.atMost(n, t.at("safetySettings"), len(n.items), len(harmCategories), "entries")
	for i, item := range n.first(len(harmCategories)) {
		path := pathTo(t.at("safetySettings"), strconv.Itoa(i))
		if !r.is(item, kindTable, path) {
			continue
		}
		s := &table{r: r, n: item, path: path}
		one := SafetySetting{
			Category:  s.require("category", `write category = "HARM_CATEGORY_HARASSMENT", for instance`, oneOf(harmCategories...)),
			Threshold: s.require("threshold", `write threshold = "BLOCK_ONLY_HIGH", for instance`, oneOf(harmThresholds...)),
		}
		if one.Category != "" && slices.ContainsFunc(all, func(other SafetySetting) bool { return other.Category == one.Category }) {
			r.fault(item.fields["category"].at, s.at("category"), one.Category+" is there already", "each category has one threshold")
		}
		s.finish()
		all = append(all, one)
	}
	return all
}

// guardrail reads [provider.setting.guardrail].
func (r *reader) guardrail(t *table) *Guardrail {
	g := t.sub("guardrail")
	if g == nil {
		return nil
	}
	out := &Guardrail{
		Identifier: g.require("identifier", "it is the id or the ARN of the guardrail", length(1, 2048), printable),
		Version:    g.require("version", `write its number, in quotes, or "DRAFT"`, length(1, 255), printable),
		Trace:      g.str("trace", oneOf(traceWords...)),
	}
	g.finish()
	return out
}
