package manifest

import (
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/perstack-go/perstack/expert"
	"github.com/perstack-go/perstack/internal/toml"
	"github.com/perstack-go/perstack/internal/wording"
)

// noLimit answers a limit of 0, which could mean all or nothing.
const noLimit = "leave the key out for no limit"

// limitKeys bound a job at the top level, and a Run of an Expert in its table.
var limitKeys = []string{"maxSteps", "maxTokens", "maxCost", "maxDuration"}

// limits reads limitKeys. The hint says what holds without maxSteps, which differs.
func readLimits(t *toml.Table, withoutSteps string) expert.Limits {
	return expert.Limits{
		MaxSteps:    int(readBounded(t, "maxSteps", math.MaxInt32, withoutSteps)),
		MaxTokens:   readBounded(t, "maxTokens", expert.MostTokens, noLimit),
		MaxCost:     readCost(t, "maxCost"),
		MaxDuration: readDuration(t, "maxDuration", noLimit),
	}
}

// duration reads a limit on time; absent or wrong, it is 0. The hint says what holds
// without the key.
func readDuration(t *toml.Table, key, without string) time.Duration {
	n := t.Get(key)
	switch {
	case n == nil:
		return 0
	case n.Kind == toml.KindInteger || n.Kind == toml.KindFloat:
		t.Reader.Fault(n.At, t.At(key), fmt.Sprintf("must be a string, not %s", n.Kind), `write it with its unit, like "90s", "30m" or "2h"`)
		return 0
	case !t.Reader.Is(n, toml.KindString, t.At(key)):
		return 0
	}
	d, err := ParseDuration(n.Text)
	if err != nil {
		message, hint, _ := strings.Cut(err.Error(), "; ")
		if hint == noLimit {
			hint = without
		}
		t.Reader.Fault(n.At, t.At(key), message, hint)
	}
	return d
}

// otherwise is the hint for a limit that has a default.
func otherwise(value int) string { return fmt.Sprintf("without the key it is %d", value) }

// bounded reads a whole number from 1 to high; absent or wrong, it is 0.
func readBounded(t *toml.Table, key string, high int64, hint string) int64 {
	n := t.Want(key, toml.KindInteger)
	if n == nil || n.Unreadable {
		return 0
	}
	if n.Number < 1 || n.Number > high {
		t.Reader.Fault(n.At, t.At(key), fmt.Sprintf("must be between 1 and %d", high), hint)
		return 0
	}
	return n.Number
}

// cost reads an amount of money that is more than 0; absent or wrong, it is 0.
func readCost(t *toml.Table, key string) float64 {
	n := readNumber(t, key)
	if n == nil {
		return 0
	}
	// Written so that NaN does not pass: no comparison with it holds.
	if v := n.Amount(); v > 0 && v <= expert.MostCost {
		return v
	}
	t.Reader.Fault(n.At, t.At(key), fmt.Sprintf("must be more than 0 and at most %d US dollars", expert.MostCost), noLimit)
	return 0
}

// number returns the value of a key if it is a number of either kind.
func readNumber(t *toml.Table, key string) *toml.Node {
	n := t.Get(key)
	if n == nil || n.Unreadable {
		return nil
	}
	if n.Kind != toml.KindInteger && n.Kind != toml.KindFloat {
		hint := ""
		if n.Kind == toml.KindString {
			hint = "write a number without quotes and signs, like 0.50"
		}
		t.Reader.Fault(n.At, t.At(key), fmt.Sprintf("must be a number, not %s", n.Kind), hint)
		return nil
	}
	return n
}

// prices reads what models cost.
func (r *reader) prices(t *toml.Table) map[string]expert.Price {
	all := t.Sub("prices")
	if all == nil || len(all.Node.Keys) == 0 {
		return nil
	}
	prices := map[string]expert.Price{}
	for _, model := range all.Node.Keys {
		n, path := all.Node.Fields[model], all.At(model)
		if !r.Check(&toml.Node{At: n.KeyAt, Text: model}, path, []toml.Rule{toml.Length(1, 255), toml.Printable}) {
			continue
		}
		if n.Kind != toml.KindTable {
			r.Fault(n.At, path, fmt.Sprintf("must be a table, not %s", n.Kind), "write [prices."+wording.Quote(model)+"] with input and output below it")
			continue
		}
		prices[model] = r.price(model, r.Table(n, path))
	}
	return prices
}

// The keys of a price, for the schema and for hints.
var priceKeys = []string{"input", "output", "cachedInput", "cacheWrite"}

func (r *reader) price(model string, t *toml.Table) expert.Price {
	const unit = "it is US dollars for a million tokens"
	read := func(key string, required bool, otherwise float64) float64 {
		n := readNumber(t, key)
		if n == nil {
			if required && t.Node.Fields[key] == nil && !splitName(t) {
				r.Missing(t.Node.KeyAt, t.At(key), "is required", unit)
			}
			return otherwise
		}
		v := n.Amount()
		if v >= 0 && v <= mostPrice { // NaN fails here
			return math.Abs(v) // -0.0 is 0
		}
		r.Fault(n.At, t.At(key), fmt.Sprintf("must be between 0 and %d", mostPrice), unit)
		return otherwise
	}
	p := expert.Price{Input: read("input", true, 0), Output: read("output", true, 0)}
	p.CachedInput = read("cachedInput", false, p.Input)
	p.CacheWrite = read("cacheWrite", false, p.Input)
	t.Finish(func(key string) string {
		if t.Node.Fields[key].Kind != toml.KindTable {
			return ""
		}
		return "put the name of the model in quotes, like [prices." + wording.Quote(model+"."+key) + "]"
	}, misplaced)
	return p
}

// splitName reports whether a dot in the name of a model was taken for the end of a table:
// [prices.gpt-4.1] is the table "1" in "gpt-4", and lacks no key of its own.
func splitName(t *toml.Table) bool {
	for _, n := range t.Node.Fields {
		if n.Kind == toml.KindTable {
			return true
		}
	}
	return false
}

// mostPrice is the highest price that a file may state, in US dollars for a million tokens.
const mostPrice = 100_000
