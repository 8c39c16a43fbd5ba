package log

import (
	"fmt"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/expert"
	"github.com/perstack-go/perstack/model"
)

// costs add up what a job cost, by the list prices that are known. What perstack.toml said
// about prices is not recorded, so the sum is about right at best.
type costs struct {
	prices  map[string]expert.Price // of the model that each Run has, if it is known
	dollars float64
	unknown bool // some of it has no price, so the sum would be wrong
}

// add counts as the limits on cost do: what was not read from the provider's cache can have
// been written to it.
func (c *costs) add(e event.Event) {
	if b, ok := e.Body.(event.StartRun); ok {
		delete(c.prices, e.RunID) // a resumed Run can have another model
		if p, known := model.PriceOf(b.Provider, b.Model); known {
			c.prices[e.RunID] = p
		}
	}
	u := e.Usage()
	if p, known := c.prices[e.RunID]; known {
		c.dollars += model.Cost(p, u)
	} else if u.InputTokens > 0 || u.OutputTokens > 0 {
		c.unknown = true
	}
}

// line says what it cost; nothing if that is not known, or was nothing.
func (c *costs) line() string {
	if c.unknown || c.dollars == 0 {
		return ""
	}
	return fmt.Sprintf("about $%.4f, by the list prices of %s", c.dollars, model.PricesDate())
}
