package view

import (
	"fmt"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/perstack-go/perstack/internal/registry/card"
	"github.com/perstack-go/perstack/internal/registry/definition"
	"github.com/perstack-go/perstack/internal/textdiff"
)

// A difference is that of two versions, for programs.
type difference struct {
	From        *shown         `json:"from"`
	To          *shown         `json:"to"`
	Same        bool           `json:"same"`   // they have the same content
	Gained      []card.Ability `json:"gained"` // what only the second can do
	Lost        []card.Ability `json:"lost"`
	Instruction string         `json:"instruction,omitzero"` // in the unified format
	Definition  string         `json:"definition,omitzero"`  // everything else, as indented JSON
	Delegates   []moved        `json:"delegates"`
}

// A moved delegate means another version, or is in one of the two only.
type moved struct {
	Key    string `json:"key"`
	Before string `json:"before,omitzero"` // exact key and digest
	After  string `json:"after,omitzero"`
}

func compare(before, after *shown) *difference {
	d := &difference{From: before, To: after, Same: before.Digest == after.Digest, Gained: []card.Ability{}, Lost: []card.Ability{}, Delegates: []moved{}}
	gained, lost := card.Compare(before.Card, after.Card)
	d.Gained, d.Lost = append(d.Gained, gained...), append(d.Lost, lost...)
	d.Instruction = textdiff.Hunks(ended(before.definition.Instruction), ended(after.definition.Instruction))
	d.Definition = textdiff.Hunks(rest(before.definition), rest(after.definition))
	exact := func(all []delegate, key string) string {
		for _, one := range all {
			if one.Key == key {
				return one.Exact + " " + one.Digest
			}
		}
		return ""
	}
	for _, one := range before.Delegates {
		if was, is := exact(before.Delegates, one.Key), exact(after.Delegates, one.Key); was != is {
			d.Delegates = append(d.Delegates, moved{one.Key, was, is})
		}
	}
	for _, one := range after.Delegates {
		if exact(before.Delegates, one.Key) == "" {
			d.Delegates = append(d.Delegates, moved{one.Key, "", exact(after.Delegates, one.Key)})
		}
	}
	return d
}

// ended is a text that ends with a line break.
func ended(text string) []byte { return []byte(strings.TrimSuffix(text, "\n") + "\n") }

// rest is everything of a definition but the instruction, with a line for each value.
func rest(d *definition.Definition) []byte {
	copied := *d
	copied.Instruction = "-" // a definition must have one
	text := jsontext.Value(copied.Encode())
	if err := text.Indent(); err != nil {
		return copied.Encode()
	}
	return append(text, '\n')
}

// describe writes the difference for people.
func (d *difference) describe() string {
	out := &strings.Builder{}
	for _, one := range []struct {
		mark string
		v    *shown
	}{{"-", d.From}, {"+", d.To}} {
		proof := fmt.Sprintf("verified, log entry %d", one.v.LogIndex)
		if !one.v.Verified {
			proof = "not verified"
		}
		fmt.Fprintf(out, "%s %s  %s  %s\n", one.mark, one.v.Key, one.v.Digest, proof)
	}
	if d.From.Signer != d.To.Signer {
		fmt.Fprintf(out, "\nSigned by\n  - %s\n  + %s\n", signer(d.From), signer(d.To))
	}
	if d.Same {
		fmt.Fprintln(out, "\nBoth have the same content.")
		return out.String()
	}
	if len(d.Gained)+len(d.Lost) > 0 {
		fmt.Fprintln(out, "\nWhat it can do, with its delegates")
		if len(d.Gained) > 0 {
			abilities(out, "  + ", d.Gained)
		}
		if len(d.Lost) > 0 {
			abilities(out, "  - ", d.Lost)
		}
	} else {
		fmt.Fprintln(out, "\nBoth can do the same.")
	}
	if len(d.Delegates) > 0 {
		fmt.Fprintln(out, "\nDelegates")
		for _, m := range d.Delegates {
			text(out, "  ", m.Key)
			if m.Before != "" {
				text(out, "    - ", m.Before)
			}
			if m.After != "" {
				text(out, "    + ", m.After)
			}
		}
	}
	for _, part := range []struct{ title, hunks string }{{"Instruction", d.Instruction}, {"Everything else", d.Definition}} {
		if part.hunks != "" {
			fmt.Fprintf(out, "\n%s\n", part.title)
			text(out, "  ", part.hunks)
		}
	}
	return out.String()
}

func signer(v *shown) string {
	if v.Signer == "" {
		return "no key"
	}
	return v.Signer
}
