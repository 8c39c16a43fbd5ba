package responses

import (
	"strings"
	"testing"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/internal/providers/wire"
)

// What the API would refuse, and with it every later request of the job, is left out. The
// limits themselves pass.
func TestLargeMediaIsLeftOut(t *testing.T) {
	large := strings.Repeat("A", maxFile+4)
	for _, tt := range []struct {
		kind string
		size int
		ok   bool
	}{
		{"image/png", maxImage, true}, {"image/png", maxImage + 4, false}, {wire.TypePDF, maxFile, true}, {wire.TypePDF, maxFile + 4, false},
	} {
		w := &writer{}
		err := w.refuses(&event.Part{Type: event.FileInlinePart}, wire.Medium{Type: tt.kind, Data: large[:tt.size]}, true)
		if (err == nil) != tt.ok || err != nil && !strings.Contains(err.Error(), "too large") {
			t.Errorf("%s of %d bytes: %v", tt.kind, tt.size, err)
		}
	}
}
