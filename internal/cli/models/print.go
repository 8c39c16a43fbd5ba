package models

// The rules of the output: one line a model, in columns that are as wide as they must be, or
// several lines if the terminal is narrower;
// a provider is a line of its own before its models; what is not known is a -. Nothing is
// coloured or redrawn. What came from a file is cleaned: it could act on the terminal.

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/perstack-go/perstack/internal/columns"
	"github.com/perstack-go/perstack/internal/terminal"
	"github.com/perstack-go/perstack/internal/wording"
)

var heads = []string{"MODEL", "CONTEXT", "OUTPUT", "PRICE IN", "PRICE OUT", "THINKS BY", "IMAGES", "PDF"}

// print writes the list for people. Width is the number of columns of the terminal; 0 if there is
// none.
func (l *list) print(w io.Writer, width int) error {
	rows := [][]string{heads}
	for _, e := range l.Models {
		rows = append(rows, e.columns())
	}
	widths := make([]int, len(heads))
	for _, row := range rows {
		for i, column := range row {
			widths[i] = max(widths[i], utf8.RuneCountInString(column))
		}
	}
	table := 0
	for _, n := range widths {
		table += 2 + n
	}
	narrow := width > 0 && table > width
	var out bytes.Buffer
	provider := ""
	for i, row := range rows {
		if i > 0 && l.Models[i-1].Provider != provider {
			provider = l.Models[i-1].Provider
			fmt.Fprintln(&out, provider)
		}
		switch {
		case !narrow:
			out.WriteString(line(row, widths) + "\n")
		case i > 0:
			out.WriteString("  " + row[0] + "\n")
			for _, text := range columns.Wrap(facts(row), max(width-4, 1)) {
				out.WriteString("    " + text + "\n")
			}
		}
	}
	out.WriteString("\n" + l.legend())
	_, err := w.Write(out.Bytes())
	return err
}

// line aligns the columns of a row: names to the left, numbers to the right.
func line(row []string, widths []int) string {
	var b strings.Builder
	for i, column := range row {
		pad := strings.Repeat(" ", widths[i]-utf8.RuneCountInString(column))
		if i > 0 && i < 5 {
			b.WriteString("  " + pad + column)
		} else {
			b.WriteString("  " + column + pad)
		}
	}
	return strings.TrimRight(b.String(), " ")
}

// facts is a row without its columns.
func facts(row []string) string {
	var all []string
	for i, column := range row[1:] {
		all = append(all, strings.ToLower(heads[i+1])+" "+column)
	}
	return strings.Join(all, ", ")
}

func (e *entry) columns() []string {
	name := terminal.CleanLine(e.ID)
	if e.Default {
		name += " *"
	}
	if e.File {
		name += " (perstack.toml)"
	}
	in, out := "-", "-"
	if p := e.Price; p != nil {
		in, out = wording.Number(p.Input), wording.Number(p.Output)
		if p.Input == 0 && p.Output == 0 {
			in, out = "free", "free"
		}
		if p.Long != nil {
			in, out = in+"+", out+"+"
		}
	}
	return []string{name, count(e.ContextWindow), count(e.MaxOutputTokens), in, out, cmp.Or(terminal.CleanLine(e.Reasoning), "-"), word(e.Images), word(e.PDF)}
}

// legend explains what the table cannot.
func (l *list) legend() string {
	var b strings.Builder
	long, file, standard := false, false, false
	for _, e := range l.Models {
		long = long || e.Price != nil && e.Price.Long != nil
		file, standard = file || e.File, standard || e.Default
	}
	if standard {
		b.WriteString("* is used without --model.\n")
	}
	if file {
		b.WriteString("What perstack.toml says is marked.\n")
	}
	b.WriteString("Prices are US dollars for a million tokens, by lists of " + l.Date + " or later.")
	if long {
		b.WriteString(" + is more for long requests; --json says how much.")
	}
	switch b.WriteString("\n"); l.provider {
	case "":
		b.WriteString("google-vertex has the models of google. Those of azure-openai are your deployments,\n" +
			"and those of openai-compatible are on your server.\n")
	case "openai-compatible":
		b.WriteString("The models are those of your server. [models] and [prices] in perstack.toml describe them.\n")
	case "azure-openai":
		b.WriteString("The models are your deployments. One that is named like a model of OpenAI is taken for it; its price is not.\n")
	}
	return b.String()
}

func count(n int) string {
	if n == 0 {
		return "-"
	}
	return strconv.Itoa(n)
}

func word(b *bool) string {
	switch {
	case b == nil:
		return "-"
	case *b:
		return "yes"
	}
	return "no"
}
