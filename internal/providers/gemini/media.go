package gemini

import (
	"net/url"
	"strings"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/internal/providers/wire"
)

// maxMedia is how many bytes of base64 a request has. The API takes 20 MB in all, and
// refuses more with every later request as well.
const maxMedia = 15_000_000

// A medium is an image or a file as the API takes it, or a line in its place.
type medium struct {
	wire.Medium
	leftOut string
}

// part is the medium as a part of a message.
func (m medium) part() []byte {
	switch {
	case m.leftOut != "":
		return textPart(m.leftOut)
	case m.URL != "":
		type file struct {
			Type string `json:"mimeType,omitzero"`
			URI  string `json:"fileUri"`
		}
		return encode(map[string]file{"fileData": {m.Type, m.URL}})
	}
	// The data is base64, and may be large: it is copied once.
	text := make([]byte, 0, len(m.Data)+len(m.Type)+64)
	text = append(append(text, `{"inlineData":{"mimeType":`...), wire.Quote(m.Type)...)
	text = append(append(text, `,"data":"`...), m.Data...)
	return append(text, `"}}`...)
}

// fitsInside reports whether the API takes the medium inside a result.
func (m medium) fitsInside() bool {
	return m.Data != "" && (m.Type == wire.TypePDF || m.Type == wire.TypePlain || m.IsImage())
}

// medium reads a part that a user sent.
func (m *Model) medium(e *encoded, p *event.Part, slim bool) medium {
	if m.fetches(p.URL) {
		// MediaOf knows addresses of the web only.
		kind, _, _ := strings.Cut(p.MIMEType, ";")
		if kind = strings.TrimSpace(kind); kind == "" && m.vertex {
			return leftOut(string(p.Type), "its media type is not given")
		}
		return medium{Medium: wire.Medium{Type: kind, URL: p.URL}}
	}
	return m.inline(e, p, false, slim)
}

var rules = wire.MediaRules{
	Types: "image/png image/jpeg image/webp image/heic image/heif audio/ video/ " + wire.TypePDF,
	Named: "png, jpeg, webp, heic, pdf, text, audio and video", MaxImage: maxMedia, MaxFile: maxMedia,
}

// inline takes bytes of a kind that the model looks at, and weighs them.
func (m *Model) inline(e *encoded, p *event.Part, fromTool, slim bool) medium {
	found, why := rules.Read(p, &m.Known, fromTool)
	switch {
	case why != "":
		return leftOut(found.Type, why)
	case slim:
		return leftOut(found.Type, wire.SentBefore)
	case found.Text != "":
		found.Type = wire.TypePlain // of which every model takes all
	}
	e.media += len(found.Data)
	return medium{Medium: found}
}

func leftOut(what, why string) medium { return medium{leftOut: wire.LeftOut(what, why)} }

// fetches reports whether the provider itself fetches an address: Vertex AI all of the web
// and of its storage, the Gemini API what was uploaded to it, and films of YouTube.
func (m *Model) fetches(address string) bool {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" || u.User != nil {
		return false
	}
	if m.vertex {
		return u.Scheme == "https" || u.Scheme == "http" || u.Scheme == "gs"
	}
	switch {
	case strings.HasPrefix(address, strings.TrimSuffix(m.Client.BaseURL, "/")+"/files/"):
		return !strings.Contains(u.Path, "..")
	case u.Scheme == "https":
		return u.Host == "www.youtube.com" || u.Host == "youtube.com" || u.Host == "youtu.be"
	}
	return false
}
