package wire

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"mime"
	"net/url"
	"strings"

	"github.com/perstack-go/perstack/event"
)

// A Medium is an image or a file as wires send it: by its bytes, or by its address.
type Medium struct {
	Type string // the media type, as its bytes show it where they do; may be empty
	Data string // base64, without line ends; empty if there is an address
	URL  string // http or https
	Text string // what a file of type text/... says; it has Data as well
}

// Media types that wires ask for by name.
const (
	TypePDF   = "application/pdf"
	TypePlain = "text/plain"
)

// IsMedia reports whether a part is an image or a file.
func IsMedia(p *event.Part) bool {
	switch p.Type {
	case event.ImageInlinePart, event.FileInlinePart, event.ImageBinaryPart, event.FileBinaryPart, event.ImageURLPart, event.FileURLPart:
		return true
	}
	return false
}

// MediaOf reads an image or a file. An error says why it cannot be sent; see [LeftOut].
// What bytes are is seen in them, and trusted more than what they are said to be.
func MediaOf(p *event.Part) (Medium, error) {
	switch p.Type {
	case event.ImageInlinePart, event.FileInlinePart:
		return inline(p.MIMEType, p.EncodedData)
	case event.ImageBinaryPart, event.FileBinaryPart:
		return inline(p.MIMEType, p.Data)
	case event.ImageURLPart, event.FileURLPart:
		if kind, data, ok := splitDataURL(p.URL); ok {
			return inline(kind, data)
		}
		u, err := url.Parse(p.URL)
		if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
			return Medium{Type: p.MIMEType}, errors.New("its address is not one of the web")
		}
		return Medium{Type: mediaType(p.MIMEType), URL: p.URL}, nil
	}
	return Medium{Type: string(p.Type)}, errors.New("it has no place here")
}

func inline(declared, data string) (Medium, error) {
	raw, err := base64.StdEncoding.DecodeString(data)
	if err != nil || len(raw) == 0 {
		return Medium{Type: declared}, errors.New("its data is not base64")
	}
	if strings.ContainsAny(data, "\r\n") { // which the decoder skips, and APIs do not
		data = base64.StdEncoding.EncodeToString(raw)
	}
	m := Medium{Type: mediaType(declared), Data: data}
	if seen := sniff(raw); seen != "" {
		m.Type = seen
	}
	if strings.HasPrefix(m.Type, "text/") {
		if m.Text = string(raw); strings.TrimSpace(m.Text) == "" {
			return m, errors.New("it is empty")
		}
	}
	return m, nil
}

// LeftOut stands for a part that cannot be sent. The model is told, rather than the job
// ended: the part would be in every later request as well.
func LeftOut(what, why string) string {
	return fmt.Sprintf("[a part of type %.100q was left out: %s]", what, why)
}

// IsImage reports whether a medium is an image that every model with eyes takes.
func (m Medium) IsImage() bool {
	switch m.Type {
	case "image/png", "image/jpeg", "image/gif", "image/webp":
		return true
	}
	return false
}

// DataURL is the medium as an address that holds its own bytes.
func (m Medium) DataURL() string { return "data:" + m.Type + ";base64," + m.Data }

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

// sniff recognises types by their first bytes.
func sniff(raw []byte) string {
	for _, known := range []struct{ magic, kind string }{
		{"\x89PNG\r\n\x1a\n", "image/png"},
		{"\xff\xd8\xff", "image/jpeg"},
		{"GIF8", "image/gif"},
		{"%PDF-", TypePDF},
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
