package model

import (
	"strings"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/expert"
)

// PriceOf returns what a provider's model costs by its list prices of [PricesDate]. What
// a user pays may be another price, which perstack.toml can state. A model that is not in
// the catalogue has no price, rather than a guessed one: a limit in money must hold.
//
// The name of a deployment of azure-openai says nothing about its price. Models of ollama are
// free, except those that run in its cloud, whose names end in "cloud".
func PriceOf(provider, modelName string) (expert.Price, bool) {
	switch {
	case provider == azure || modelName == "":
		return expert.Price{}, false
	case provider == ollama:
		return expert.Price{}, !strings.HasSuffix(modelName, "cloud")
	}
	if e := find(listed(provider), modelName); e != nil && e.Price != nil {
		return *e.Price, true
	}
	return expert.Price{}, false
}

// PricesDate is the day, as 2006-01-02, on which the oldest of the prices of [PriceOf] was
// known to be right.
func PricesDate() string { return rowsDate }

// PriceDate is the day on which what is known of a model was looked up. It is empty for a
// model that is not in the catalogue.
func PriceDate(provider, modelName string) string {
	if e := find(listed(provider), modelName); e != nil {
		return e.date()
	}
	return ""
}

// Cost is what the tokens of one call cost, in US dollars. What was not read from the
// provider's cache counts as written to it: all of it may have been, and a limit must not
// be passed by rounding down.
//
// The usage of several calls together may be counted at the price of long requests
// although none of them was one: that is too much, never too little.
func Cost(p expert.Price, u event.Usage) float64 {
	p = p.For(u.InputTokens)
	cached := min(u.CachedInputTokens, u.InputTokens)
	return (float64(u.InputTokens-cached)*max(p.Input, p.CacheWrite) + float64(cached)*p.CachedInput + float64(u.OutputTokens)*p.Output) / 1e6
}
