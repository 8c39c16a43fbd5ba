package wording

import (
	"strings"
	"testing"
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

func TestCut(t *testing.T) {
	for _, tt := range []struct{ text, want string }{{"", ""}, {"ääää", "ääää"}, {"abcde", "ab …"}, {"äöüßé", "äö …"}} {
		if got := Cut(tt.text, 4, " …"); got != tt.want {
			t.Errorf("%q became %q, want %q", tt.text, got, tt.want)
		}
	}
}
