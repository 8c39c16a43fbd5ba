package anthropic

import (
	"cmp"
	"strings"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/internal/providers/wire"
	"github.com/perstack-go/perstack/model"
)

// A source is where the bytes of an image or a document are.
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

// What the API takes, in base64. More is refused with the whole request, and with every
// later one that has it.
const (
	maxImage = 5 << 20
	maxMedia = 28_000_000 // in a request of 32 MB, the rest of which is for words

	// A request takes 100 images. With more than manyImages it takes none that is larger
	// than 2000 pixels, so that one screenshot too many would end a job.
	maxImages  = 100
	manyImages = 20
)

// media encodes an image or a file, given by its bytes or by its address.
func (e *encoder) media(p *event.Part, fromTool bool) block {
	m, err := wire.MediaOf(p)
	kind := cmp.Or(m.Type, p.MIMEType, string(p.Type))
	switch {
	case err != nil:
		return leftOut(kind, err.Error())
	case e.slim:
		return leftOut(kind, "sent before; left out to keep the request small")
	case m.URL != "" && fromTool:
		// The provider would fetch it: a skill without a network could reach out by it.
		return leftOut(kind, "an address that a tool returned is not fetched")
	}
	b := e.encode(p, m)
	if b.Type == typeImage {
		if e.images++; e.images > maxImages {
			return leftOut(kind, "this provider takes at most 100 images")
		}
		b.images = 1
	}
	if e.spent += b.weight(); e.spent > maxMedia { // a message alone may be more than a request takes
		return leftOut(kind, "there is too much in one message")
	}
	return b
}

func (e *encoder) encode(p *event.Part, m wire.Medium) block {
	if m.URL != "" {
		return e.linked(p, m)
	}
	return e.inline(m)
}

// inline encodes bytes.
func (e *encoder) inline(m wire.Medium) block {
	switch {
	case m.IsImage() && e.known.Images == model.Unable, m.Type == wire.TypePDF && e.known.PDF == model.Unable:
		return leftOut(m.Type, "this model cannot look at it")
	case m.IsImage() && len(m.Data) > maxImage:
		return leftOut(m.Type, "it is too large for this model, which takes images of at most 3.75 MiB")
	case m.Type == wire.TypePDF && len(m.Data) > maxMedia:
		return leftOut(m.Type, "it is too large for this model, which takes documents of at most 21 MB")
	case m.IsImage():
		return block{Type: typeImage, Source: &source{Type: "base64", MediaType: m.Type, Data: m.Data}}
	case m.Type == wire.TypePDF:
		return block{Type: typeDocument, Source: &source{Type: "base64", MediaType: m.Type, Data: m.Data}}
	case strings.HasPrefix(m.Type, "text/"):
		return block{Type: typeDocument, Source: &source{Type: "text", MediaType: wire.TypePlain, Data: m.Text}}
	}
	return leftOut(m.Type, "this model takes png, jpeg, gif, webp, pdf and text")
}

// linked encodes an address of the user's, which the provider fetches itself.
func (e *encoder) linked(p *event.Part, m wire.Medium) block {
	image := isImage(p, m)
	switch {
	case !fetches(p):
		return leftOut(cmp.Or(m.Type, p.MIMEType), "this provider fetches images and pdf by https only; give the bytes")
	case image && e.known.Images == model.Unable, m.Type == wire.TypePDF && e.known.PDF == model.Unable:
		return leftOut(m.Type, "this model cannot look at it")
	case image:
		return block{Type: typeImage, Source: &source{Type: "url", URL: m.URL}}
	}
	return block{Type: typeDocument, Source: &source{Type: "url", URL: m.URL}}
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
