package responses

import (
	"encoding/base64"
	"strings"
	"testing"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/internal/providers/wire"
)

// What the API would refuse, and with it every later request of the job, is left out. The
// limits themselves pass.
func TestLargeMediaIsLeftOut(t *testing.T) {
	for _, tt := range []struct {
		kind, head string
		size       int
		ok         bool
	}{
		{"image/png", "\x89PNG\r\n\x1a\n", rules.MaxImage, true}, {"image/png", "\x89PNG\r\n\x1a\n", rules.MaxImage + 4, false},
		{wire.TypePDF, "%PDF-1.7", rules.MaxFile, true}, {wire.TypePDF, "%PDF-1.7", rules.MaxFile + 4, false},
	} {
		data := base64.StdEncoding.EncodeToString([]byte(tt.head + strings.Repeat("x", tt.size/4*3-len(tt.head))))
		got := (&writer{}).medium(&event.Part{Type: event.FileInlinePart, MIMEType: tt.kind, EncodedData: data}, 0, true)
		told := got.Text != nil && strings.Contains(*got.Text, "too large")
		if tt.ok == told || tt.ok != (got.ImageURL != "" || got.FileData != "") {
			t.Errorf("%s of %d bytes became %s", tt.kind, tt.size, got.Type)
		}
	}
}
