package anthropic

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"mime"
	"net/url"
	"strings"

	"github.com/perstack-go/perstack/event"
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
	typePDF      = "application/pdf"
	typePlain    = "text/plain"
)

// What the API takes, in base64. More is refused with the whole request, and with every
// later one that has it.
const (
	maxImage    = 5 << 20
	maxDocument = 30_000_000 // of a request of 32 MB
)

// media encodes an image or a file, given by its bytes or by its address.
func media(p *event.Part) []block {
	switch p.Type {
	case event.ImageInlinePart, event.FileInlinePart:
		return inline(p.MIMEType, p.EncodedData)
	case event.ImageBinaryPart, event.FileBinaryPart:
		return inline(p.MIMEType, p.Data)
	case event.ImageURLPart, event.FileURLPart:
		if kind, data, ok := splitDataURL(p.URL); ok {
			return inline(kind, data)
		}
		return linked(p)
	}
	return leftOut(string(p.Type), "it has no place here")
}

// inline encodes bytes, given in base64. What they are is seen in them, and trusted more
// than what they are said to be.
func inline(declared, data string) []block {
	raw, err := base64.StdEncoding.DecodeString(data)
	if err != nil || len(raw) == 0 {
		return leftOut(declared, "its data is not base64")
	}
	if strings.ContainsAny(data, "\r\n") { // which the decoder skips, and the API does not
		data = base64.StdEncoding.EncodeToString(raw)
	}
	kind := mediaType(declared)
	if seen := sniff(raw); seen != "" {
		kind = seen
	}
	switch {
	case isImage(kind) && len(data) > maxImage:
		return leftOut(kind, "it is too large for this model, which takes images of at most 3.75 MiB")
	case kind == typePDF && len(data) > maxDocument:
		return leftOut(kind, "it is too large for this model, which takes documents of at most 22 MB")
	case isImage(kind):
		return []block{{Type: typeImage, Source: &source{Type: "base64", MediaType: kind, Data: data}}}
	case kind == typePDF:
		return []block{{Type: typeDocument, Source: &source{Type: "base64", MediaType: kind, Data: data}}}
	case strings.HasPrefix(kind, "text/"):
		if text := string(raw); strings.TrimSpace(text) != "" {
			return []block{{Type: typeDocument, Source: &source{Type: "text", MediaType: typePlain, Data: text}}}
		}
		return leftOut(kind, "it is empty")
	}
	return leftOut(kind, "this model takes png, jpeg, gif, webp, pdf and text")
}

// linked encodes an address, which the provider fetches itself.
func linked(p *event.Part) []block {
	u, err := url.Parse(p.URL)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return leftOut(p.MIMEType, "its address is not one of the web")
	}
	kind := mediaType(p.MIMEType)
	switch {
	case isImage(kind), kind == "" && p.Type == event.ImageURLPart:
		return []block{{Type: typeImage, Source: &source{Type: "url", URL: p.URL}}}
	case kind == typePDF:
		return []block{{Type: typeDocument, Source: &source{Type: "url", URL: p.URL}}}
	}
	return leftOut(kind, "this model fetches images and pdf only")
}

// leftOut stands for a part that cannot be sent. The model is told, rather than the job
// ended: the part would be in every later request as well.
func leftOut(what, why string) []block {
	return []block{{Type: typeText, Text: fmt.Sprintf("[a part of type %.100q was left out: %s]", what, why)}}
}

func isImage(kind string) bool {
	switch kind {
	case "image/png", "image/jpeg", "image/gif", "image/webp":
		return true
	}
	return false
}

// mediaType returns a type without parameters, in its proper name.
func mediaType(declared string) string {
	kind, _, err := mime.ParseMediaType(declared)
	if err != nil {
		return ""
	}
	if kind == "image/jpg" {
		return "image/jpeg"
	}
	return kind
}

// sniff recognises what the API takes by its first bytes.
func sniff(raw []byte) string {
	for _, known := range []struct{ magic, kind string }{
		{"\x89PNG\r\n\x1a\n", "image/png"},
		{"\xff\xd8\xff", "image/jpeg"},
		{"GIF8", "image/gif"},
		{"%PDF-", typePDF},
	} {
		if bytes.HasPrefix(raw, []byte(known.magic)) {
			return known.kind
		}
	}
	if len(raw) >= 12 && bytes.HasPrefix(raw, []byte("RIFF")) && string(raw[8:12]) == "WEBP" {
		return "image/webp"
	}
	return ""
}

// splitDataURL takes apart an address that holds its own bytes.
func splitDataURL(address string) (kind, data string, ok bool) {
	rest, ok := strings.CutPrefix(address, "data:")
	if !ok {
		return "", "", false
	}
	kind, data, ok = strings.Cut(rest, ";base64,")
	return kind, data, ok
}
