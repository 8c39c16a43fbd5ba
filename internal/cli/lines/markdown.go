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
	return p.cutProse(t, p.styled(markdown.Render(p.opts.Redact(terminal.Clean(t.Text)), markdown.Options{Width: p.space(before)})))
}

// styled colours lines that are laid out.
func (p *Printer) styled(laid []markdown.Line) (lines []line) {
	for _, l := range laid {
		var text strings.Builder
		for _, span := range l {
			text.WriteString(p.paint(styleColour(span.Style), span.Text))
		}
		lines = append(lines, line{text.String(), plain})
	}
	return lines
}

func (p *Printer) cutProse(t narrate.Text, lines []line) []line {
	if rest := len(lines) - bodyCut; p.show(t) == narrate.Prose && rest > 0 {
		return more(lines[:bodyCut], rest)
	}
	return lines
}
