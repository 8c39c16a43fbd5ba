package wire

import (
	"encoding/base64"
	"errors"
	"fmt"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/model"
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
		if kind, data, ok := strings.Cut(p.URL, ";base64,"); ok && strings.HasPrefix(kind, "data:") {
			return inline(strings.TrimPrefix(kind, "data:"), data)
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

// MediaRules say which media an API takes. Files of type text/... it takes always.
type MediaRules struct {
	Types string // media types, separated by spaces; one that ends in / stands for all below it
	Named string // the same in words, for a model

	// Fetches reports whether the provider itself fetches an address that a user gave; nil
	// if it fetches none.
	Fetches func(*event.Part) bool

	// The largest image and the largest file, in bytes of base64; 0 is no limit. More would
	// be refused with the whole request, and with every later one that has it.
	MaxImage, MaxFile int

	// What one message can have: bytes of base64, images and files together, and files alone. 0 is
	// no limit.
	MaxMedia, MaxParts, MaxFiles int
}

// TypesImages are the types of images that most APIs take.
const TypesImages = "image/png image/jpeg image/gif image/webp"

// SentBefore is why a message goes without its media; see [Encoded].
const SentBefore = "sent before; left out to keep the request small"

// Read reads an image or a file of a user's message, or of what a tool returned. why says
// why it cannot be sent; it is empty if it can.
func (r *MediaRules) Read(p *event.Part, known *model.Known, fromTool bool) (m Medium, why string) {
	m, err := MediaOf(p)
	if err != nil {
		return m, err.Error()
	}
	return m, r.refuse(p, m, known, fromTool)
}

func (r *MediaRules) refuse(p *event.Part, m Medium, known *model.Known, fromTool bool) string {
	linked := m.URL != "" && p.Type == event.ImageURLPart // whatever type it turns out to have
	isImage := linked || strings.HasPrefix(m.Type, "image/")
	most := r.MaxFile
	if isImage {
		most = r.MaxImage
	}
	switch {
	case m.URL != "" && fromTool:
		// The provider would fetch it: a skill without a network could reach out by it.
		return "an address that a tool returned is not fetched"
	case m.URL != "" && (r.Fetches == nil || !r.Fetches(p)):
		return "this provider does not fetch such an address; give the bytes"
	case m.Text == "" && !linked && !r.has(m.Type):
		return "this provider takes " + r.Named
	case isImage && known.Images == model.Unable, m.Type == TypePDF && known.PDF == model.Unable:
		return "this model cannot look at it"
	case most > 0 && len(m.Data) > most:
		return fmt.Sprintf("it is too large for this provider, which takes at most %.3g MB", megabytes(most))
	}
	return ""
}

// Check returns a [*model.MediaError] for the first part of a user's message that would be left out.
func (r *MediaRules) Check(parts []event.Part, known *model.Known) error {
	bytes, count, files := 0, 0, 0
	for i := range parts {
		p := &parts[i]
		if !IsMedia(p) {
			continue
		}
		m, why := r.Read(p, known, false)
		bytes, count = bytes+len(m.Data), count+1
		if !m.IsImage() {
			files++
		}
		switch {
		case why != "":
		case r.MaxMedia > 0 && bytes > r.MaxMedia:
			why = fmt.Sprintf("images and files of one message are too large together for this provider, which takes at most %.3g MB", megabytes(r.MaxMedia))
		case r.MaxParts > 0 && count > r.MaxParts:
			why = fmt.Sprintf("this provider takes at most %d images and files in a message", r.MaxParts)
		case r.MaxFiles > 0 && files > r.MaxFiles:
			why = fmt.Sprintf("this provider takes at most %d files in a message", r.MaxFiles)
		}
		if why != "" {
			return &model.MediaError{Part: i, Why: why}
		}
	}
	return nil
}

// megabytes is how many bytes fit into so many of base64.
func megabytes(base64 int) float64 { return float64(base64) / 4 * 3 / 1e6 }

func (r *MediaRules) has(kind string) bool {
	family, _, _ := strings.Cut(kind, "/")
	types := strings.Fields(r.Types)
	return slices.Contains(types, kind) || slices.Contains(types, family+"/")
}

// IsImage reports whether a medium is an image that every model with eyes takes.
func (m Medium) IsImage() bool {
	return m.Type != "" && slices.Contains(strings.Fields(TypesImages), m.Type)
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

// sniff is the type that bytes show; empty if it is none that wires ask for.
func sniff(raw []byte) string {
	seen := http.DetectContentType(raw)
	if seen == TypePDF || (Medium{Type: seen}).IsImage() {
		return seen
	}
	return ""
}
