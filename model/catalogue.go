package model

import (
	"cmp"
	"slices"
	"strings"

	"github.com/perstack-go/perstack/expert"
)

// An Entry is a model that perstack knows.
type Entry struct {
	Provider string
	ID       string
	Known
	Price *expert.Price // nil if it is not known for certain
	Date  string        // day, as 2006-01-02, on which all this was known to be right
}

func (e *Entry) date() string { return cmp.Or(e.Date, rowsDate) }

// All lists the catalogue, a provider's models together. Models of Google stand there
// for google-vertex too, and those of OpenAI, but for their prices, for azure-openai.
func All() []Entry {
	all := slices.Clone(rows)
	for i := range all {
		all[i].Date = all[i].date()
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
	for _, form := range []string{"-00000000", "@00000000", "-0000-00-00", "-latest", "@latest"} {
		if rest := len(id) - len(form); rest >= 0 && hasForm(id[rest:], form) {
			return id[:rest]
		}
	}
	return id
}

// hasForm compares a text with a form of the same length, in which 0 stands for any digit.
func hasForm(text, form string) bool {
	for i := range len(form) {
		if c := text[i]; c != form[i] && (form[i] != '0' || c < '0' || c > '9') {
			return false
		}
	}
	return true
}

// anywhere takes off where Bedrock runs a model.
func anywhere(id string) string {
	region, rest, _ := strings.Cut(id, ".")
	if slices.Contains([]string{"us", "us-gov", "eu", "apac", "au", "ca", "jp", "global"}, region) {
		return rest
	}
	return id
}
