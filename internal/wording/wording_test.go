package wording

import (
	"strings"
	"testing"
	"time"
)

func TestNearest(t *testing.T) {
	keys := []string{"provider", "model", "reasoningBudget", "runtime", "maxSteps", "maxTokens", "experts", "envPath"}
	for word, want := range map[string]string{
		"modle": "model", "Model": "model", "max_steps": "maxSteps", "MAXSTEPS": "maxSteps", "reasoningbudjet": "reasoningBudget",
		"xyz": "", "": "", "m": "", strings.Repeat("model", 50): "",
	} {
		if got := Nearest(word, keys); got != want {
			t.Errorf("nearest(%q) = %q, want %q", word, got, want)
		}
	}
}

func TestCutRunes(t *testing.T) {
	for _, tt := range []struct{ text, want string }{{"", ""}, {"ääää", "ääää"}, {"abcde", "ab …"}, {"äöüßé", "äö …"}} {
		if got := CutRunes(tt.text, 4, " …"); got != tt.want {
			t.Errorf("%q became %q, want %q", tt.text, got, tt.want)
		}
	}
	if got := CutRunes("äöüßé", 4, ""); got != "äöüß" {
		t.Errorf("without a mark: %q", got)
	}
}

// A cut text is within its limit, shows that it was cut, and ends at a character.
func TestCut(t *testing.T) {
	for _, tt := range []struct {
		text  string
		limit int
		want  string
	}{
		{"short", 5, "short"}, {"longer", 5, "lo…"}, {"ééé", 6, "ééé"}, {"ééééé", 7, "éé…"}, {"ééééé", 6, "é…"}, {"long", 0, "…"},
		{"\x80\x80\x80\x80\x80", 4, "…"},
	} {
		if got := Cut(tt.text, tt.limit); got != tt.want {
			t.Errorf("Cut(%q, %d) = %q, want %q", tt.text, tt.limit, got, tt.want)
		}
	}
}

func TestBytes(t *testing.T) {
	for n, want := range map[int64]string{0: "0 bytes", 1: "1 byte", 1023: "1023 bytes", 1024: "1 KiB", 1536: "1.5 KiB", 64 << 20: "64 MiB", 4 << 30: "4 GiB", 5<<40 + 1: "5 TiB"} {
		if got := Bytes(n); got != want {
			t.Errorf("%d: %q, want %q", n, got, want)
		}
	}
}

func TestFigures(t *testing.T) {
	for got, want := range map[string]string{
		Short(0): "0", Short(999): "999", Short(18_234): "18.2k", Short(999_960): "1.0M",
		Cost(0): "$0", Cost(0.0001): "<$0.001", Cost(0.0214): "$0.021", Cost(0.0999): "$0.100", Cost(0.12): "$0.12", Cost(1.249): "$1.25",
		Budget(0.5): "$0.50", Budget(0.005): "$0.005", Budget(2): "$2.00", Budget(0.25): "$0.25",
		Clock(12_999 * time.Millisecond): "00:12", Clock(3723 * time.Second): "1:02:03", Clock(-1): "00:00",
	} {
		if got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
