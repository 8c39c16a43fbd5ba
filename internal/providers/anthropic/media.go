package anthropic

import (
	"cmp"
	"strings"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/internal/providers/wire"
)

type source struct {
	Type      string `json:"type"`
	MediaType string `json:"media_type,omitzero"`
	Data      string `json:"data,omitzero"`
	URL       string `json:"url,omitzero"`
}

const (
	typeImage    = "image"
	typeDocument = "document"
)

// What the API takes, in base64.
const (
	maxImage = 5 << 20
	maxMedia = 28_000_000 // in a request of 32 MB, the rest of which is for words

	// A request takes 100 images. With more than manyImages it takes none that is larger
	// than 2000 pixels, so that one screenshot too many would end a job.
	maxImages  = 100
	manyImages = 20
)

var rules = wire.MediaRules{
	Types: wire.TypesImages + " " + wire.TypePDF, Named: "png, jpeg, gif, webp, pdf and text",
	Fetches: fetches, MaxImage: maxImage, MaxFile: maxMedia, MaxMedia: maxMedia, MaxParts: maxImages,
}

// CheckMedia implements [model.MediaChecker].
func (m *Model) CheckMedia(_ string, parts []event.Part) error {
	return rules.Check(parts, &m.cfg.Known)
}

func (e *encoder) media(p *event.Part, fromTool bool) block {
	m, why := rules.Read(p, &e.known, fromTool)
	kind := cmp.Or(m.Type, p.MIMEType, string(p.Type))
	switch {
	case why != "":
		return leftOut(kind, why)
	case e.slim:
		return leftOut(kind, wire.SentBefore)
	}
	b := block{Type: typeDocument, Source: &source{Type: "base64", MediaType: m.Type, Data: m.Data}}
	switch {
	case m.URL != "":
		b.Source = &source{Type: "url", URL: m.URL}
	case m.Text != "":
		b.Source = &source{Type: "text", MediaType: wire.TypePlain, Data: m.Text}
	}
	if isImage(p, m) {
		b.Type, b.images = typeImage, 1
		if e.images++; e.images > maxImages {
			return leftOut(kind, "this provider takes at most 100 images")
		}
	}
	if e.spent += b.weight(); e.spent > maxMedia { // a message alone may be more than a request takes
		return leftOut(kind, "there is too much in one message")
	}
	return b
}

func isImage(p *event.Part, m wire.Medium) bool {
	return m.IsImage() || m.Type == "" && p.Type == event.ImageURLPart
}

// fetches reports whether the provider fetches what is behind an address: images and PDF,
// by https. Another address is refused with the whole request.
func fetches(p *event.Part) bool {
	m, err := wire.MediaOf(p)
	return err == nil && strings.HasPrefix(m.URL, "https:") && (isImage(p, m) || m.Type == wire.TypePDF)
}

func leftOut(what, why string) block { return block{Type: typeText, Text: wire.LeftOut(what, why)} }
