package host

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/perstack-go/perstack/internal/protect"
)

func TestDescribeMark(t *testing.T) {
	h := &Host{Dir: t.TempDir()}
	when := time.Date(2026, 11, 16, 19, 20, 3, 0, time.FixedZone("", 2*60*60))
	for name, tt := range map[string]struct {
		name string
		want string // for the name
	}{
		"time":           {".env", ".env"},
		"control":        {".env.\u202etxt", `$'.env.\342\200\256txt'`},
		"line feed":      {"n\nx", `$'n\nx'`},
		"several blanks": {"a  b", "'a  b'"},
		"like a flag":    {"-x", "." + string(filepath.Separator) + "-x"},
	} {
		path := filepath.Join(h.Dir, tt.name)
		r := protect.Refusal{Path: path, Accept: path, Mark: protect.Mark{Path: path, Change: protect.Changed}, Job: "first", When: when}
		want := tt.want + " was changed during job first (ended 2026-11-16 17:20:03 UTC)"
		if got := h.DescribeMark(r); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
}
