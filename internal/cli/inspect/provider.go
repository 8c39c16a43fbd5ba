package inspect

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/perstack-go/perstack/expert"
	"github.com/perstack-go/perstack/internal/manifest"
	"github.com/perstack-go/perstack/internal/providers"
	"github.com/perstack-go/perstack/internal/wording"
	"github.com/perstack-go/perstack/model"
)

// provider puts together which model the Runs of e ask, and where.
func (b *builder) provider(e *expert.Expert) *Provider {
	use := b.spec.ModelOf(e)
	setting := use.Setting
	p := &Provider{
		Name: use.Provider, Model: use.Model, BaseURL: address(setting.BaseURL),
		Headers: slices.Sorted(maps.Keys(setting.Headers)),
		Keys:    b.variables(model.KeyEnv(use.Provider)),

		ExtraBody: slices.Sorted(maps.Keys(setting.ExtraBody)),
		Resource:  setting.ResourceName,
		Project:   setting.Project,
		Region:    setting.Region,
		Location:  setting.Location,
		Safety:    setting.SafetySettings,

		KeyOptional:  model.ProviderNamed(use.Provider).KeyOptional,
		MayBePrivate: setting.AllowPrivateEndpoint,
	}
	if setting.Guardrail != nil {
		p.Guardrail = setting.Guardrail.Identifier
	}
	b.findDestination(p)
	if len(p.ExtraBody) > 0 {
		b.find(Finding{Severity: note, Message: "the file adds to every request: " + strings.Join(p.ExtraBody, ", ")})
	}
	return p
}

// findDestination looks at where the file sends what the Experts see. A base URL goes
// before a resource.
func (b *builder) findDestination(p *Provider) {
	switch {
	case p.BaseURL != "":
		b.find(Finding{Severity: warning, Kind: OtherProvider, Message: "what the Experts see and the key go to " + p.BaseURL + ", as the file says"})
	case p.Resource != "":
		b.find(Finding{Severity: warning, Kind: OtherProvider, Message: "what the Experts see and the key go to " + p.Resource + ".openai.azure.com, as the file says"})
	}
	if p.Project != "" && p.Name == "google-vertex" {
		b.find(Finding{Severity: warning, Kind: OtherProvider, Message: "what the Experts see goes to the Google Cloud project " + p.Project + ", as the file says"})
	}
}

// findRefused says what keeps a run from starting with any key.
func (b *builder) findRefused(e *expert.Expert) {
	use := b.spec.ModelOf(e)
	for _, refused := range providers.Check(providers.Config{
		Provider: use.Provider, Model: use.Model,
		Setting: use.Setting, Entry: b.config.Models[use.Model],
		Variables: func(name string) providers.Variable {
			return providers.Variable{Value: b.env.Get(name), File: b.env.File(name)}
		},
		Expert: e, OwnTools: true,
	}) {
		f := Finding{Severity: warning, Message: "no run will start: " + refused.Err.Error()}
		if refused.OfExpert(e) {
			f.Expert = e.Key
		}
		b.find(f)
	}
}

// models is what the file says of models.
func models(c *manifest.Config) (all []Model) {
	for _, name := range slices.Sorted(maps.Keys(c.Models)) {
		all = append(all, Model{name, c.Models[name]})
	}
	return all
}

// Rates are what a model costs, in US dollars for a million tokens.
type Rates struct {
	Input       float64 `json:"input"`
	Output      float64 `json:"output"`
	CachedInput float64 `json:"cachedInput"`
	CacheWrite  float64 `json:"cacheWrite"`
}

// A Price is what the file says that a model costs.
type Price struct {
	Model string `json:"model"`
	Rates
}

// A ListPrice is what the model costs as far as perstack knows. Limits on cost count with
// it, unless the file says otherwise.
type ListPrice struct {
	Rates
	Date string     `json:"date"`          // on which it was known to be right
	Long *LongPrice `json:"long,omitzero"` // absent where length makes no difference
}

// A LongPrice holds for requests that read more than Above tokens.
type LongPrice struct {
	Above int `json:"above"`
	Rates
}

func rates(p expert.Price) Rates { return Rates{p.Input, p.Output, p.CachedInput, p.CacheWrite} }

// listPrice is what a model costs as far as perstack knows; nil if the file says it.
func (b *builder) listPrice(p *Provider) *ListPrice {
	price, ok := model.PriceOf(p.Name, p.Model)
	if _, stated := b.config.Prices[p.Model]; stated || !ok {
		return nil
	}
	list := &ListPrice{Rates: rates(price), Date: cmp.Or(model.PriceDate(p.Name, p.Model), model.PricesDate())}
	if l := price.Long; l.Above > 0 {
		list.Long = &LongPrice{l.Above, Rates{l.Input, l.Output, l.CachedInput, l.CacheWrite}}
	}
	return list
}

// findPrice says that costs are counted with a price of the file, or that a model has no price
// although the cost is limited. A file that calls a model cheap is stopped by --max-cost later
// than its user thinks.
func (b *builder) findPrice(p *Provider) {
	if price, ok := b.config.Prices[p.Model]; ok {
		b.find(Finding{Severity: note, Message: fmt.Sprintf("limits on cost count with the prices of the file: %s and %s US dollars for a million tokens in and out of %s",
			wording.Number(price.Input), wording.Number(price.Output), p.Model)})
		return
	}
	if slices.Contains(b.unpriced, p.Model) {
		b.warn(fmt.Sprintf("maxCost needs the price of the model %q, which is not known: no run will start", p.Model),
			fmt.Sprintf("write it into [prices.%q]", p.Model))
	}
}

// price is the line beside limits on cost, if there are any.
func (c *Card) price() string {
	p := c.ListPrice
	if p == nil || c.Limits.MaxCost == 0 && !slices.ContainsFunc(c.Experts, func(e Expert) bool { return e.Limits.MaxCost > 0 }) {
		return ""
	}
	line := fmt.Sprintf("%s and %s US dollars for a million tokens in and out, the list price of %s", wording.Number(p.Input), wording.Number(p.Output), p.Date)
	if l := p.Long; l != nil {
		line += fmt.Sprintf("; %s and %s for requests of more than %d tokens", wording.Number(l.Input), wording.Number(l.Output), l.Above)
	}
	return line
}
