package bedrock

import (
	"strings"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/internal/providers/wire"
	"github.com/perstack-go/perstack/model"
)

// What the API takes. More is refused with the whole request, and with every later one
// that has it.
const (
	maxImage     = 5_000_000 // in base64: 3.75 MB
	maxDocument  = 6_000_000 // 4.5 MB
	maxImages    = 20        // in a request, documents included
	maxDocuments = 5
)

// medium encodes an image or a document, or the words that say why it cannot be sent.
func (enc *encoder) medium(p *event.Part, returned bool) block {
	m, err := wire.MediaOf(p)
	switch {
	case err != nil:
		return leftOut(m.Type, err.Error())
	case m.URL != "" && returned:
		return leftOut(m.Type, "an address that a tool returned is not fetched")
	case m.URL != "":
		return leftOut(m.Type, "this provider fetches no addresses; give the bytes")
	case m.IsImage():
		return enc.image(m)
	}
	if format := documentFormat(m.Type); format != "" {
		return enc.document(m, format)
	}
	return leftOut(m.Type, "this provider takes png, jpeg, gif, webp, pdf, text, csv, html, markdown, doc, docx, xls and xlsx")
}

func (enc *encoder) image(m wire.Medium) block {
	switch {
	case enc.known.Images == model.Unable:
		return leftOut(m.Type, "this model cannot look at images")
	case len(m.Data) > maxImage:
		return leftOut(m.Type, "it is too large for this provider, which takes images of at most 3.75 MB")
	case enc.images+enc.documents == maxImages:
		return leftOut(m.Type, "this provider takes at most 20 images in a request")
	}
	enc.images++
	if enc.slim {
		return sentBefore(m)
	}
	enc.media += len(m.Data)
	format := strings.TrimPrefix(m.Type, "image/")
	return block{kindImage, text(`{"image":{"format":"` + format + `","source":{"bytes":"` + m.Data + `"}}}`)}
}

// document encodes a file. Its name says nothing: the model might take it for an
// instruction.
func (enc *encoder) document(m wire.Medium, format string) block {
	switch {
	case m.Type == wire.TypePDF && enc.known.PDF == model.Unable:
		return leftOut(m.Type, "this model cannot read pdf")
	case len(m.Data) > maxDocument:
		return leftOut(m.Type, "it is too large for this provider, which takes documents of at most 4.5 MB")
	case enc.documents == maxDocuments, enc.images+enc.documents == maxImages:
		return leftOut(m.Type, "this provider takes at most 5 documents in a request")
	}
	enc.documents++
	if enc.slim {
		return sentBefore(m)
	}
	enc.media += len(m.Data)
	return block{kindDocument, [][]byte{
		[]byte(`{"document":{"format":"` + format + `","name":"document-`),
		[]byte(`","source":{"bytes":"` + m.Data + `"}}}`),
	}}
}

// documentFormat is what the API calls a type, or "".
func documentFormat(kind string) string {
	switch kind {
	case wire.TypePDF:
		return "pdf"
	case "text/csv":
		return "csv"
	case "text/html":
		return "html"
	case "text/markdown":
		return "md"
	case "application/msword":
		return "doc"
	case "application/vnd.openxmlformats-officedocument.wordprocessingml.document":
		return "docx"
	case "application/vnd.ms-excel":
		return "xls"
	case "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet":
		return "xlsx"
	}
	if strings.HasPrefix(kind, "text/") {
		return "txt"
	}
	return ""
}

func leftOut(what, why string) block {
	return block{kindText, said(wire.LeftOut(what, why))}
}

func sentBefore(m wire.Medium) block {
	return leftOut(m.Type, "sent before; left out to keep the request small")
}
