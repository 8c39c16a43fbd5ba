package chat

import (
	"errors"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/internal/providers/wire"
	"github.com/perstack-go/perstack/model"
)

// What the API takes, in base64. More is refused with the whole request, and with every
// later one that has it.
const (
	maxImage = 20 << 20
	maxFile  = 32 << 20
)

const (
	typeText  = "text"
	typeImage = "image_url"
	typeFile  = "file"
)

// A piece is one element of a message's content.
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
	if p.File != nil {
		p.File.Name = "part-" + strconv.Itoa(c.at) + ".pdf"
		c.at++
	}
	c.pieces, c.weight = append(c.pieces, p), c.weight+weight
}

// add adds a part of a message of the user, or of what a tool returned.
func (c *content) add(p *event.Part, fromTool bool) {
	defer func() { c.at++ }()
	if p.Type == event.TextPart {
		c.addText(p.Text)
		return
	}
	medium, err := wire.MediaOf(p)
	c.kind = medium.Type
	if err != nil {
		c.leaveOut(err.Error())
		return
	}
	c.addMedium(p, medium, fromTool)
}

func (c *content) addMedium(p *event.Part, medium wire.Medium, fromTool bool) {
	known := &c.m.cfg.Known
	isImage := medium.IsImage() || medium.URL != "" && p.Type == event.ImageURLPart
	isPDF := medium.Type == wire.TypePDF
	switch {
	case medium.URL != "" && fromTool:
		c.leaveOut("an address that a tool returned is not fetched")
	case medium.Text != "":
		c.addText(medium.Text)
	case c.m.cfg.Dialect.fewImages && known.Images != model.Able:
		c.leaveOut("this model takes text only")
	case c.m.cfg.Dialect.fewImages && !isImage:
		c.leaveOut("this model takes images and text only")
	case medium.URL != "" && !isImage:
		c.leaveOut("this provider fetches images only; give the bytes")
	case !isImage && !isPDF:
		c.leaveOut("this provider takes png, jpeg, gif, webp, pdf and text")
	case isImage && known.Images == model.Unable:
		c.leaveOut("this model cannot look at images")
	case isPDF && (known.PDF == model.Unable || c.m.fileless.Load()):
		c.leaveOut("this model cannot read pdf")
	case isImage && len(medium.Data) > maxImage:
		c.leaveOut("it is too large for this provider, which takes images of at most 15 MiB")
	case isPDF && len(medium.Data) > maxFile:
		c.leaveOut("it is too large for this provider, which takes files of at most 24 MiB")
	case c.slim && medium.Data != "":
		c.leaveOut("sent before; left out to keep the request small")
	case medium.URL != "":
		c.pieces = append(c.pieces, piece{Type: typeImage, ImageURL: &imageURL{medium.URL}})
	case isImage:
		c.weight += len(medium.Data)
		c.pieces = append(c.pieces, piece{Type: typeImage, ImageURL: &imageURL{medium.DataURL()}})
	default:
		c.weight += len(medium.Data)
		c.pieces = append(c.pieces, piece{Type: typeFile, File: &file{"part-" + strconv.Itoa(c.at) + ".pdf", medium.DataURL()}})
	}
}

// refusesFiles reports whether a request was refused because there is a file in it. Most
// models that read files elsewhere do not on Azure, and their names do not tell.
func refusesFiles(err error) bool {
	var failed *model.Error
	return errors.As(err, &failed) && failed.StatusCode == http.StatusBadRequest && strings.Contains(strings.ToLower(failed.Message), "invalid value: 'file'")
}

func (c *content) leaveOut(why string) { c.addText(wire.LeftOut(c.kind, why)) }

// shows reports whether there is more in the content than words.
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

// words is the text of the content, with a line for each piece.
func (c *content) words() string {
	var lines []string
	for _, p := range c.pieces {
		lines = append(lines, p.Text)
	}
	return strings.Join(lines, "\n")
}
