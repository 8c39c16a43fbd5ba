package model

import (
	"cmp"
	_ "embed"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/perstack-go/perstack/expert"
)

// catalogue is the file catalogue.json. It holds all that ages, so that a new model or a
// new price is a change of data.
type catalogue struct {
	Date   string  `json:"date"` // on which, or after which, each price was looked up
	Models []Entry `json:"models"`
}

// An Entry is a model that perstack knows.
type Entry struct {
	Provider string `json:"provider"`
	ID       string `json:"id"`
	Known
	Price *expert.Price `json:"price"` // nil if it is not known for certain
	Date  string        `json:"date"`  // day, as 2006-01-02, on which all this was known to be right
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
	for i := range c.Models { // a row has a date if it was looked up later than the rest
		c.Models[i].Date = cmp.Or(c.Models[i].Date, c.Date)
	}
	return c
})

func parseCatalogue(data []byte) (c catalogue, err error) {
	abilities := json.UnmarshalFromFunc(func(dec *jsontext.Decoder, a *Ability) error {
		var can bool
		err := json.UnmarshalDecode(dec, &can)
		*a = ability(can)
		return err
	})
	if err := json.Unmarshal(data, &c, json.RejectUnknownMembers(true), json.WithUnmarshalers(abilities)); err != nil {
		return catalogue{}, fmt.Errorf("the catalogue of models cannot be read: %w", err)
	}
	return c, nil
}

// All lists the catalogue, a provider's models together. Models of Google stand there
// for google-vertex too, and those of OpenAI, but for their prices, for azure-openai.
func All() []Entry {
	all := slices.Clone(known().Models)
	for i := range all {
		all[i].Efforts = slices.Clone(all[i].Efforts)
		if all[i].Price != nil {
			all[i].Price = new(*all[i].Price)
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

// find returns what the catalogue has of a model. A name that only looks like another is
// another model: neither its window nor its price may be guessed.
//
// The exact id counts first, since a single version may have a price of its own. Then
// comes the model without its version, and last a model that is listed in another of its
// versions. Where Bedrock runs it makes no difference, unless the row says where: then it
// is cheaper there.
func find(provider, model string) *Entry {
	rows := known().Models
	plain := unversioned(provider, model)
	if provider == bedrock {
		plain = anywhere(plain)
	}
	for _, same := range []func(id string) bool{
		func(id string) bool { return id == model },
		func(id string) bool { return id == plain },
		func(id string) bool { return unversioned(provider, id) == plain },
	} {
		for i := range rows {
			if rows[i].Provider == provider && same(rows[i].ID) {
				return &rows[i]
			}
		}
	}
	return nil
}

// unversioned takes off a model's id what does not tell models apart: the day of its
// release, as -20250929, -2025-08-07 or @20250929, or -latest, and for Bedrock -v1:0.
func unversioned(provider, id string) string {
	if provider == bedrock {
		id = strings.TrimSuffix(id, "-v1:0")
	}
	return version().ReplaceAllString(id, "")
}

var version = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`([-@](\d{8}|latest)|-\d{4}-\d\d-\d\d)$`)
})

// anywhere takes off where Bedrock runs a model.
func anywhere(id string) string {
	region, rest, _ := strings.Cut(id, ".")
	if slices.Contains([]string{"us", "us-gov", "eu", "apac", "au", "ca", "jp", "global"}, region) {
		return rest
	}
	return id
}
