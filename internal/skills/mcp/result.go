package mcp

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/internal/skills/mcp/frame"
	"github.com/perstack-go/perstack/rawjson"
)

// The limits of one result. A model reads no more with profit, and every byte of it is
// kept with the run.
const (
	maxResultText  = 512 << 10
	maxResultMedia = 10 << 20
	maxContents    = 1_000
)

// A wireResult is the answer to a call.
type wireResult struct {
	Content    rawjson.Value `json:"content"`
	Structured rawjson.Value `json:"structuredContent"`
	IsError    rawjson.Value `json:"isError"`
	Type       rawjson.Value `json:"resultType"`
}

// A content is one piece of it. What is of another type than it should be is absent.
type content struct {
	Type        rawjson.Value `json:"type"`
	Text        rawjson.Value `json:"text"`
	Data        rawjson.Value `json:"data"`
	MIMEType    rawjson.Value `json:"mimeType"`
	URI         rawjson.Value `json:"uri"`
	Name        rawjson.Value `json:"name"`
	Description rawjson.Value `json:"description"`
	Resource    rawjson.Value `json:"resource"`
	Blob        rawjson.Value `json:"blob"` // of a resource
}

// convert turns a result into parts that a model can read. There is no result that it
// cannot turn into something: what cannot be shown becomes a note that says so. It opens
// nothing: a path or an address in a result is text.
func convert(raw []byte, redact func(string) string) ([]event.Part, bool) {
	var result wireResult
	if frame.Check(raw) != nil || json.Unmarshal(raw, &result) != nil {
		return []event.Part{text("Error: the server answered with something that is no result of a tool")}, true
	}
	isError := len(result.IsError) > 0 && result.IsError.Kind() != 'f' && result.IsError.Kind() != 'n'
	if textOf(result.Type) == "input_required" {
		return []event.Part{text("Error: the tool asks for more input, which cannot be given here")}, true
	}
	c := converter{redact: redact, text: maxResultText, media: maxResultMedia}
	c.contents(result.Content)
	structured := bytes.TrimSpace(result.Structured)
	if len(c.parts) == 0 && len(structured) > 0 && string(structured) != "null" {
		c.addText(string(structured))
	}
	return c.parts, isError
}

func text(s string) event.Part { return event.Part{Type: event.TextPart, Text: s} }

// A converter collects parts, and knows how much room is left.
type converter struct {
	redact      func(string) string
	parts       []event.Part
	text, media int
}

func (c *converter) contents(list rawjson.Value) {
	if len(list) == 0 || list.Kind() == 'n' {
		return
	}
	contents, more, err := frame.List(list, maxContents)
	if err != nil {
		c.note("content that is no list was left out")
		return
	}
	if more {
		defer c.note("all pieces behind the first %d were left out", maxContents)
	}
	for _, raw := range contents {
		var piece content
		if json.Unmarshal(raw, &piece) != nil {
			c.note("a piece that is no object was left out")
			continue
		}
		c.add(piece)
	}
}

func (c *converter) add(p content) {
	switch kind := textOf(p.Type); kind {
	case "text":
		c.addText(textOf(p.Text))
	case "image":
		c.addMedia("image", textOf(p.MIMEType), p.Data)
	case "audio":
		c.note("audio of type %s (%s) was left out: this client cannot hear", c.shown(p.MIMEType, "unknown"), sizeOf(p.Data))
	case "resource_link":
		c.note("resource: %s", joined(c.shown(p.URI, "without an address"), c.shown(p.Name, ""), c.shown(p.Description, ""), c.shown(p.MIMEType, "")))
	case "resource":
		c.resource(p.Resource)
	default:
		c.note("content of type %s was left out: this client does not know it", c.shown(p.Type, "unknown"))
	}
}

// resource adds a resource that came with the result. Text wins over bytes.
func (c *converter) resource(raw rawjson.Value) {
	var r content
	if len(raw) == 0 || json.Unmarshal(raw, &r) != nil {
		c.note("a resource without content was left out")
		return
	}
	switch {
	case r.Text.Kind() == '"':
		c.addText(textOf(r.Text))
	case r.Blob.Kind() == '"':
		c.addMedia("resource "+c.shown(r.URI, "without an address"), textOf(r.MIMEType), r.Blob)
	default:
		c.note("the resource %s has no content", c.shown(r.URI, "without an address"))
	}
}

// addText adds a text, as far as there is room. Secrets go before it is cut.
func (c *converter) addText(s string) {
	s = c.redact(s)
	if len(s) > c.text {
		if c.text < minCut {
			c.note("%d bytes of text were left out: the result is longer than %d bytes", len(s), maxResultText)
			return
		}
		s = cutMiddle(s, c.text)
		c.text = 0
	} else {
		c.text -= len(s)
	}
	c.parts = append(c.parts, text(s))
}

// minCut is the least room in which the two ends of a text make sense.
const minCut = 256

// addMedia adds bytes that a model can see: what they are is seen in them, since a
// server can call them anything.
func (c *converter) addMedia(what, mimeType string, encoded rawjson.Value) {
	what = strings.TrimSpace(what + " " + clip(c.redact(mimeType), 100))
	data, err := base64.StdEncoding.DecodeString(textOf(encoded))
	seen, part := typeOf(data)
	switch {
	case err != nil || len(data) == 0:
		c.note("%s was left out: its data are damaged", what)
	case part == "" && strings.HasPrefix(mimeType, "text/") && utf8.Valid(data):
		c.addText(string(data))
	case part == "":
		c.note("%s (%d bytes) was left out: models see PNG, JPEG, GIF and WebP images and PDF files only", what, len(data))
	case len(data) > c.media:
		c.note("%s (%d bytes) was left out: a result may have %d bytes of images and files", what, len(data), maxResultMedia)
	default:
		c.media -= len(data)
		c.parts = append(c.parts, event.Part{Type: part, MIMEType: seen, EncodedData: base64.StdEncoding.EncodeToString(data)})
	}
}

// typeOf says what bytes are that a model can see, and as what they are handed to it.
func typeOf(data []byte) (string, event.PartType) {
	starts := func(magic string) bool { return bytes.HasPrefix(data, []byte(magic)) }
	switch {
	case starts("\x89PNG\r\n\x1a\n"):
		return "image/png", event.ImageInlinePart
	case starts("\xff\xd8\xff"):
		return "image/jpeg", event.ImageInlinePart
	case starts("GIF87a"), starts("GIF89a"):
		return "image/gif", event.ImageInlinePart
	case starts("RIFF") && len(data) >= 12 && string(data[8:12]) == "WEBP":
		return "image/webp", event.ImageInlinePart
	case starts("%PDF-"):
		return "application/pdf", event.FileInlinePart
	}
	return "", ""
}

// note adds a sentence about what is not there. Notes are short and their number is that
// of the pieces, so they have room of their own.
func (c *converter) note(format string, args ...any) {
	c.parts = append(c.parts, text("["+fmt.Sprintf(format, args...)+"]"))
}

// shown is a text of the server for a note.
func (c *converter) shown(v rawjson.Value, otherwise string) string {
	if s := textOf(v); s != "" {
		return clip(c.redact(s), lastLineBytes)
	}
	return otherwise
}

func joined(parts ...string) string {
	var there []string
	for _, p := range parts {
		if p != "" {
			there = append(there, p)
		}
	}
	return strings.Join(there, ", ")
}

func sizeOf(encoded rawjson.Value) string {
	return fmt.Sprintf("%d bytes", base64.StdEncoding.DecodedLen(len(textOf(encoded))))
}
