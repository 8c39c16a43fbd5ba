package wire

import (
	"fmt"
	"strings"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/model"
)

// A Draft is an answer in the making: its parts, in the order in which they began. The
// zero value is ready.
type Draft struct {
	Names Names // of the tools that were offered

	parts          []*Growing
	weighed, marks int // how many parts are in marks, and their bytes
}

// A Growing is a part while it arrives. Its words are written to it; the other members
// are set where the API gives them.
type Growing struct {
	event.Part
	words strings.Builder
}

// Open begins a part.
func (d *Draft) Open(kind event.PartType) *Growing {
	g := &Growing{Part: event.Part{Type: kind}}
	d.parts = append(d.parts, g)
	return g
}

// Last returns the part that came last if it is of the kind, else a new one: for wires
// that do not say where a part ends.
func (d *Draft) Last(kind event.PartType) *Growing {
	if n := len(d.parts); n > 0 && d.parts[n-1].Type == kind {
		return d.parts[n-1]
	}
	return d.Open(kind)
}

// Tell adds words to the last part if it is of their kind, else to a new one, and tells them: a
// thought, then a text. Either may be empty.
func (d *Draft) Tell(thought, text string, tell Tell) error {
	if thought != "" {
		if err := d.Last(event.ThinkingPart).Tell(thought, tell); err != nil {
			return err
		}
	}
	if text != "" {
		return d.Last(event.TextPart).Tell(text, tell)
	}
	return nil
}

// Write adds words: of a text, of a thought, or of the arguments of a call.
func (g *Growing) Write(words string) { g.words.WriteString(words) }

// Tell writes words that may be told as they come: a text or a thought.
func (g *Growing) Tell(words string, tell Tell) error {
	g.Write(words)
	switch g.Type {
	case event.TextPart:
		return tell(model.Chunk{Text: words})
	case event.ThinkingPart:
		return tell(model.Chunk{Reasoning: words})
	}
	return nil
}

// Len is how many bytes of words there are.
func (g *Growing) Len() int { return g.words.Len() }

// What an answer may have beside its words. Parts and marks cost memory far beyond their
// bytes, and marks are sent again with every later request.
const (
	MaxParts = 10_000
	MaxMarks = 16 << 20 // bytes; a picture that the provider drew is one
)

// Check reports an answer that has more than any model writes. A wire asks after each
// event.
func (d *Draft) Check(c *Client) error {
	if len(d.parts) > MaxParts {
		return c.Malformed(fmt.Errorf("an answer of more than %d parts", MaxParts))
	}
	for ; d.weighed < len(d.parts)-1; d.weighed++ { // the last may still grow
		d.marks += len(d.parts[d.weighed].ProviderData) + len(d.parts[d.weighed].Signature)
	}
	marks := d.marks
	if n := len(d.parts); n > 0 {
		marks += len(d.parts[n-1].ProviderData) + len(d.parts[n-1].Signature)
	}
	if marks > MaxMarks {
		return c.Malformed(fmt.Errorf("an answer with more than %d bytes of marks", MaxMarks))
	}
	return nil
}

// Parts returns the parts, with calls by the tools' own names. Parts that stayed empty are
// left out.
func (d *Draft) Parts() []event.Part {
	var parts []event.Part
	for _, g := range d.parts {
		p := g.Part
		switch words := g.words.String(); p.Type {
		case event.TextPart:
			if p.Text += words; p.Text == "" && len(p.ProviderData) == 0 {
				continue
			}
		case event.ThinkingPart:
			if p.Thinking += words; p.Thinking == "" && p.Signature == "" && len(p.ProviderData) == 0 {
				continue
			}
		case event.ToolCallPart:
			if words != "" { // else what came whole, or nothing
				p.Args = []byte(words)
			}
			p.ToolName = d.Names.Own(p.ToolName)
		}
		parts = append(parts, p)
	}
	return parts
}
