package responses

import (
	"errors"
	"fmt"
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

// contents writes what a user says, or what a tool returned. An address is passed on to
// the provider, which fetches it, for a user only: what a tool returned may come
// from a stranger, and a tool without network would reach out by it.
func (w *writer) contents(parts []event.Part, fetch bool) (list []content) {
	for i := range parts {
		p := &parts[i]
		switch {
		case p.Type == event.TextPart && p.Text == "":
		case p.Type == event.TextPart:
			list = append(list, content{Type: typeInputText, Text: &p.Text})
		default:
			list = append(list, w.medium(p, i, fetch))
		}
	}
	return list
}

// medium writes an image or a file, or a line that stands for it.
func (w *writer) medium(p *event.Part, i int, fetch bool) content {
	m, err := wire.MediaOf(p)
	if err == nil {
		err = w.refuses(p, m, fetch)
	}
	if err != nil {
		text := wire.LeftOut(m.Type, err.Error())
		return content{Type: typeInputText, Text: &text}
	}
	if m.Text != "" {
		return content{Type: typeInputText, Text: &m.Text}
	}
	w.weight += len(m.Data)
	switch {
	case m.Type == wire.TypePDF && m.URL != "":
		return content{Type: typeInputFile, FileURL: m.URL}
	case m.Type == wire.TypePDF:
		return content{Type: typeInputFile, Filename: fmt.Sprintf("part-%d.pdf", i), FileData: m.DataURL()}
	case m.URL != "":
		return content{Type: typeInputImage, ImageURL: m.URL}
	}
	return content{Type: typeInputImage, ImageURL: m.DataURL()}
}

// refuses says why a medium is not sent.
func (w *writer) refuses(p *event.Part, m wire.Medium, fetch bool) error {
	isImage := m.IsImage() || m.URL != "" && (m.Type == "" || strings.HasPrefix(m.Type, "image/")) && p.Type == event.ImageURLPart
	switch {
	case m.URL != "" && !fetch:
		return errors.New("an address that a tool returned is not fetched")
	case m.Text != "":
		return nil
	case m.Type != wire.TypePDF && !isImage:
		return errors.New("this model takes png, jpeg, gif, webp, pdf and text")
	case isImage && w.known.Images == model.Unable, m.Type == wire.TypePDF && w.known.PDF == model.Unable:
		return errors.New("this model does not look at such files")
	case isImage && len(m.Data) > maxImage:
		return errors.New("it is too large for this model, which takes images of at most 15 MiB")
	case len(m.Data) > maxFile:
		return errors.New("it is too large for this model, which takes files of at most 24 MiB")
	case w.slim && m.Data != "":
		return errors.New("sent before; left out to keep the request small")
	}
	return nil
}
