package bedrock

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/internal/providers/wire"
)

// How many a request takes.
const (
	maxImages    = 20 // in a request, documents included
	maxDocuments = 5
)

// medium encodes an image or a document, or the words that say why it cannot be sent. The
// name of a document says nothing: the model might take it for an instruction.
func (enc *encoder) medium(p *event.Part, returned bool) block {
	m, why := rules.Read(p, enc.known, returned)
	isImage, isFull := m.IsImage(), enc.images+enc.documents == maxImages
	switch {
	case why != "":
		return leftOut(m.Type, why)
	case isImage && isFull:
		return leftOut(m.Type, "this provider takes at most 20 images in a request")
	case isImage:
		enc.images++
	case isFull || enc.documents == maxDocuments:
		return leftOut(m.Type, "this provider takes at most 5 documents in a request")
	default:
		enc.documents++
	}
	if enc.slim {
		return leftOut(m.Type, wire.SentBefore)
	}
	enc.media += len(m.Data)
	if isImage {
		return block{kindImage, text(`{"image":{"format":"` + strings.TrimPrefix(m.Type, "image/") + `","source":{"bytes":"` + m.Data + `"}}}`)}
	}
	return block{kindDocument, [][]byte{
		[]byte(`{"document":{"format":"` + cmp.Or(documents[m.Type], "txt") + `","name":"document-`),
		[]byte(`","source":{"bytes":"` + m.Data + `"}}}`),
	}}
}

var rules = wire.MediaRules{
	Types:    wire.TypesImages + " " + strings.Join(slices.Collect(maps.Keys(documents)), " "),
	Named:    "png, jpeg, gif, webp, pdf, text, csv, html, markdown, doc, docx, xls and xlsx",
	MaxImage: 5_000_000, MaxFile: 6_000_000, MaxMedia: maxMedia, MaxParts: maxImages, MaxFiles: maxDocuments,
}

// CheckMedia implements [model.MediaChecker].
func (m *Model) CheckMedia(_ string, parts []event.Part) error {
	return rules.Check(parts, &m.cfg.Known)
}

// documents are what the API calls types. Any other text is a txt.
var documents = map[string]string{
	wire.TypePDF:         "pdf",
	"text/csv":           "csv",
	"text/html":          "html",
	"text/markdown":      "md",
	"application/msword": "doc",
	"application/vnd.openxmlformats-officedocument.wordprocessingml.document": "docx",
	"application/vnd.ms-excel": "xls",
	"application/vnd.openxmlformats-officedocument.spreadsheetml.sheet": "xlsx",
}

func leftOut(what, why string) block {
	return block{kindText, said(wire.LeftOut(what, why))}
}
