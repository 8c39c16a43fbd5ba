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
	prices  map[string]price // of the model that each Run has
	dollars float64
	unknown bool // some of it has no price, so the sum would be wrong
}

type price struct {
	expert.Price
	known bool
}

func (c *costs) add(e event.Event) {
	if b, ok := e.Body.(event.StartRun); ok {
		// A Run that goes on may do so with another model.
		p, known := model.PriceOf(b.Provider, b.Model)
		if c.prices == nil {
			c.prices = make(map[string]price)
		}
		c.prices[e.RunID] = price{p, known}
	}
	c.spend(e.RunID, e.Usage())
}

// spend counts as the limits on cost do: what was not read from the provider's cache may
// have been written to it.
func (c *costs) spend(runID string, u event.Usage) {
	p := c.prices[runID]
	if !p.known {
		c.unknown = c.unknown || u.InputTokens > 0 || u.OutputTokens > 0
		return
	}
	c.dollars += model.Cost(p.Price, u)
}

// line says what it cost; nothing if that is not known, or was nothing.
func (c *costs) line() string {
	if c.unknown || c.dollars == 0 {
		return ""
	}
	return fmt.Sprintf("about $%.4f, by the list prices of %s", c.dollars, model.PricesDate())
}
