package lines

import (
	"bytes"
	"strings"
	"testing"

	"github.com/perstack-go/perstack/internal/narrate"
)

// word is a label that says what a row is.
func word(r narrate.Row) string {
	if r.Depth > 0 {
		return string(r.Kind) + " of " + r.Expert
	}
	return string(r.Kind)
}

func TestLabels(t *testing.T) {
	for name, opts := range map[string]Options{
		"labels.golden":         {Label: word},
		"labels.verbose.golden": {Label: word, Verbose: true, Texts: true},
	} {
		t.Run(name, func(t *testing.T) {
			var out bytes.Buffer
			p := New(&out, opts)
			for _, e := range lifeOfAJob() {
				if err := p.Emit(e); err != nil {
					t.Fatal(err)
				}
			}
			golden(t, name, out.String())
		})
	}
}

func TestLabelsHostileText(t *testing.T) {
	var out bytes.Buffer
	p := New(&out, Options{Label: func(r narrate.Row) string { return r.Label + hostile }, Verbose: true, Width: 30})
	for _, e := range hostileEvents() {
		if err := p.Emit(e); err != nil {
			t.Fatal(err)
		}
	}
	checkHarmless(t, out.String())
}

// Secrets are taken out of every part of a row, and nothing but text is written.
func TestLabelsRedact(t *testing.T) {
	var out bytes.Buffer
	p := New(&out, Options{Label: word, Color: true, Redact: func(text string) string { return strings.ReplaceAll(text, "s3cret", "[redacted]") }})
	row := narrate.Row{
		ID: "1", Kind: narrate.Tool, Label: "Run s3cret", Argv: []string{"curl", "s3cret"}, Dir: "s3cret", State: narrate.Running, Slow: true, Began: 1000, At: 1000,
		Body: []narrate.Text{{Text: "s3cret"}},
	}
	done := row
	done.State, done.Changed, done.At = narrate.Done, true, 3000
	if err := p.Print([]narrate.Row{row, done}); err != nil {
		t.Fatal(err)
	}
	want := "tool: Run [redacted] curl '[redacted]' (in [redacted]) (started)\ntool: Run [redacted] curl '[redacted]' (in [redacted]) (2.0s)\n  [redacted]\n"
	if got := out.String(); got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
