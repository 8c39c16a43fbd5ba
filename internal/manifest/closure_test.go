package manifest

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/perstack-go/perstack/expert"
)

func TestClosure(t *testing.T) {
	c := check(t, `
[experts.lead]
instruction = "x"
delegates = ["second", "@reg/far", "first@1.0.0"]
[experts.first]
instruction = "x"
delegates = ["deep", "lead", "first@2.0.0", "@reg/far"]
[experts.second]
instruction = "x"
delegates = ["first", "deep@latest"]
[experts.deep]
instruction = "x"
delegates = ["second"]
[experts.alone]
instruction = "x"
`)
	for name, want := range map[string]string{
		"lead":   "lead second first deep; @reg/far deep@latest first@2.0.0",
		"deep":   "deep second first lead; deep@latest first@2.0.0 @reg/far",
		"alone":  "alone; ",
		"first":  "first deep lead second; first@2.0.0 @reg/far deep@latest",
		"second": "second first deep lead; deep@latest first@2.0.0 @reg/far",
	} {
		e, _ := c.Lookup(name)
		experts, missing := c.Closure(e)
		var names []string
		for _, e := range experts {
			names = append(names, e.Name)
		}
		if got := strings.Join(names, " ") + "; " + strings.Join(missing, " "); got != want {
			t.Errorf("closure of %s: %s, want %s", name, got, want)
		}
	}
}

// An Expert that is not of the file is in its own closure.
func TestClosureOfAnotherExpert(t *testing.T) {
	c := check(t, expertWith(""))
	experts, missing := c.Closure(&expert.Expert{Name: "far", Delegates: []string{"a", "far"}})
	if len(experts) != 2 || experts[1] != c.Experts[0] || !slices.Equal(missing, []string{"far"}) {
		t.Errorf("%v, %v", experts, missing)
	}
}

// The longest chain that fits into a file ends.
func TestClosureOfAChain(t *testing.T) {
	var b strings.Builder
	const n = 1000
	for i := range n {
		fmt.Fprintf(&b, "[experts.e%d]\ninstruction='x'\ndelegates=['e%d']\n", i, (i+1)%n)
	}
	c := check(t, b.String())
	if experts, missing := c.Closure(c.Experts[7]); len(experts) != n || missing != nil {
		t.Errorf("%d experts, %d missing", len(experts), len(missing))
	}
}
