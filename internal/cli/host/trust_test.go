package host

import (
	"testing"
	"time"

	"github.com/perstack-go/perstack/internal/protect"
)

func TestDescribeMark(t *testing.T) {
	h := &Host{Dir: "/ws"}
	when := time.Date(2026, 11, 16, 19, 20, 3, 0, time.FixedZone("", 2*60*60))
	for name, tt := range map[string]struct {
		path string
		want string
	}{
		"time": {"/ws/.env", ".env was changed during job first (ended 2026-11-16 17:20:03 UTC)"},
	} {
		r := protect.Refusal{Path: tt.path, Accept: tt.path, Mark: protect.Mark{Path: tt.path, Change: protect.Changed}, Job: "first", When: when}
		if got := h.DescribeMark(r); got != tt.want {
			t.Errorf("%s: %q, want %q", name, got, tt.want)
		}
	}
}
