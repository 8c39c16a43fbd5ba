package card

import (
	"slices"
	"testing"
)

// Every kind has a word, and kinds keep their order.
func TestLines(t *testing.T) {
	got := Lines([]Ability{{Kind: Limit, Text: "5 steps"}, {Kind: Package, Text: "npx a"}, {Kind: Package, Text: "uvx b"}})
	if want := []string{"packages: npx a, uvx b", "limits: 5 steps"}; !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
	for _, kind := range order {
		if plurals[kind] == "" {
			t.Errorf("%s has no word", kind)
		}
	}
}
