package probe

import (
	"context"
	"fmt"
)

// addressRows ask for names that are on the list and lead to forbidden addresses.
func addressRows(c Config) []Row {
	var rows []Row
	for _, zone := range liars {
		if zone == "rebind.test" {
			continue
		}
		host, reason := c.name(zone), "address"
		if zone == "nowhere.test" {
			reason = "resolve"
		}
		rows = append(rows, Row{
			ID: "leads-" + zone, Promise: "N6", What: "an allowed name that the name server lies about: " + zone, Want: []string{Refused}, Event: "blocked " + reason + " " + host, Asks: host,
			run: func(ctx context.Context, p *Probe) Result { return p.request(ctx, connect(host+":443"), host) },
		})
	}
	rebind := c.name("rebind.test")
	return append(rows, Row{
		ID: "rebind", Promise: "N6", What: "a name that is public at first and the metadata service when it is asked again", Want: []string{Refused}, Event: "allowed " + rebind + "\nblocked address " + rebind, Asks: rebind,
		run: func(ctx context.Context, p *Probe) Result {
			first := p.request(ctx, connect(rebind+":443"), rebind)
			if first.Outcome != Reached {
				return Result{Tried: 1, Outcome: Broken, Detail: "the first time: " + first.Outcome + " " + first.Detail}
			}
			second := p.request(ctx, connect(rebind+":443"), rebind)
			second.Tried, second.Detail = 2, fmt.Sprintf("first %s, then %s", first.Outcome, second.Detail)
			return second
		},
	})
}
