package chat

import (
	"slices"
	"strconv"
	"strings"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/internal/providers/wire"
	"github.com/perstack-go/perstack/model"
)

// What the API takes, in base64.
const (
	maxImage = 20 << 20
	maxFile  = 32 << 20
)

const (
	typeText  = "text"
	typeImage = "image_url"
	typeFile  = "file"
)

type piece struct {
	Type     string    `json:"type"`
	Text     string    `json:"text,omitzero"`
	ImageURL *imageURL `json:"image_url,omitzero"`
	File     *file     `json:"file,omitzero"`
}

type imageURL struct {
	URL string `json:"url"`
}

type file struct {
	Name string `json:"filename"`
	Data string `json:"file_data"` // a URL that holds its own bytes
}

func textPiece(text string) piece { return piece{Type: typeText, Text: text} }

// content is what a message says, while it is put together.
type content struct {
	m      *Model
	slim   bool
	pieces []piece
	weight int    // of media
	kind   string // media type of what was added last
	at     int    // number of parts that were looked at
}

func (c *content) addText(text string) {
	if strings.TrimSpace(text) != "" {
		c.pieces = append(c.pieces, textPiece(text))
	}
}

func (c *content) take(p piece, weight int) {
	c.pieces, c.weight = append(c.pieces, p), c.weight+weight
}

func (c *content) add(p *event.Part, fromTool bool) {
	defer func() { c.at++ }()
	if p.Type == event.TextPart {
		c.addText(p.Text)
		return
	}
	medium, why := c.m.cfg.Dialect.media.Read(p, c.m.known(), fromTool)
	c.kind = medium.Type
	switch {
	case why == "" && medium.Text != "":
		c.addText(medium.Text)
	case why == "" && c.slim && medium.Data != "":
		c.addText(wire.LeftOut(c.kind, wire.SentBefore))
	case why != "":
		c.addText(wire.LeftOut(c.kind, why))
	case medium.URL != "":
		c.take(piece{Type: typeImage, ImageURL: &imageURL{medium.URL}}, 0)
	case medium.IsImage():
		c.take(piece{Type: typeImage, ImageURL: &imageURL{medium.DataURL()}}, len(medium.Data))
	default:
		c.take(piece{Type: typeFile, File: &file{"part-" + strconv.Itoa(c.at) + ".pdf", medium.DataURL()}}, len(medium.Data))
	}
}

// CheckMedia implements [model.MediaChecker].
func (m *Model) CheckMedia(_ string, parts []event.Part) error {
	return m.cfg.Dialect.media.Check(parts, m.known())
}

func (m *Model) known() *model.Known {
	known := m.cfg.Known
	if m.cfg.Dialect.fewImages && known.Images != model.Able {
		known.Images = model.Unable
	}
	if m.fileless.Load() {
		known.PDF = model.Unable
	}
	return &known
}

// refusesFiles reports whether a request was refused because there is a file in it. Most
// models that read files elsewhere do not on Azure, and their names do not tell.
func refusesFiles(err error) bool {
	return wire.IsRefused(err, "alue: 'file'") // Azure writes the word in two ways
}

func (c *content) shows() bool {
	return slices.ContainsFunc(c.pieces, func(p piece) bool { return p.Type != typeText })
}

// value is the content as the API takes it: a text alone is a string.
func (c *content) value() any {
	if len(c.pieces) == 1 && c.pieces[0].Type == typeText {
		return c.pieces[0].Text
	}
	return c.pieces
}

func (c *content) words() string {
	var lines []string
	for _, p := range c.pieces {
		lines = append(lines, p.Text)
	}
	return strings.Join(lines, "\n")
}
