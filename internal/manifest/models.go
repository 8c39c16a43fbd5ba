package manifest

import (
	"fmt"

	"github.com/perstack-go/perstack/expert"
	"github.com/perstack-go/perstack/internal/toml"
)

// Bounds of what a file may say of a model. No model needs more, and no sum overflows.
const (
	mostWindow  = 1_000_000_000
	mostEfforts = 16
	mostPrice   = 100_000 // US dollars for a million tokens
)

// reasoningWords are the ways to ask a model to think.
var reasoningWords = []string{"none", "budget", "effort", "adaptive", "switch"}

// priceUnit is the hint for what a price counts.
const priceUnit = "it is US dollars for a million tokens"

// priceKeys are the keys of [prices."<model>"].
func priceKeys() []key[expert.Price] {
	type P = expert.Price
	return []key[P]{
		row("input", "Price of input tokens.", price(), func(p *P, v float64) { p.Input = v }).required(priceUnit),
		row("output", "Price of output tokens, reasoning included.", price(), func(p *P, v float64) { p.Output = v }).required(priceUnit),
		row("cachedInput", "Price of input tokens read from the provider's cache.", price(), func(p *P, v float64) { p.CachedInput = v }).without("as `input`"),
		row("cacheWrite", "Price of input tokens written to that cache; 0 counts as absent.", price(), func(p *P, v float64) { p.CacheWrite = v }).without("as `input`"),
	}
}

func price() value[float64] {
	return amount(&jsonSchema{Minimum: new(0), Maximum: mostPrice}, fmt.Sprintf("number from 0 to %d", mostPrice), func(v float64) (string, string) {
		if v >= 0 && v <= mostPrice {
			return "", ""
		}
		return fmt.Sprintf("must be between 0 and %d", mostPrice), priceUnit
	})
}

// prices reads what models cost.
func (r *reader) prices(t *toml.Table, c *Config) {
	c.Prices = named(r, t, "prices", "input and output", func(t *toml.Table) (p expert.Price) {
		keys := r.tables.prices()
		for _, n := range t.Node.Fields {
			// [prices.gpt-4.1] is the table "1" in "gpt-4", and lacks no key of its own.
			if n.Kind == toml.KindTable {
				keys = optional(keys)
				break
			}
		}
		readKeys(r, t, keys, &p)
		if t.Node.Fields["cachedInput"] == nil {
			p.CachedInput = p.Input
		}
		if t.Node.Fields["cacheWrite"] == nil {
			p.CacheWrite = p.Input
		}
		return p
	})
}

// modelKeys are the keys of [models."<model>"].
func modelKeys() []key[expert.ModelEntry] {
	type M = expert.ModelEntry
	const unit = "it is a number of tokens; leave the key out if you do not know it"
	keys := []key[M]{
		row("contextWindow", "Maximum tokens of a request and its answer together.", between(1, mostWindow, unit), func(m *M, n int64) { m.ContextWindow = int(n) }),
		row("maxOutputTokens", "Maximum tokens of one answer, reasoning included.", between(1, mostWindow, unit), func(m *M, n int64) { m.MaxOutputTokens = int(n) }).
			more("every request asks for no more"),
		row("reasoning", "How reasoning is requested from the model.", word(reasoningWords...), func(m *M, s string) { m.Reasoning = s }).
			more("by a number of tokens (`budget`), by a word (`effort`), adaptively with a word for how much (`adaptive`), or on and off (`switch`)"),
		row("efforts", "Words for effort and adaptive reasoning, from least to most.", list(mostEfforts, "A word.", text(1, 64, toml.Printable)), func(m *M, all []string) { m.Efforts = all }),
		row("images", "Whether the model accepts images.", maybe(), func(m *M, yes *bool) { m.Images = yes }),
		row("pdf", "Whether the model accepts PDF files.", maybe(), func(m *M, yes *bool) { m.PDF = yes }),
	}
	for i := range keys {
		keys[i].absent = "built-in"
	}
	return keys
}

// models reads what the file says of models.
func (r *reader) models(t *toml.Table, c *Config) {
	c.Models = named(r, t, "models", "what you know", func(t *toml.Table) (e expert.ModelEntry) {
		readKeys(r, t, r.tables.models(), &e)
		if e.ContextWindow > 0 && e.MaxOutputTokens > e.ContextWindow {
			n := t.Node.Fields["maxOutputTokens"]
			r.Fault(n.At, n.Path(), "is more than contextWindow", "an answer is part of the window too")
		}
		if n := t.Node.Fields["efforts"]; n != nil && e.Reasoning != "" && e.Reasoning != "effort" && e.Reasoning != "adaptive" {
			r.Fault(n.KeyAt, n.Path(), "goes with reasoning = \"effort\" or \"adaptive\"", "remove it")
		}
		return e
	})
}
