package models

import (
	"cmp"
	"slices"

	"github.com/perstack-go/perstack/internal/cli/complete"
	"github.com/perstack-go/perstack/internal/manifest"
	"github.com/perstack-go/perstack/job"
	"github.com/perstack-go/perstack/model"
)

// A list is what is printed. Its JSON is a promise to programs: fields are added, never
// taken away or given another meaning.
type list struct {
	Format int     `json:"format"` // 1
	Date   string  `json:"date"`   // on which the prices were known to be right, or later
	Models []entry `json:"models"`

	provider string // the only one; empty for all
}

// An entry is one model. What is not known is absent.
type entry struct {
	Provider        string   `json:"provider"`
	ID              string   `json:"id"`
	Default         bool     `json:"default"` // it is used when the user names none
	File            bool     `json:"file"`    // perstack.toml says something of it
	ContextWindow   int      `json:"contextWindow,omitzero"`
	MaxOutputTokens int      `json:"maxOutputTokens,omitzero"`
	Reasoning       string   `json:"reasoning,omitzero"`
	Efforts         []string `json:"efforts,omitempty"`
	Images          *bool    `json:"images,omitzero"`
	PDF             *bool    `json:"pdf,omitzero"`
	Price           *price   `json:"price,omitzero"`
	Date            string   `json:"date,omitzero"` // on which that was looked up
}

// A price is in US dollars for a million tokens. A cacheWrite of 0 costs as much as input.
type price struct {
	Input       float64    `json:"input"`
	CachedInput float64    `json:"cachedInput"`
	CacheWrite  float64    `json:"cacheWrite"`
	Output      float64    `json:"output"`
	Long        *longPrice `json:"long,omitzero"`
}

// A longPrice holds for requests that read more than Above tokens.
type longPrice struct {
	Above       int     `json:"above"`
	Input       float64 `json:"input"`
	CachedInput float64 `json:"cachedInput"`
	CacheWrite  float64 `json:"cacheWrite"`
	Output      float64 `json:"output"`
}

// newList puts the catalogue and the file together. In a list of all providers, those who
// have the models of another are left out.
func newList(c *manifest.Config, provider string) *list {
	l := &list{Format: 1, Date: model.PricesDate(), provider: provider}
	known := model.All()
	if provider != "" {
		known = model.Of(provider)
	}
	for _, name := range model.Providers() {
		if provider != "" && name != provider {
			continue
		}
		l.add(c, name, slices.DeleteFunc(slices.Clone(known), func(e model.Entry) bool { return e.Provider != name }))
	}
	return l
}

// add lists the models of one provider: those of the catalogue, then those that only the
// file has, which belong to the provider of the file.
func (l *list) add(c *manifest.Config, provider string, known []model.Entry) {
	mine := cmp.Or(c.Settings.Provider, job.DefaultProvider) == provider
	standard := model.DefaultModel(provider)
	if mine {
		standard = cmp.Or(c.Settings.Model, standard)
		for _, id := range complete.Described(c) {
			if !slices.ContainsFunc(known, func(e model.Entry) bool { return e.ID == id }) {
				e := model.Entry{Provider: provider, ID: id}
				// It may be another version of one that is listed.
				e.Known, _ = model.Lookup(provider, id)
				if p, ok := model.PriceOf(provider, id); ok {
					e.Price = &p
				}
				e.Date = model.PriceDate(provider, id)
				known = append(known, e)
			}
		}
	}
	for _, e := range known {
		l.Models = append(l.Models, newEntry(e, c, e.ID == standard))
	}
}

func newEntry(e model.Entry, c *manifest.Config, standard bool) entry {
	known := e.Known.With(c.Models[e.ID])
	if p, ok := c.Prices[e.ID]; ok {
		e.Price = &p
	}
	_, described := c.Models[e.ID]
	_, priced := c.Prices[e.ID]
	out := entry{
		Provider: e.Provider, ID: e.ID, Default: standard, File: described || priced,
		ContextWindow: known.ContextWindow, MaxOutputTokens: known.MaxOutputTokens,
		Reasoning: string(known.Reasoning), Efforts: known.Efforts,
		Images: yes(known.Images), PDF: yes(known.PDF), Date: e.Date,
	}
	if p := e.Price; p != nil {
		out.Price = &price{Input: p.Input, CachedInput: p.CachedInput, CacheWrite: p.CacheWrite, Output: p.Output}
		if l := p.Long; l.Above > 0 {
			out.Price.Long = &longPrice{l.Above, l.Input, l.CachedInput, l.CacheWrite, l.Output}
		}
	}
	return out
}

func yes(a model.Ability) *bool {
	if a == "" {
		return nil
	}
	able := a == model.Able
	return &able
}
