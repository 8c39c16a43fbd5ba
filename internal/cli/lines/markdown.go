package lines

import (
	"strings"

	"github.com/perstack-go/perstack/internal/markdown"
	"github.com/perstack-go/perstack/internal/narrate"
	"github.com/perstack-go/perstack/internal/terminal"
)

// styles are drawn from the outside to the inside.
var styles = []struct {
	style  markdown.Style
	colour colour
}{
	{markdown.Bold, bold},
	{markdown.Italic, "\x1b[3m"},
	{markdown.Struck, "\x1b[9m"},
	{markdown.Code, cyan},
	{markdown.Quiet, dim},
}

// styleColour returns the colours of a style.
func styleColour(style markdown.Style) (c colour) {
	for _, s := range styles {
		if style&s.style != 0 {
			c += s.colour
		}
	}
	return c
}

// markdown lays out a text of a model. Secrets go before: a half that was wrapped would not be
// known.
func (p *Printer) markdown(t narrate.Text, before int) []line {
	source := p.opts.Redact(terminal.Clean(t.Text))
	var lines []line
	for _, l := range markdown.Render(source, markdown.Options{Width: p.space(before)}) {
		var text strings.Builder
		for _, span := range l {
			text.WriteString(p.paint(styleColour(span.Style), span.Text))
		}
		lines = append(lines, line{text.String(), plain})
	}
	if rest := len(lines) - bodyCut; p.show(t) == narrate.Prose && rest > 0 {
		return more(lines[:bodyCut], rest)
	}
	return lines
}
