package progress

import (
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/perstack-go/perstack/event"
)

// exec returns the row of a command. It is not called a shell's: there is none.
func (p *Printer) exec(a event.Activity) row {
	r := row{label: "Run", summary: p.command(a)}
	for _, out := range []*string{a.Output, a.Stdout, a.Stderr} {
		if out != nil && *out != "" {
			r.body = p.output(*out)
			break
		}
	}
	return r
}

// command returns what was run, on one line, without secrets before it is cut.
func (p *Printer) command(a event.Activity) string {
	words := append([]string{a.Command}, a.CommandArgs...)
	if a.CWD != "" {
		words = append(words, shortPath(a.CWD, cwdCut))
	}
	return cut(p.hide(strings.Join(words, " ")), commandCut)
}

// output returns the first lines of what a command printed, without blank ones.
func (p *Printer) output(text string) []line {
	lines, total := []line(nil), 0
	for l := range printed(text) {
		if total++; total <= p.opts.Lines {
			lines = append(lines, line{l, plain})
		}
	}
	return more(lines, total)
}

// tail returns the last lines of what a command printed before it failed, without
// blank ones: the reason mostly stands at the end, and on standard error.
func (p *Printer) tail(a event.Activity) []line {
	for _, out := range []*string{a.Stderr, a.Stdout, a.Output} {
		if out == nil {
			continue
		}
		all := slices.Collect(printed(*out))
		if len(all) == 0 {
			continue
		}
		var lines []line
		if rest := len(all) - p.opts.Lines; rest > 0 {
			lines = append(lines, line{fmt.Sprintf("... +%d before", rest), dim})
			all = all[rest:]
		}
		for _, l := range all {
			lines = append(lines, line{l, plain})
		}
		return lines
	}
	return nil
}

// printed yields the lines of text that show something.
func printed(text string) iter.Seq[string] {
	return func(yield func(string) bool) {
		for l := range strings.Lines(text) {
			l = strings.TrimRight(clean(strings.TrimRight(l, "\r\n")), " \t")
			if l != "" && !yield(cut(l, commandCut)) {
				return
			}
		}
	}
}
