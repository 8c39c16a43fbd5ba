package toml

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/perstack-go/perstack/internal/testkit/attack"
)

// A file that would keep the decoder busy is refused before the decoder sees it. Files that
// people have are far from the limit.
func TestDecoderCost(t *testing.T) {
	many := func(n int, text func(b *strings.Builder, i int)) string {
		var b strings.Builder
		for i := range n {
			text(&b, i)
		}
		return b.String()
	}
	crossing := many(50_000, func(b *strings.Builder, i int) { fmt.Fprintf(b, "[a%d.b%d]\n", i%1000, i/1000) })
	for name, text := range map[string]string{
		"tables":        crossing,
		"dotted keys":   many(50_000, func(b *strings.Builder, i int) { fmt.Fprintf(b, "a%d.b%d=1\n", i%1000, i/1000) }),
		"arrays":        many(100_000, func(b *strings.Builder, i int) { fmt.Fprintf(b, "[[a%d]]\n", i%1000) }),
		"array at last": crossing[:len(crossing)/3] + strings.Repeat("[[x]]\n", 50_000),
		"hidden behind an array": "[[x]]\n" + many(1000, func(b *strings.Builder, i int) { fmt.Fprintf(b, "a%d={%sz=1}\n", i, strings.Repeat("b.", 20)) }) +
			"[[x]]\n" + crossing,
	} {
		r, root := ReadTree("p.toml", []byte(text))
		if root != nil || len(r.Problems) != 1 || r.Problems[0].Message != "the file has too many tables and keys to be read in time" {
			t.Errorf("%s: %v", name, r.Problems.First(3))
		}
	}
	for name, text := range map[string]string{
		"experts": many(1000, func(b *strings.Builder, i int) {
			fmt.Fprintf(b, "[experts.e%d]\ninstruction='x'\ndelegates=['a']\n[experts.e%d.skills.a]\ntype='x'\ncommand='y'\n[experts.e%d.skills.b]\ntype='x'\ncommand='y'\n", i, i, i)
		}),
		"locked tools": many(200, func(b *strings.Builder, i int) {
			fmt.Fprintf(b, "[experts.e%d]\nkey='x'\n[experts.e%d.skills.s]\ndigest='x'\n", i, i)
			for range 50 {
				fmt.Fprintf(b, "[[experts.e%d.tools]]\na=1\nb=1\nc=1\nd=1\n", i)
			}
		}),
	} {
		var b builder
		if _, err := b.build([]byte(text)); err != nil || b.excess != "" || b.decoder.steps > maxSteps/3 {
			t.Errorf("%s: %d of %d steps, %v, %s", name, b.decoder.steps, maxSteps, err, b.excess)
		}
	}
	attack.Held(t, "T15", 1)
}

// A file with a mistake everywhere is not described to its end.
func TestManyFaults(t *testing.T) {
	for name, text := range map[string]string{
		"twice":  strings.Repeat("a=1\n", 50_000),
		"syntax": strings.Repeat("a=x\n", 50_000),
	} {
		r, root := ReadTree("p.toml", []byte(text))
		for range 5000 {
			r.Is(root, KindString)
			r.Fault(0, "", "wrong", "")
		}
		if len(r.Problems) != MaxFaults+1 || r.Problems[MaxFaults].Message != "the file has more than 1000 problems" {
			t.Errorf("%s: %d problems", name, len(r.Problems))
		}
	}
	attack.Held(t, "T15", 1)
}

// T15: a file with millions of values is refused.
func TestTooManyValues(t *testing.T) {
	for name, text := range map[string]string{
		"items":  "a = [" + strings.Repeat("1,", maxValues) + "]",
		"tables": strings.Repeat("[[a]]\n", maxMarks/3),
	} {
		r, _ := ReadTree("f", []byte(text))
		if !slices.ContainsFunc(r.Problems, func(p Problem) bool { return strings.Contains(p.Message, "more than 250000 values") }) {
			t.Errorf("%s: %d problems", name, len(r.Problems))
		}
	}
}
