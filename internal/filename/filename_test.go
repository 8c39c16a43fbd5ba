package filename

import (
	"strings"
	"testing"
)

func TestIsEnv(t *testing.T) {
	tests := map[string]bool{
		".env": true, ".ENV": true, ".Env.Local": true, ".env.": true, ".env. .": true, ".env ": true,
		".env.production": true, ".env.example.bak": true, "．env": true, ".eⓝv": true, ".en\u200dv": true, ".env\ufe0f": true,
		".env.example": false, ".env.SAMPLE": false, ".env.prod.template": false,
		".envrc": false, "env": false, "x.env": false, ".environment": false, "": false, "..": false,
	}
	for name, want := range tests {
		if got := IsEnv(Fold(name)); got != want {
			t.Errorf("IsEnv(%q) = %t", name, got)
		}
	}
}

func TestFold(t *testing.T) {
	tests := [][2]string{
		{"PERSTACK", "perstack"}, {"per\u200bstack", "perstack"}, {"perſtack", "perstack"}, {"perstac\u212a", "perstack"},
		{"STRASSE", "straße"}, {"e\u0301", "\u00c9"}, {"perstack. ", "perstack"},
	}
	for _, tt := range tests {
		if Fold(tt[0]) != Fold(tt[1]) {
			t.Errorf("Fold(%q) = %q, Fold(%q) = %q", tt[0], Fold(tt[0]), tt[1], Fold(tt[1]))
		}
	}
}

// A name that grows when it is folded is folded as far as it matters, and is still
// recognised by its beginning.
func TestFoldIsBounded(t *testing.T) {
	for _, name := range []string{strings.Repeat("\ufdfa", 80), ".env." + strings.Repeat("\ufdfa", 80), strings.Repeat("\u3300", 1000)} {
		if n := len(Fold(name)); n > 2*maxFolded {
			t.Errorf("a name of %d bytes became one of %d", len(name), n)
		}
	}
	if !IsEnv(Fold(".ＥＮＶ." + strings.Repeat("\ufdfa", 80))) {
		t.Error("the beginning was not recognised")
	}
	long := strings.Repeat("é", 120)
	if Fold(long) != Fold(strings.Repeat("E\u0301", 120)) || Fold(long) == Fold(long+"x") {
		t.Error("long names are not told apart, or two spellings are")
	}
}
