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

// mediaPart is an image or a file as a part of a message.
func mediaPart(m wire.Medium) []byte {
	if m.URL != "" {
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

// fitsInside reports whether the API takes a medium inside a result.
func fitsInside(m wire.Medium) bool {
	return m.Type == wire.TypePDF || m.Type == wire.TypePlain || m.IsImage()
}

// medium encodes an image or a file that a user sent, or a line in its place.
func (m *Model) medium(e *encoded, p *event.Part, slim bool) []byte {
	var found wire.Medium
	leftOut := ""
	if !m.fetches(p.URL) {
		found, leftOut = m.inline(e, p, false, slim)
	} else { // MediaOf knows addresses of the web only
		kind, _, _ := strings.Cut(p.MIMEType, ";")
		found = wire.Medium{Type: strings.TrimSpace(kind), URL: p.URL}
		if found.Type == "" && m.vertex {
			leftOut = wire.LeftOut(string(p.Type), "its media type is not given")
		}
	}
	if leftOut != "" {
		return textPart(leftOut)
	}
	return mediaPart(found)
}

var rules = wire.MediaRules{
	Types: "image/png image/jpeg image/webp image/heic image/heif audio/ video/ " + wire.TypePDF,
	Named: "png, jpeg, webp, heic, pdf, text, audio and video", MaxImage: maxMedia, MaxFile: maxMedia, MaxMedia: maxMedia,
}

// CheckMedia implements [model.MediaChecker].
func (m *Model) CheckMedia(_ string, parts []event.Part) error { return rules.Check(parts, &m.Known) }

// inline takes bytes of a kind that the model looks at, and weighs them. leftOut is a line in
// their place.
func (m *Model) inline(e *encoded, p *event.Part, fromTool, slim bool) (found wire.Medium, leftOut string) {
	found, why := rules.Read(p, &m.Known, fromTool)
	if why == "" && slim {
		why = wire.SentBefore
	}
	if why != "" {
		return found, wire.LeftOut(found.Type, why)
	}
	if found.Text != "" {
		found.Type = wire.TypePlain // of which every model takes all
	}
	e.media += len(found.Data)
	return found, ""
}

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
