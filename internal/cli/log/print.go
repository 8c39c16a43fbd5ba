package log

import (
	"io"
	"strings"

	"github.com/go-json-experiment/json"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/internal/cli/lines"
	"github.com/perstack-go/perstack/internal/terminal"
)

// Lengths after which texts are cut, in characters.
const (
	queryCut   = 60
	answerCut  = 80
	messageCut = 100
)

// A printer writes text for people. All of it is cleaned here: ids, names and texts
// of the journal came from models, tools and files.
type printer struct {
	w       io.StringWriter
	verbose bool
}

// write needs no error: a builder has none, and a buffered writer keeps its own until
// it is flushed.
func (p *printer) write(text string) { _, _ = p.w.WriteString(text) }

// line writes one line, with the blanks that it begins with.
func (p *printer) line(text string) {
	indent := text[:len(text)-len(strings.TrimLeft(text, " "))]
	p.write(indent + terminal.CleanLine(text) + "\n")
}

func (p *printer) blank()                   { p.write("\n") }
func (p *printer) field(name, value string) { p.line(name + ": " + value) }

// given is field for what may be absent.
func (p *printer) given(name, value string) {
	if value != "" {
		p.field(name, value)
	}
}

// writeJSON writes a value for programs, on one line.
func writeJSON(w *event.Writer, value any) error {
	line, err := json.Marshal(value, json.Deterministic(true))
	if err != nil {
		return err
	}
	return w.WriteLine(line)
}

// text writes a longer text after a name: cut to n characters, or whole with --verbose.
func (p *printer) text(indent, name, value string, n int) {
	if !p.verbose {
		p.line(indent + name + lines.Cut(terminal.CleanLine(value), n))
		return
	}
	clean := strings.TrimRight(terminal.Clean(value), "\n")
	p.write(indent + terminal.CleanLine(name) + " " + strings.ReplaceAll(clean, "\n", "\n"+indent+"  ") + "\n")
}
