package anthropic

import (
	"encoding/base64"
	"strings"
	"testing"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/internal/providers/wire"
	"github.com/perstack-go/perstack/model"
)

const pngHead, pdfHead = "\x89PNG\r\n\x1a\n", "%PDF-1.7"

// sized is base64 of so many bytes that begins like a file of a type.
func sized(head string, size int) string {
	return base64.StdEncoding.EncodeToString([]byte(head + strings.Repeat("x", size/4*3-len(head))))
}

// An image or a document that the API would refuse, and with it every later request of
// the job, is left out; the model is told. The limits themselves pass.
func TestLargeMediaIsLeftOut(t *testing.T) {
	for _, tt := range []struct {
		part event.Part
		want string
	}{
		{event.Part{Type: event.ImageInlinePart, MIMEType: "image/png", EncodedData: sized(pngHead, maxImage)}, typeImage},
		{event.Part{Type: event.ImageInlinePart, MIMEType: "image/png", EncodedData: sized(pngHead, maxImage+4)}, typeText},
		{event.Part{Type: event.FileInlinePart, MIMEType: wire.TypePDF, EncodedData: sized(pdfHead, maxMedia)}, typeDocument},
		{event.Part{Type: event.FileInlinePart, MIMEType: wire.TypePDF, EncodedData: sized(pdfHead, maxMedia+4)}, typeText},
	} {
		got := (&encoder{}).media(&tt.part, false)
		if got.Type != tt.want || tt.want == typeText && !strings.Contains(got.Text, "too large") {
			t.Errorf("%s of %d bytes became %s %.100q, want %s", tt.part.MIMEType, len(tt.part.EncodedData), got.Type, got.Text, tt.want)
		}
	}
}

// One message alone may have more than a request takes: what comes last stays behind.
func TestMediaOfOneMessage(t *testing.T) {
	part := event.Part{Type: event.ImageInlinePart, MIMEType: "image/png", EncodedData: sized(pngHead, maxImage)}
	e := (&encoder{}).message(&event.Message{Type: event.UserMessage, Contents: []event.Part{part, part, part, part, part, part, part}})
	if n := strings.Count(string(e.open), "too much in one message"); n != 2 || e.media != 5*maxImage {
		t.Errorf("%d images are left out, and %d bytes sent", n, e.media)
	}
}

// A conversation that shows more than a request takes sends the older images as lines.
// The start of it stays the same for many requests, and a slim message is encoded once.
func TestMediaBudget(t *testing.T) {
	m := &Model{cfg: wire.Config{Model: "m"}}
	image := sized(pngHead, maxImage)
	req := &model.Request{}
	before, changes := 0, 0
	for i := range 14 {
		req.Messages = append(req.Messages, &event.Message{Type: event.ToolMessage, Contents: []event.Part{{Type: event.ToolResultPart, ToolCallID: "c", Contents: []event.Part{
			{Type: event.TextPart, Text: "look"}, {Type: event.ImageInlinePart, MIMEType: "image/png", EncodedData: image},
		}}}})
		size, sent, slim := 0, 0, 0
		for _, piece := range m.body(req) {
			size += len(piece)
			switch {
			case len(piece) > maxImage:
				sent++
			case strings.Contains(string(piece), "left out: sent before") && sent == 0:
				slim++
			}
		}
		if size > maxMedia+1<<20 {
			t.Errorf("request %d has %d bytes", i, size)
		}
		if sent+slim != len(req.Messages) || sent == 0 || slim < before {
			t.Errorf("request %d: %d lines, then %d images, for %d messages", i, slim, sent, len(req.Messages))
		}
		if slim != before {
			changes++
		}
		before = slim
	}
	if got, want := m.Encodings(), int64(len(req.Messages)+before); got != want {
		t.Errorf("%d encodings, want %d: each message once, and the slim ones twice", got, want)
	}
	if changes != 3 {
		t.Errorf("the start changed %d times", changes)
	}
}

// However small they are, a request has no more images than the API takes of any size.
func TestNumberOfImages(t *testing.T) {
	m := &Model{cfg: wire.Config{Model: "m"}}
	shown := []event.Part{
		{Type: event.ImageInlinePart, MIMEType: "image/png", EncodedData: sized(pngHead, 40)},
		{Type: event.ImageURLPart, MIMEType: "image/png", URL: "https://example.com/a.png"},
	}
	images := func(req *model.Request) (n int) {
		for _, piece := range m.body(req) {
			n += strings.Count(string(piece), `"type":"image"`)
		}
		return n
	}
	req := &model.Request{}
	for i := range 60 {
		req.Messages = append(req.Messages, &event.Message{Type: event.UserMessage, Contents: shown[i%2 : i%2+1]})
		if n := images(req); n == 0 || n > manyImages {
			t.Fatalf("%d images in a conversation that has %d", n, i+1)
		}
	}
	var all []event.Part
	for range maxImages + 1 {
		all = append(all, shown[0])
	}
	if n := images(&model.Request{Messages: []*event.Message{{Type: event.UserMessage, Contents: all}}}); n != maxImages {
		t.Errorf("%d images in a message that has %d", n, len(all))
	}
}
