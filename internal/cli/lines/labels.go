package lines

import (
	"strings"
	"time"

	"github.com/perstack-go/perstack/internal/narrate"
)

// This file prints rows that begin with a word instead of a bullet, for people who have the screen
// read to them and for places where nothing can be drawn. There are no marks, no colours and no
// indentation that means something.

// labelled writes a row: its label and what it is about on one line, then its body.
func (p *Printer) labelled(r narrate.Row) {
	took := Took(r)
	body := p.body(r, 2)
	if r.Kind == narrate.Reasoning && (!p.opts.Verbose || len(body) == 0) {
		if took == "" {
			return
		}
		body = []line{{text: took}}
	}
	label := p.opts.Label(r)
	parts := []string{p.hide(label) + ":"}
	speech := isSpeech(r)
	if !speech {
		if !strings.HasPrefix(strings.ToLower(label), strings.ToLower(r.Label)) { // it would be said twice
			parts = append(parts, p.hide(r.Label))
		}
		parts = append(parts, p.summary(r, 0)...)
		if took != "" {
			parts = append(parts, "("+took+")")
		}
	}
	if len(body) > 0 && (speech || len(parts) == 1) {
		parts, body = append(parts, body[0].text), body[1:]
	}
	p.out.WriteString(strings.TrimRight(strings.Join(parts, " "), " ") + "\n")
	for _, l := range body {
		p.out.WriteString(strings.TrimRight("  "+l.text, " ") + "\n")
	}
}

// isSpeech reports whether a row is what somebody said, so that the label says enough about it.
func isSpeech(r narrate.Row) bool {
	switch r.Kind {
	case narrate.Query, narrate.Message, narrate.Result, narrate.Reasoning:
		return true
	}
	return r.Kind == narrate.Answer && len(r.Argv) == 0 && r.Label == "Answer"
}

// labelledStart says that something which takes its time has started, and nothing while it runs.
func (p *Printer) labelledStart(r narrate.Row) {
	if r.State != narrate.Running || r.Tail != "" || !r.Slow || r.Kind != narrate.Tool || r.Repeats {
		return
	}
	parts := append([]string{p.hide(p.opts.Label(r)) + ":", p.hide(r.Label)}, p.summary(r, 0)...)
	p.out.WriteString(strings.Join(append(parts, "(started)"), " ") + "\n")
}

// Took says how long something took that has ended; "" if it took no time worth telling, or if that is
// not known.
func Took(r narrate.Row) string {
	if r.Began == 0 || r.At-r.Began < shortest || r.State == narrate.Running || r.State == narrate.Pending {
		return ""
	}
	return spanText(r.At - r.Began)
}

// shortest is what counts as time, in milliseconds.
const shortest = 50

// Duration writes how long something took, in tenths of a second if it is short.
func Duration(d time.Duration) string { return spanText(d.Milliseconds()) }
