package chat_test

import (
	"bytes"
	"encoding/base64"
	"strings"
	"testing"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/internal/providers/chat"
	"github.com/perstack-go/perstack/model"
)

func imageOf(size int) event.Part { return mediumOf("\x89PNG\r\n\x1a\n", size, event.ImageInlinePart) }

// mediumOf is a part with so many bytes of base64.
func mediumOf(head string, size int, kind event.PartType) event.Part {
	data := base64.StdEncoding.EncodeToString([]byte(head + strings.Repeat("x", size/4*3-len(head))))
	return event.Part{Type: kind, EncodedData: data}
}

// sent is what a body weighs, how many media it has, and whether it has a text. Nothing
// of it is copied.
func sent(body [][]byte, text string) (size, media int, told bool) {
	for _, piece := range body {
		size += len(piece)
		media += bytes.Count(piece, []byte(";base64,"))
		told = told || bytes.Contains(piece, []byte(text))
	}
	return size, media, told
}

// An image or a file that the API would refuse, and with it every later request of the
// job, is left out; the model is told. The limits themselves pass.
func TestLargeMediaIsLeftOut(t *testing.T) {
	m := serve(t, nil, nil)
	for _, tt := range []struct {
		part event.Part
		want int
	}{
		{imageOf(chat.MaxImage), 1},
		{imageOf(chat.MaxImage + 4), 0},
		{mediumOf("%PDF-1.7", chat.MaxFile, event.FileInlinePart), 1},
		{mediumOf("%PDF-1.7", chat.MaxFile+4, event.FileInlinePart), 0},
	} {
		_, media, told := sent(m.Body(&model.Request{Messages: []*event.Message{asks(tt.part)}}), "too large")
		if media != tt.want || told == (media == 1) {
			t.Errorf("of %d bytes, %d were sent; that the model is told is %v", len(tt.part.EncodedData), media, told)
		}
	}
}

// When a conversation has too many media, the oldest are left out, of the user and of
// tools alike, and stay so; the newest are sent. A message that goes without its media is
// encoded once more for that.
func TestRequestsStaySlim(t *testing.T) {
	image := imageOf(chat.MaxMedia / 3 / 4 * 4)
	m := serve(t, nil, nil)
	req := &model.Request{Messages: []*event.Message{user("Look at all of these.")}}
	sentMedia := 0
	for range 3 {
		req.Messages = append(req.Messages, says(azureAuthor, calls("c1", "read", "{}")), results(returned("c1", false, text("here"), image)), asks(image))
		size, media, _ := sent(m.Body(req), "")
		if size > chat.MaxMedia+1<<20 || media == 0 {
			t.Fatalf("a body of %d bytes with %d images", size, media)
		}
		sentMedia = media
	}
	encodings := m.Encodings()
	for _, want := range []string{"sent before; left out", `"content":"here\n[a part of type`} {
		if _, _, told := sent(m.Body(req), want); !told {
			t.Errorf("the model is not told %q", want)
		}
	}
	if want := int64(len(req.Messages) + 6 - sentMedia); encodings != want || m.Encodings() != want {
		t.Errorf("%d encodings of %d messages with %d of 6 images, then %d", encodings, len(req.Messages), sentMedia, m.Encodings())
	}
}
