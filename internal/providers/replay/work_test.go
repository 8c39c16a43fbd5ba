package replay

import (
	"fmt"
	"strings"
	"testing"
)

// Comparing every text with every other is bounded: a cassette is read before a run.
func TestManyTextsAreRefused(t *testing.T) {
	for name, tt := range map[string]struct {
		count, size int
		rule        string
		fits        bool
	}{
		"as many as there may be": {2000, 10, "contains", true},
		"one more":                {2001, 10, "contains", false},
		"one more query":          {2001, 10, "query", false},
		"long ones":               {3, 400_000, "query", false},
		"a long one":              {1, 400_000, "query", true},
	} {
		var b strings.Builder
		for i := range tt.count {
			fmt.Fprintf(&b, "[[turn]]\n%s = \"%0*d.\"\ntext = \"x\"\n", tt.rule, tt.size, i)
		}
		_, err := Parse("c.toml", []byte(b.String()))
		if tt.fits != (err == nil) || err != nil && !strings.Contains(err.Error(), "more than 2000 turns have the rule contains or query") {
			t.Errorf("%s: %v", name, err)
		}
	}
}
