package model

import (
	"cmp"
	_ "embed"
	"fmt"
	"slices"
	"sync"

	"github.com/go-json-experiment/json"

	"github.com/perstack-go/perstack/expert"
)

// catalogue is the file catalogue.json. It holds all that ages, so that a new model or a
// new price is a change of data.
type catalogue struct {
	Date   string `json:"date"` // on which, or after which, each price was looked up
	Models []row  `json:"models"`
}

// row is what the file says of one model.
type row struct {
	Provider        string        `json:"provider"`
	ID              string        `json:"id"`
	ContextWindow   int           `json:"contextWindow"`
	MaxOutputTokens int           `json:"maxOutputTokens"`
	Reasoning       Reasoning     `json:"reasoning"`
	Efforts         []string      `json:"efforts"`
	Images          bool          `json:"images"`
	PDF             bool          `json:"pdf"`
	Price           *expert.Price `json:"price"` // nil if it is not known for certain
	Date            string        `json:"date"`  // when it was looked up, if later than the rest; else empty
}

//go:embed catalogue.json
var catalogueFile []byte

// known is the catalogue, read when it is first asked for. A file that cannot be read
// knows nothing; the tests see to it that ours can.
var known = sync.OnceValue(func() catalogue {
	c, err := parseCatalogue(catalogueFile)
	if err != nil {
		return catalogue{}
	}
	return c
})

func parseCatalogue(data []byte) (c catalogue, err error) {
	if err := json.Unmarshal(data, &c, json.RejectUnknownMembers(true)); err != nil {
		return catalogue{}, fmt.Errorf("the catalogue of models cannot be read: %w", err)
	}
	return c, nil
}

func (r *row) known() Known {
	ability := func(can bool) Ability {
		if can {
			return Able
		}
		return Unable
	}
	return Known{
		ContextWindow: r.ContextWindow, MaxOutputTokens: r.MaxOutputTokens,
		Reasoning: r.Reasoning, Efforts: slices.Clone(r.Efforts),
		Images: ability(r.Images), PDF: ability(r.PDF),
	}
}

func (r *row) date() string { return cmp.Or(r.Date, known().Date) }

// An Entry is a model that perstack knows.
type Entry struct {
	Provider string
	ID       string
	Known
	Price *expert.Price // nil if it is not known
	Date  string        // day, as 2006-01-02, on which all this was known to be right
}

// All lists the catalogue, a provider's models together. Models of Google stand there
// for google-vertex too, and those of OpenAI, but for their prices, for azure-openai.
func All() []Entry {
	rows := known().Models
	all := make([]Entry, len(rows))
	for i := range rows {
		r := &rows[i]
		all[i] = Entry{r.Provider, r.ID, r.known(), nil, r.date()}
		if r.Price != nil {
			all[i].Price = new(*r.Price)
		}
	}
	return all
}

// Of lists what the catalogue has of one provider, under its own name: for google-vertex
// the models of Google, and for azure-openai those of OpenAI, without prices.
func Of(provider string) (all []Entry) {
	for _, e := range All() {
		if e.Provider != listed(provider) {
			continue
		}
		if e.Provider = provider; provider == azure {
			e.Price = nil
		}
		all = append(all, e)
	}
	return all
}
