package lines_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/perstack-go/perstack/internal/cli/lines"
	"github.com/perstack-go/perstack/internal/narrate"
)

const answer = "# Plan\n\nTake the **early** train, see `times.txt`:\n\n- one\n- two\n- three\n\nThe key is sesame.\x1b[2J"

func drawn(t *testing.T, opts lines.Options, rows ...narrate.Row) string {
	t.Helper()
	var out strings.Builder
	if err := lines.New(&out, opts).Print(rows); err != nil {
		t.Fatal(err)
	}
	return strings.ReplaceAll(out.String(), "\x1b", "␛")
}

func TestMarkdown(t *testing.T) {
	whole := narrate.Row{Kind: narrate.Result, Label: "Result", Body: []narrate.Text{{Text: answer, Show: narrate.Whole}}}
	prose := narrate.Row{Kind: narrate.Message, Label: "Message", Body: []narrate.Text{{Text: answer, Show: narrate.Prose}}}
	query := narrate.Row{Kind: narrate.Query, Label: "Query", Body: []narrate.Text{{Text: "**bold**", Show: narrate.Prose}}}
	redact := func(s string) string { return strings.ReplaceAll(s, "sesame", "[hidden]") }
	for name, tt := range map[string]struct {
		opts lines.Options
		row  narrate.Row
		want string
	}{
		"colours": {lines.Options{Markdown: true, Width: 40, Color: true, Redact: redact}, whole, `␛[32m●␛[0m ␛[1mResult␛[0m
  └ ␛[1mPlan␛[0m

    Take the ␛[1mearly␛[0m train, see ␛[36mtimes.txt␛[0m:

    • one
    • two
    • three

    The key is [hidden].
`},
		"no colours": {lines.Options{Markdown: true, Width: 30}, whole, `● Result
  └ Plan

    Take the early train, see
    times.txt:

    • one
    • two
    • three

    The key is sesame.
`},
		"the beginning": {lines.Options{Markdown: true, Width: 40}, prose, `● Message
  └ Plan

    Take the early train, see times.txt:

    ... +5 more
`},
		"no terminal":   {lines.Options{Markdown: true}, prose, "● Message\n  └ # Plan\n\n    Take the **early** train, see `times.txt`:\n\n    ... +5 more\n"},
		"a user's text": {lines.Options{Markdown: true, Width: 40}, query, "● Query\n  └ **bold**\n"},
	} {
		if diff := cmp.Diff(tt.want, drawn(t, tt.opts, tt.row)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// A transcript has all of what people and models wrote, and the beginning of the rest.
func TestTexts(t *testing.T) {
	long := "1\n2\n3\n4\n5\n6"
	rows := []narrate.Row{
		{Kind: narrate.Query, Label: "Query", Body: []narrate.Text{{Text: long, Show: narrate.Prose}}},
		{Kind: narrate.Reasoning, Label: "Reasoning", Body: []narrate.Text{{Text: long, Style: narrate.Quiet, Show: narrate.Prose}}},
		{Kind: narrate.Tool, Label: "Read", Body: []narrate.Text{{Text: long}}},
		{Kind: narrate.Failure, Label: "Error", Body: []narrate.Text{{Text: "a\nb", Show: narrate.First}}},
	}
	const want = `● Query
  └ 1
    2
    3
    4
    5
    6
● Reasoning
  └ 1
    2
    3
    4
    ... +2 more
● Read
  └ 1
    2
    3
    4
    ... +2 more
● Error
  └ a
    b
`
	if diff := cmp.Diff(want, drawn(t, lines.Options{Texts: true}, rows...)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// A note stands where the rows of its Run do, and is safe to print.
func TestNote(t *testing.T) {
	var out strings.Builder
	p := lines.New(&out, lines.Options{})
	for _, r := range []narrate.Row{{}, {Run: "r2", Expert: "finder", Depth: 1}, {Run: "r3", Expert: "hotels", Depth: 2, Parallel: true}} {
		if err := p.Note(r, "checkpoint a\x1b[2J\nb"); err != nil {
			t.Fatal(err)
		}
	}
	if want := "checkpoint a b\n  [finder]\n  checkpoint a b\n    [hotels] checkpoint a b\n"; out.String() != want {
		t.Error(cmp.Diff(want, out.String()))
	}
}
