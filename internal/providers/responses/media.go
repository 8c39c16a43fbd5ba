package responses

import (
	"fmt"
	"strings"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/internal/providers/wire"
)

var rules = wire.MediaRules{
	Types: wire.TypesImages + " " + wire.TypePDF, Named: "png, jpeg, gif, webp, pdf and text",
	Fetches:  fetches,
	MaxImage: 20 << 20, MaxFile: 32 << 20, MaxMedia: maxMedia,
}

// CheckMedia implements [model.MediaChecker].
func (m *Model) CheckMedia(_ string, parts []event.Part) error {
	return rules.Check(parts, &m.cfg.Known)
}

// contents writes what a user says, or what a tool returned. An address is passed on to
// the provider, which fetches it, for a user only: what a tool returned may be
// untrusted, and a tool without network would reach out by it.
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
	m, why := rules.Read(p, &w.known, !fetch)
	if why == "" && w.slim && m.Data != "" && m.Text == "" {
		why = wire.SentBefore
	}
	if why != "" {
		m.Text = wire.LeftOut(m.Type, why)
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

// fetches reports whether the provider fetches what is behind an address: images and PDF.
func fetches(p *event.Part) bool {
	m, err := wire.MediaOf(p)
	isImage := p.Type == event.ImageURLPart && (m.Type == "" || strings.HasPrefix(m.Type, "image/"))
	return err == nil && (isImage || m.Type == wire.TypePDF)
}
