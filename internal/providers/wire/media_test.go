package wire_test

import (
	"encoding/base64"
	"strings"
	"testing"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/internal/providers/wire"
)

func TestMediaOf(t *testing.T) {
	encoded := base64.StdEncoding.EncodeToString
	png := encoded([]byte("\x89PNG\r\n\x1a\nrest"))
	for name, tt := range map[string]struct {
		part event.Part
		want wire.Medium
		why  string // part of the error
	}{
		"an image":                    {event.Part{Type: event.ImageInlinePart, MIMEType: "image/png", EncodedData: png}, wire.Medium{Type: "image/png", Data: png}, ""},
		"bytes":                       {event.Part{Type: event.ImageBinaryPart, MIMEType: "image/png", Data: png}, wire.Medium{Type: "image/png", Data: png}, ""},
		"an image that is called pdf": {event.Part{Type: event.FileInlinePart, MIMEType: "application/pdf", EncodedData: png}, wire.Medium{Type: "image/png", Data: png}, ""},
		"an image with no type":       {event.Part{Type: event.ImageInlinePart, EncodedData: png}, wire.Medium{Type: "image/png", Data: png}, ""},
		"jpg":                         {event.Part{Type: event.ImageURLPart, MIMEType: "image/jpg", URL: "https://a.example/b"}, wire.Medium{Type: "image/jpeg", URL: "https://a.example/b"}, ""},
		"a jpeg":                      {event.Part{Type: event.ImageInlinePart, EncodedData: encoded([]byte("\xff\xd8\xffx"))}, wire.Medium{Type: "image/jpeg", Data: encoded([]byte("\xff\xd8\xffx"))}, ""},
		"a gif":                       {event.Part{Type: event.ImageInlinePart, EncodedData: encoded([]byte("GIF89a"))}, wire.Medium{Type: "image/gif", Data: encoded([]byte("GIF89a"))}, ""},
		"a webp":                      {event.Part{Type: event.ImageInlinePart, EncodedData: encoded([]byte("RIFF1234WEBPVP8 "))}, wire.Medium{Type: "image/webp", Data: encoded([]byte("RIFF1234WEBPVP8 "))}, ""},
		"a pdf":                       {event.Part{Type: event.FileInlinePart, EncodedData: encoded([]byte("%PDF-1.7"))}, wire.Medium{Type: wire.TypePDF, Data: encoded([]byte("%PDF-1.7"))}, ""},
		"a text":                      {event.Part{Type: event.FileInlinePart, MIMEType: "text/markdown; charset=utf-8", EncodedData: encoded([]byte("# a"))}, wire.Medium{Type: "text/markdown", Data: encoded([]byte("# a")), Text: "# a"}, ""},
		"data with line ends":         {event.Part{Type: event.ImageInlinePart, EncodedData: png[:8] + "\r\n" + png[8:]}, wire.Medium{Type: "image/png", Data: png}, ""},
		"an address of its bytes":     {event.Part{Type: event.ImageURLPart, URL: "data:image/png;base64," + png}, wire.Medium{Type: "image/png", Data: png}, ""},
		"an address without a type":   {event.Part{Type: event.FileURLPart, URL: "http://a.example"}, wire.Medium{URL: "http://a.example"}, ""},

		"no base64":           {event.Part{Type: event.ImageInlinePart, MIMEType: "image/png", EncodedData: "?"}, wire.Medium{Type: "image/png"}, "not base64"},
		"nothing":             {event.Part{Type: event.ImageInlinePart, MIMEType: "image/png"}, wire.Medium{Type: "image/png"}, "not base64"},
		"an empty text":       {event.Part{Type: event.FileInlinePart, MIMEType: "text/plain", EncodedData: encoded([]byte(" \n"))}, wire.Medium{Type: "text/plain", Data: encoded([]byte(" \n")), Text: " \n"}, "it is empty"},
		"a file of this host": {event.Part{Type: event.FileURLPart, MIMEType: "text/plain", URL: "file:///etc/passwd"}, wire.Medium{Type: "text/plain"}, "not one of the web"},
		"no host":             {event.Part{Type: event.FileURLPart, URL: "https:///x"}, wire.Medium{}, "not one of the web"},
		"not an address":      {event.Part{Type: event.FileURLPart, URL: "://"}, wire.Medium{}, "not one of the web"},
		"a text part":         {event.Part{Type: event.TextPart, Text: "a"}, wire.Medium{Type: "textPart"}, "no place here"},
	} {
		got, err := wire.MediaOf(&tt.part)
		if got != tt.want || (err == nil) != (tt.why == "") || err != nil && !strings.Contains(err.Error(), tt.why) {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
		if wire.IsMedia(&tt.part) != (name != "a text part") {
			t.Errorf("%s is taken for something else", name)
		}
	}
}

func TestDataURL(t *testing.T) {
	m := wire.Medium{Type: "image/png", Data: "aGk="}
	if m.DataURL() != "data:image/png;base64,aGk=" || !m.IsImage() || (wire.Medium{Type: "image/bmp"}).IsImage() {
		t.Error(m.DataURL(), m.IsImage())
	}
}

// What a model is told is short whatever the type is called.
func TestLeftOut(t *testing.T) {
	got := wire.LeftOut(strings.Repeat("x", 1000)+"\n", "it is odd")
	if len(got) > 200 || strings.Contains(got, "\n") || !strings.HasSuffix(got, "was left out: it is odd]") {
		t.Errorf("%q", got)
	}
}
