package manifest

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/perstack-go/perstack/expert"
	"github.com/perstack-go/perstack/job"
)

// numbered repeats a text n times with # replaced by the count.
func numbered(n int, text string) string {
	var b strings.Builder
	for i := range n {
		b.WriteString(strings.ReplaceAll(text, "#", strconv.Itoa(i)))
	}
	return b.String()
}

// A file of the greatest allowed size takes little time, whatever its shape.
// The limit of this test is generous: what it finds is squares, which take
// minutes.
func TestHostileFilesAreCheap(t *testing.T) {
	fill := func(head, item, tail string) string {
		return head + strings.Repeat(item, (maxFile-len(head)-len(tail))/len(item)) + tail
	}
	const head = "[experts.x]\ninstruction='x'\n"
	for name, text := range map[string]string{
		"unknown keys":         numbered(100_000, "model#=1\n"),
		"unknown, by thousand": numbered(30, "[[experts.x.y]]\n"+numbered(1000, "a#=1\n")),
		"unknown, inline":      "provider={" + numbered(100_000, "a#=1,") + "}",
		"experts, inline":      "experts={" + numbered(1000, "a#={},") + "}",
		"experts":              numbered(1000, "[experts.a#]\ninstruction='x'\ndelegates=['zq','yq']\n"),
		"limits":               numbered(1000, "[experts.a#]\ninstruction='x'\nmaxSteps=#1\nmaxTokens=#1\nmaxCost=#.5\nmaxDuration='#1s'\ndelegates=['a1','zq#']\n"),
		"bad limits":           numbered(1000, "[experts.a#]\ninstruction='x'\nmaxSteps=0\nmaxTokens=-#\nmaxCost=nan\nmaxDuration='# s'\n"),
		"prices":               numbered(1000, "[prices.'m#']\ninput=#\noutput=1.5\n"),
		"bad prices":           numbered(1000, "[prices.m#.x]\ninput=-1\n"),
		"price keys":           numbered(20, "[prices.m#]\n"+numbered(1000, "a#={}\n")),
		"long number":          fill("maxCost=0.", "1", ""),
		"long integer":         fill("maxTokens=", "1", ""),
		"long duration":        fill("maxDuration='", "1h", "'"),
		"delegates":            head + "delegates=[" + numbered(100_000, "'d#',") + "]",
		"bad delegates":        head + "delegates=[" + numbered(90_000, "'d# ',") + "]",
		"skills":               head + numbered(1000, "skills.s#.type='mcpStdioSkill'\n"),
		"array tables":         fill("", "[[a]]\n", ""),
		"nested arrays":        fill("a=", "[", ""),
		"dotted key":           fill("", "a.", "a=1"),
		"long key":             fill("["+strings.Repeat("k", maxFile/2)+"]\nx=[", "1,", "]"),
		"mistakes below it":    fill("[experts."+strings.Repeat("k", maxFile/2)+"]\ndelegates=[", "1,", "]"),
		"same key":             fill("", "a=1\n", ""),
		"long string":          fill("model='", "é", "'"),
		"schema":               skillWith("interactiveSkill", "tools.t={inputJsonSchema='"+strings.Repeat("[", 900_000)+"'}"),
	} {
		t.Run(name, func(t *testing.T) {
			if len(text) > maxFile+1<<19 {
				t.Fatalf("%d bytes are far beyond the limit", len(text))
			}
			start := time.Now()
			size := maxFile
			if testing.Short() {
				size /= 8
			}
			c, ps := Parse("p.toml", []byte(text[:min(len(text), size)]))
			if c != nil { // what validate and inspect ask about all Experts
				c.DelegateWarnings()
				for _, e := range c.Experts {
					c.UnsupportedBy([]*expert.Expert{e}, job.Settings{})
				}
				for _, e := range c.Experts[:min(len(c.Experts), 1)] {
					c.Unsupported(e, job.Settings{})
					c.Circles(e)
				}
			}
			if d := time.Since(start); d > time.Minute {
				t.Errorf("%d bytes with %d problems took %v", len(text), len(ps), d)
			} else {
				t.Logf("%d bytes, %d problems, %v", len(text), len(ps), d)
			}
		})
	}
}
