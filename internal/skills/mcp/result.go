package mcp

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/internal/skills/mcp/frame"
	"github.com/perstack-go/perstack/internal/wording"
	"github.com/perstack-go/perstack/rawjson"
)

// The limits of one result, which the model reads and the journal keeps.
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

// A content is one part of it. Members of the wrong type are ignored.
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

// convert turns a result into parts that a model can read. What cannot be shown becomes a note.
// It opens nothing: a path or an address in a result is text.
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

// A converter collects parts. Text and media are the bytes that are left.
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

// resource adds an embedded resource: its text, or else its bytes.
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

// addText adds a text, as far as the limit allows. Secrets are removed before it is cut.
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

// minCut is the shortest text that is worth cutting in its middle.
const minCut = 256

// addMedia adds an image or a PDF file. The type is detected, whatever the server calls it.
func (c *converter) addMedia(what, mimeType string, encoded rawjson.Value) {
	what = strings.TrimSpace(what + " " + wording.Cut(c.redact(mimeType), 100))
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

// typeOf detects the types that models can see.
func typeOf(data []byte) (string, event.PartType) {
	switch kind := http.DetectContentType(data); kind {
	case "image/png", "image/jpeg", "image/gif", "image/webp":
		return kind, event.ImageInlinePart
	case "application/pdf":
		return kind, event.FileInlinePart
	}
	return "", ""
}

// note adds a sentence about what was left out. Notes are short and at most one a part, so they do
// not count as text.
func (c *converter) note(format string, args ...any) {
	c.parts = append(c.parts, text("["+fmt.Sprintf(format, args...)+"]"))
}

// shown returns a text of the server for a note.
func (c *converter) shown(v rawjson.Value, otherwise string) string {
	if s := textOf(v); s != "" {
		return wording.Cut(c.redact(s), lastLineBytes)
	}
	return otherwise
}

func joined(parts ...string) string {
	return strings.Join(slices.DeleteFunc(parts, func(p string) bool { return p == "" }), ", ")
}

func sizeOf(encoded rawjson.Value) string {
	return fmt.Sprintf("%d bytes", base64.StdEncoding.DecodedLen(len(textOf(encoded))))
}
