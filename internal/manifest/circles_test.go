package manifest

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/perstack-go/perstack/expert"
)

func TestCircles(t *testing.T) {
	c := check(t, `
[experts.lead]
instruction = "x"
delegates = ["leaf", "b", "x"]
[experts.a]
instruction = "x"
delegates = ["b", "leaf"]
[experts.b]
instruction = "x"
delegates = ["c@1.0.0"]
[experts.c]
instruction = "x"
delegates = ["a", "lead@2.0.0"]
[experts.leaf]
instruction = "x"
[experts.x]
instruction = "x"
delegates = ["y", "b"]
[experts.y]
instruction = "x"
delegates = ["x", "@reg/y"]
`)
	for name, want := range map[string]string{
		"lead": "b c a; x y",
		"c":    "c a b",
		"y":    "y x; b c a",
		"leaf": "",
	} {
		e, _ := c.Lookup(name)
		var groups []string
		for _, group := range c.Circles(e) {
			var names []string
			for _, e := range group {
				names = append(names, e.Name)
			}
			groups = append(groups, strings.Join(names, " "))
		}
		if got := strings.Join(groups, "; "); got != want {
			t.Errorf("circles of %s: %q, want %q", name, got, want)
		}
	}
}

// An Expert is in a circle just if one of those that it can ask can reach it.
func TestCirclesAreThoseThatReachThemselves(t *testing.T) {
	const n = 7
	for seed := range 200 {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, "[experts.e%d]\ninstruction='x'\ndelegates=[", i)
			for j := range n {
				if i != j && (seed*31+i*17+j*j*7+i*j*seed)%5 == 0 {
					fmt.Fprintf(&b, "'e%d',", j)
				}
			}
			b.WriteString("]\n")
		}
		c := check(t, b.String())
		circling := map[*expert.Expert]bool{}
		for _, group := range c.Circles(c.Experts[0]) {
			for _, e := range group {
				circling[e] = true
			}
		}
		reached, _ := c.Closure(c.Experts[0])
		for _, e := range reached {
			again := false
			for _, key := range e.Delegates {
				d, _ := c.Lookup(key)
				all, _ := c.Closure(d)
				for _, other := range all {
					again = again || other == e
				}
			}
			if again != circling[e] {
				t.Fatalf("%s reaches itself: %t, is in a circle: %t, in\n%s", e.Name, again, circling[e], b.String())
			}
		}
	}
}

func TestUndescribed(t *testing.T) {
	c := check(t, "[experts.lead]\ninstruction='x'\ndelegates=['told','\x40o/bare@1.0.0','gone']\n[experts.told]\ninstruction='x'\ndescription='d'\ndelegates=['\x40o/bare']\n[experts.\"@o/bare\"]\ninstruction='x'")
	got := strings.Join(lines(c.DelegateWarnings()), "\n")
	want := `p.toml:8:10: warning: experts."@o/bare": has no description, but "lead" delegates to it; say in one what it is for: the model reads it to know when to ask`
	if got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// An interactive skill of a delegate gets no answers from a user. An Expert that
// is only run by itself gets them.
func TestUnanswerable(t *testing.T) {
	const ask = "[experts.%s.skills.ask]\ntype='interactiveSkill'\n[experts.%s.skills.ask.tools.when]\ndescription='When?'\ninputJsonSchema='{\"type\":\"object\"}'\n"
	of := func(key string) string { return strings.ReplaceAll(ask, "%s", key) }
	c := check(t, "[experts.lead]\ninstruction='x'\ndelegates=['\x40o/asker@1.0.0','quiet','gone']\n"+of("lead")+
		"[experts.quiet]\ninstruction='x'\ndescription='d'\ndelegates=['\x40o/asker']\n[experts.\"@o/asker\"]\ninstruction='x'\ndescription='d'\n"+of(`"@o/asker"`))
	got := strings.Join(lines(c.DelegateWarnings()), "\n")
	want := `experts."@o/asker".skills.ask: the user cannot answer it when "lead" delegates to "@o/asker": a delegate does not get these tools; have "lead" ask, and put the answer into the query`
	if !strings.HasSuffix(got, want) || !strings.HasPrefix(got, "p.toml:16:") || strings.Contains(got, "\n") || !strings.Contains(got, " warning: ") {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// Two Experts meet if one run can have both, whichever Expert starts it.
func TestMeets(t *testing.T) {
	c, ps := Parse("p.toml", []byte(`
experts.lead = {instruction = "x", delegates = ["a", "b"]}
experts.a = {instruction = "x", maxCost = 1}
experts.b = {instruction = "x", model = "m", delegates = ["c"]}
experts.c = {instruction = "x", model = "n", delegates = ["b"]}
experts.alone = {instruction = "x", maxCost = 1}
experts.other = {instruction = "x", model = "o"}
experts.both = {instruction = "x", maxCost = 1, model = "p"}
`))
	if c == nil {
		t.Fatal(ps)
	}
	var got []string
	c.Meets(func(e *expert.Expert) bool { return e.MaxCost > 0 }, func(e *expert.Expert) string { return e.Model },
		func(e *expert.Expert, kind string) { got = append(got, e.Key+" "+kind) })
	if d := cmp.Diff([]string{"a m", "a n", "both p"}, got); d != "" {
		t.Errorf("(-want +got)\n%s", d)
	}
}
