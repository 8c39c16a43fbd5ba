package anthropic

import (
	"encoding/base64"
	"strings"
	"testing"

	"github.com/perstack-go/perstack/event"
)

// An image or a document that the API would refuse, and with it every later request of
// the job, is left out; the model is told. The limits themselves pass.
func TestLargeMediaIsLeftOut(t *testing.T) {
	encoded := func(head string, size int) string {
		raw := size / 4 * 3
		return base64.StdEncoding.EncodeToString([]byte(head + strings.Repeat("x", raw-len(head))))
	}
	const png, pdf = "\x89PNG\r\n\x1a\n", "%PDF-1.7"
	for _, tt := range []struct {
		part event.Part
		want string
	}{
		{event.Part{Type: event.ImageInlinePart, MIMEType: "image/png", EncodedData: encoded(png, maxImage)}, typeImage},
		{event.Part{Type: event.ImageInlinePart, MIMEType: "image/png", EncodedData: encoded(png, maxImage+4)}, typeText},
		{event.Part{Type: event.FileInlinePart, MIMEType: typePDF, EncodedData: encoded(pdf, maxDocument)}, typeDocument},
		{event.Part{Type: event.FileInlinePart, MIMEType: typePDF, EncodedData: encoded(pdf, maxDocument+4)}, typeText},
	} {
		got := media(&tt.part)
		if len(got) != 1 || got[0].Type != tt.want || tt.want == typeText && !strings.Contains(got[0].Text, "too large") {
			t.Errorf("%s of %d bytes became %s %.100q, want %s", tt.part.MIMEType, len(tt.part.EncodedData), got[0].Type, got[0].Text, tt.want)
		}
	}
}
