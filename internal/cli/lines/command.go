package lines

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/perstack-go/perstack/internal/cli/host"
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
		words[i] = quote(p.opts.Redact(word))
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

// quote writes a word as a shell reads it. A character that a terminal would obey, or
// that cannot be seen, is written as an escape: taking it out would show another command.
func quote(word string) string {
	if clean(word) == word && !strings.Contains(word, "\t") {
		return host.ShellJoin(word)
	}
	var out strings.Builder
	out.WriteString("$'")
	for rest := word; rest != ""; {
		r, n := utf8.DecodeRuneInString(rest)
		char := rest[:n]
		rest = rest[n:]
		switch {
		case char == `'` || char == `\`:
			out.WriteString(`\` + char)
		case char == "\n":
			out.WriteString(`\n`)
		case char == "\t":
			out.WriteString(`\t`)
		case r == utf8.RuneError && n == 1, r < 0x80 && terminal.Clean(char) != char:
			fmt.Fprintf(&out, `\x%02x`, char[0])
		case terminal.Clean(char) != char:
			fmt.Fprintf(&out, `\U%08x`, r)
		default:
			out.WriteString(char)
		}
	}
	return out.String() + "'"
}

// Headline returns a row without its body, safe to print on one line.
func Headline(r narrate.Row) string {
	p := New(nil, Options{})
	text := r.Summary
	if r.Argv != nil {
		text = p.command(r)
	}
	return strings.TrimSpace(terminal.CleanLine(r.Label) + " " + Shorten(terminal.CleanLine(text), unknownWidth))
}
