package manifest

import (
	"fmt"

	"github.com/perstack-go/perstack/expert"
	"github.com/perstack-go/perstack/internal/toml"
	"github.com/perstack-go/perstack/internal/wording"
)

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
func (r *reader) models(t *toml.Table) map[string]expert.ModelEntry {
	all := t.Sub("models")
	if all == nil || len(all.Node.Keys) == 0 {
		return nil
	}
	models := map[string]expert.ModelEntry{}
	for _, model := range all.Node.Keys {
		n, path := all.Node.Fields[model], all.At(model)
		if !r.Check(&toml.Node{At: n.KeyAt, Text: model}, path, []toml.Rule{toml.Length(1, 255), toml.Printable}) {
			continue
		}
		if n.Kind != toml.KindTable {
			r.Fault(n.At, path, fmt.Sprintf("must be a table, not %s", n.Kind), "write [models."+wording.Quote(model)+"] with what you know below it")
			continue
		}
		models[model] = r.modelEntry(model, r.Table(n, path))
	}
	return models
}

func (r *reader) modelEntry(model string, t *toml.Table) expert.ModelEntry {
	const unit = "it is a number of tokens; leave the key out if you do not know it"
	e := expert.ModelEntry{
		ContextWindow:   int(readBounded(t, "contextWindow", mostWindow, unit)),
		MaxOutputTokens: int(readBounded(t, "maxOutputTokens", mostWindow, unit)),
		Reasoning:       t.Str("reasoning", toml.OneOf(reasoningWords...)),
		Efforts:         t.Strs("efforts", mostEfforts, toml.Length(1, 64), toml.Printable),
		Images:          readMaybe(t, "images"),
		PDF:             readMaybe(t, "pdf"),
	}
	if e.ContextWindow > 0 && e.MaxOutputTokens > e.ContextWindow {
		r.Fault(t.Node.Fields["maxOutputTokens"].At, t.At("maxOutputTokens"), "is more than contextWindow", "an answer stands in the window too")
	}
	if n := t.Node.Fields["efforts"]; n != nil && e.Reasoning != "" && e.Reasoning != "effort" && e.Reasoning != "adaptive" {
		r.Fault(n.KeyAt, t.At("efforts"), "goes with reasoning = \"effort\" or \"adaptive\"", "remove it")
	}
	t.Finish(func(key string) string {
		if t.Node.Fields[key].Kind != toml.KindTable {
			return ""
		}
		return "put the name of the model in quotes, like [models." + wording.Quote(model+"."+key) + "]"
	}, misplaced)
	return e
}

// maybe reads a boolean that need not be there.
func readMaybe(t *toml.Table, key string) *bool {
	n := t.Want(key, toml.KindBool)
	if n == nil {
		return nil
	}
	yes := n.Text == "true"
	return &yes
}
