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

// medium encodes an image or a document, or the words that say why it cannot be sent.
func (enc *encoder) medium(p *event.Part, returned bool) block {
	m, why := rules.Read(p, enc.known, returned)
	switch {
	case why != "":
		return leftOut(m.Type, why)
	case m.IsImage():
		return enc.image(m)
	}
	return enc.document(m, cmp.Or(documents[m.Type], "txt"))
}

var rules = wire.MediaRules{
	Types:    wire.TypesImages + " " + strings.Join(slices.Collect(maps.Keys(documents)), " "),
	Named:    "png, jpeg, gif, webp, pdf, text, csv, html, markdown, doc, docx, xls and xlsx",
	MaxImage: 5_000_000, MaxFile: 6_000_000,
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

func (enc *encoder) image(m wire.Medium) block {
	if enc.images+enc.documents == maxImages {
		return leftOut(m.Type, "this provider takes at most 20 images in a request")
	}
	enc.images++
	if enc.slim {
		return leftOut(m.Type, wire.SentBefore)
	}
	enc.media += len(m.Data)
	format := strings.TrimPrefix(m.Type, "image/")
	return block{kindImage, text(`{"image":{"format":"` + format + `","source":{"bytes":"` + m.Data + `"}}}`)}
}

// document encodes a file. Its name says nothing: the model might take it for an
// instruction.
func (enc *encoder) document(m wire.Medium, format string) block {
	switch {
	case enc.documents == maxDocuments, enc.images+enc.documents == maxImages:
		return leftOut(m.Type, "this provider takes at most 5 documents in a request")
	}
	enc.documents++
	if enc.slim {
		return leftOut(m.Type, wire.SentBefore)
	}
	enc.media += len(m.Data)
	return block{kindDocument, [][]byte{
		[]byte(`{"document":{"format":"` + format + `","name":"document-`),
		[]byte(`","source":{"bytes":"` + m.Data + `"}}}`),
	}}
}

func leftOut(what, why string) block {
	return block{kindText, said(wire.LeftOut(what, why))}
}
