package expert

import "fmt"

// Bounds of what a file may say of a model. Nobody needs more, and no sum overflows.
const (
	mostWindow  = 1_000_000_000
	mostEfforts = 16
)

// The keys of [models."<id>"], for the schema and for hints, and the ways of thinking.
var (
	modelKeys      = []string{"contextWindow", "maxOutputTokens", "reasoning", "efforts", "images", "pdf"}
	reasoningWords = []string{"none", "budget", "effort", "adaptive", "switch"}
)

// models reads what the file says of models.
func (r *reader) models(t *table) map[string]ModelEntry {
	all := t.sub("models")
	if all == nil || len(all.n.keys) == 0 {
		return nil
	}
	models := map[string]ModelEntry{}
	for _, model := range all.n.keys {
		n, path := all.n.fields[model], all.at(model)
		if !r.check(&node{at: n.keyAt, text: model}, path, []rule{length(1, 255), printable}) {
			continue
		}
		if n.kind != kindTable {
			r.fault(n.at, path, fmt.Sprintf("must be a table, not %s", n.kind), "write [models."+quote(model)+"] with what you know below it")
			continue
		}
		models[model] = r.modelEntry(model, &table{r: r, n: n, path: path})
	}
	return models
}

func (r *reader) modelEntry(model string, t *table) ModelEntry {
	const unit = "it is a number of tokens; leave the key out if you do not know it"
	e := ModelEntry{
		ContextWindow:   int(t.bounded("contextWindow", mostWindow, unit)),
		MaxOutputTokens: int(t.bounded("maxOutputTokens", mostWindow, unit)),
		Reasoning:       t.str("reasoning", oneOf(reasoningWords...)),
		Efforts:         t.strs("efforts", mostEfforts, length(1, 64), printable),
		Images:          t.maybe("images"),
		PDF:             t.maybe("pdf"),
	}
	if e.ContextWindow > 0 && e.MaxOutputTokens > e.ContextWindow {
		r.fault(t.n.fields["maxOutputTokens"].at, t.at("maxOutputTokens"), "is more than contextWindow", "an answer stands in the window too")
	}
	if n := t.n.fields["efforts"]; n != nil && e.Reasoning != "" && e.Reasoning != "effort" && e.Reasoning != "adaptive" {
		r.fault(n.keyAt, t.at("efforts"), "goes with reasoning = \"effort\" or \"adaptive\"", "remove it")
	}
	t.finish(func(key string) string {
		if t.n.fields[key].kind != kindTable {
			return ""
		}
		return "put the name of the model in quotes, like [models." + quote(model+"."+key) + "]"
	}, misplaced)
	return e
}

// maybe reads a boolean that need not be there.
func (t *table) maybe(key string) *bool {
	n := t.want(key, kindBool)
	if n == nil {
		return nil
	}
	yes := n.text == "true"
	return &yes
}
