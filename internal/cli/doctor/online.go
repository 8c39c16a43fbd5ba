package doctor

import (
	"context"
	"net/url"

	"github.com/perstack-go/perstack/expert"
	"github.com/perstack-go/perstack/internal/egress"
	"github.com/perstack-go/perstack/internal/providers"
	"github.com/perstack-go/perstack/internal/version"
)

// connect tries to reach the addresses of a model, without its key.
func (x *examination) connect(ctx context.Context, c providers.Config) (all []Check) {
	if c.Provider == "replay" {
		return nil
	}
	bundle, err := providers.Pack(c, []*expert.Expert{c.Expert})
	if err != nil {
		return nil // the check of the key has said why
	}
	for _, address := range bundle.URLs {
		check := Check{ID: "online." + c.Provider, Title: "online", Status: OK, Detail: address + " answers"}
		origin, err := url.Parse(address)
		switch {
		case err != nil:
			check.Status, check.Detail = Fail, "the address of "+c.Provider+" cannot be read"
		case bundle.Upstream != "":
			check.Status, check.Detail = Info, address+" is reached through a proxy and was not tried"
		default:
			// Opening the model has checked the address. The user may have named a private one.
			if err := egress.TryOrigin(ctx, egress.Policy{Origin: origin, AllowPrivate: true}, "perstack/"+version.Number); err != nil {
				check.Status, check.Detail = Fail, address+" cannot be reached: "+err.Error()
				check.Fix = "check the network and its DNS server; behind a proxy, set HTTPS_PROXY"
			}
		}
		all = append(all, check)
	}
	return all
}
