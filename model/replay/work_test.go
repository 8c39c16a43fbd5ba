package replay

import (
	"fmt"
	"strings"
	"testing"
)

// Comparing every text with every other is bounded: a cassette is read before a run.
func TestManyTextsAreRefused(t *testing.T) {
	var b strings.Builder
	for i := range 501 {
		fmt.Fprintf(&b, "[[turn]]\ncontains = \"text %d.\"\ntext = \"x\"\n", i)
	}
	if _, err := Parse("c.toml", []byte(b.String())); err == nil || !strings.Contains(err.Error(), "more than 500 turns") {
		t.Errorf("error = %v", err)
	}
}
