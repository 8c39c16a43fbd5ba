package lines

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/perstack-go/perstack/internal/columns"
	"github.com/perstack-go/perstack/internal/narrate"
	"github.com/perstack-go/perstack/internal/terminal"
)

// maxCommand is how many characters of a command are shown. A script of some pages may be
// among the arguments; a person looks at it in the log.
const maxCommand = 4000

// command returns the command of a row as one could type it in a shell, and where it ran.
// Secrets go before the quotation marks come: quoted, they would not be known any more.
func (p *Printer) command(r narrate.Row) string {
	if len(r.Argv) == 0 {
		return ""
	}
	words := make([]string, len(r.Argv))
	for i, word := range r.Argv {
		if cleaned := clean(word); p.opts.Redact(cleaned) != cleaned {
			word = cleaned
		}
		words[i] = terminal.ShellJoin(p.opts.Redact(word))
	}
	text := strings.Join(words, " ")
	if n := utf8.RuneCountInString(text); n > maxCommand && !p.opts.Whole {
		text = Cut(text, maxCommand) + fmt.Sprintf(" (%d more characters)", n-maxCommand)
	}
	if r.Dir != "" {
		text += " (in " + p.hide(r.Dir) + ")"
	}
	return text
}

// Headline returns a row without its body, safe to print on one line.
func Headline(r narrate.Row) string {
	p := New(nil, Options{})
	text := r.Summary
	if r.Argv != nil {
		text = p.command(r)
	}
	return strings.TrimSpace(terminal.CleanLine(r.Label) + " " + columns.Shorten(terminal.CleanLine(text), unknownWidth))
}
