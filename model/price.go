package model

import (
	_ "embed"
	"fmt"
	"strings"
	"sync"

	"github.com/go-json-experiment/json"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/expert"
)

// PriceOf returns what a provider's model costs by its list prices of [PricesDate]. What
// a user pays may be another price, which perstack.toml can state. A model that is not in
// the table has no price, rather than a guessed one: a limit in money must hold.
func PriceOf(provider, modelName string) (expert.Price, bool) {
	for _, p := range prices().Prices {
		if p.Provider == provider && strings.Contains(modelName, p.Model) {
			return expert.Price{Input: p.Input, CachedInput: p.CachedInput, CacheWrite: p.CacheWrite, Output: p.Output}, true
		}
	}
	return expert.Price{}, false
}

// PricesDate is the day, as 2006-01-02, on which the prices of [PriceOf] were known to be
// right.
func PricesDate() string { return prices().Date }

// Cost is what tokens cost, in US dollars. What was not read from the provider's cache
// counts as written to it: all of it may have been, and a limit must not be passed by
// rounding down.
func Cost(p expert.Price, u event.Usage) float64 {
	cached := min(u.CachedInputTokens, u.InputTokens)
	return (float64(u.InputTokens-cached)*max(p.Input, p.CacheWrite) + float64(cached)*p.CachedInput + float64(u.OutputTokens)*p.Output) / 1e6
}

// priceList is the file prices.json. It holds all that ages, so that a new price is a
// change of data.
type priceList struct {
	Date   string     `json:"date"`
	Prices []priceRow `json:"prices"` // the first match counts
}

// priceRow is what one model costs, in US dollars for a million tokens. Model is a part
// of the name, as in the table of known models.
type priceRow struct {
	Provider    string  `json:"provider"`
	Model       string  `json:"model"`
	Input       float64 `json:"input"`
	CachedInput float64 `json:"cachedInput"`
	CacheWrite  float64 `json:"cacheWrite"`
	Output      float64 `json:"output"`
}

//go:embed prices.json
var pricesFile []byte

// prices is the list, read when it is first asked for. A file that cannot be read has no
// prices; the tests see to it that ours can.
var prices = sync.OnceValue(func() priceList {
	list, err := parsePrices(pricesFile)
	if err != nil {
		return priceList{}
	}
	return list
})

func parsePrices(data []byte) (list priceList, err error) {
	if err := json.Unmarshal(data, &list, json.RejectUnknownMembers(true)); err != nil {
		return priceList{}, fmt.Errorf("the table of prices cannot be read: %w", err)
	}
	return list, nil
}
