package expert

import (
	"fmt"
	"math"
	"strings"
	"time"
)

// noLimit answers a limit of 0, which could mean all or nothing.
const noLimit = "leave the key out for no limit"

// limitKeys bound a job at the top level, and a Run of an Expert in its table.
var limitKeys = []string{"maxSteps", "maxTokens", "maxCost", "maxDuration"}

// limits reads limitKeys. The hint says what holds without maxSteps, which differs.
func (t *table) limits(withoutSteps string) Limits {
	return Limits{
		MaxSteps:    int(t.bounded("maxSteps", math.MaxInt32, withoutSteps)),
		MaxTokens:   t.bounded("maxTokens", MostTokens, noLimit),
		MaxCost:     t.cost("maxCost"),
		MaxDuration: t.duration("maxDuration", noLimit),
	}
}

// duration reads a limit on time; absent or wrong, it is 0. The hint says what holds
// without the key.
func (t *table) duration(key, without string) time.Duration {
	n := t.get(key)
	switch {
	case n == nil:
		return 0
	case n.kind == kindInteger || n.kind == kindFloat:
		t.r.fault(n.at, t.at(key), fmt.Sprintf("must be a string, not %s", n.kind), `write it with its unit, like "90s", "30m" or "2h"`)
		return 0
	case !t.r.is(n, kindString, t.at(key)):
		return 0
	}
	d, err := ParseDuration(n.text)
	if err != nil {
		message, hint, _ := strings.Cut(err.Error(), "; ")
		if hint == noLimit {
			hint = without
		}
		t.r.fault(n.at, t.at(key), message, hint)
	}
	return d
}

// otherwise is the hint for a limit that has a default.
func otherwise(value int) string { return fmt.Sprintf("without the key it is %d", value) }

// bounded reads a whole number from 1 to high; absent or wrong, it is 0.
func (t *table) bounded(key string, high int64, hint string) int64 {
	n := t.want(key, kindInteger)
	if n == nil || n.unreadable {
		return 0
	}
	if n.number < 1 || n.number > high {
		t.r.fault(n.at, t.at(key), fmt.Sprintf("must be between 1 and %d", high), hint)
		return 0
	}
	return n.number
}

// cost reads an amount of money that is more than 0; absent or wrong, it is 0.
func (t *table) cost(key string) float64 {
	n := t.number(key)
	if n == nil {
		return 0
	}
	// Written so that NaN does not pass: no comparison with it holds.
	if v := n.amount(); v > 0 && v <= MostCost {
		return v
	}
	t.r.fault(n.at, t.at(key), fmt.Sprintf("must be more than 0 and at most %d US dollars", MostCost), noLimit)
	return 0
}

// number returns the value of a key if it is a number of either kind.
func (t *table) number(key string) *node {
	n := t.get(key)
	if n == nil || n.unreadable {
		return nil
	}
	if n.kind != kindInteger && n.kind != kindFloat {
		hint := ""
		if n.kind == kindString {
			hint = "write a number without quotes and signs, like 0.50"
		}
		t.r.fault(n.at, t.at(key), fmt.Sprintf("must be a number, not %s", n.kind), hint)
		return nil
	}
	return n
}

// amount is a number of either kind.
func (n *node) amount() float64 {
	if n.kind == kindInteger {
		return float64(n.number)
	}
	return n.real
}

// prices reads what models cost.
func (r *reader) prices(t *table) map[string]Price {
	all := t.sub("prices")
	if all == nil || len(all.n.keys) == 0 {
		return nil
	}
	prices := map[string]Price{}
	for _, model := range all.n.keys {
		n, path := all.n.fields[model], all.at(model)
		if !r.check(&node{at: n.keyAt, text: model}, path, []rule{length(1, 255), printable}) {
			continue
		}
		if n.kind != kindTable {
			r.fault(n.at, path, fmt.Sprintf("must be a table, not %s", n.kind), "write [prices."+quote(model)+"] with input and output below it")
			continue
		}
		prices[model] = r.price(model, &table{r: r, n: n, path: path})
	}
	return prices
}

// The keys of a price, for the schema and for hints.
var priceKeys = []string{"input", "output", "cachedInput", "cacheWrite"}

func (r *reader) price(model string, t *table) Price {
	const unit = "it is US dollars for a million tokens"
	read := func(key string, required bool, otherwise float64) float64 {
		n := t.number(key)
		if n == nil {
			if required && t.n.fields[key] == nil && !t.splitName() {
				r.missing(t.n.keyAt, t.at(key), "is required", unit)
			}
			return otherwise
		}
		v := n.amount()
		if v >= 0 && v <= mostPrice { // NaN fails here
			return math.Abs(v) // -0.0 is 0
		}
		r.fault(n.at, t.at(key), fmt.Sprintf("must be between 0 and %d", mostPrice), unit)
		return otherwise
	}
	p := Price{Input: read("input", true, 0), Output: read("output", true, 0)}
	p.CachedInput = read("cachedInput", false, p.Input)
	p.CacheWrite = read("cacheWrite", false, p.Input)
	t.finish(func(key string) string {
		if t.n.fields[key].kind != kindTable {
			return ""
		}
		return "put the name of the model in quotes, like [prices." + quote(model+"."+key) + "]"
	}, misplaced)
	return p
}

// splitName reports whether a dot in the name of a model was taken for the end of a table:
// [prices.gpt-4.1] is the table "1" in "gpt-4", and lacks no key of its own.
func (t *table) splitName() bool {
	for _, n := range t.n.fields {
		if n.kind == kindTable {
			return true
		}
	}
	return false
}
