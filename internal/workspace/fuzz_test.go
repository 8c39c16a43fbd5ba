package workspace_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Whatever the path: what lies outside or is protected is neither read, nor listed,
// nor changed; and what is opened is what a plain look at the tree says.
func FuzzPath(f *testing.F) {
	h := newFixture(f)
	h.link(f, "../outside", "rel")
	h.link(f, h.outside, "abs")
	h.link(f, "perstack", "p")
	h.link(f, "src/../..", "up")
	h.link(f, ".env", "e")
	for _, seed := range []string{
		"a.txt", "../outside/secret.txt", "rel/secret.txt", "abs/secret.txt", "p/jobs/j1", "up/outside/secret.txt", "e",
		h.dir + "/../outside/secret.txt", h.outside + "/secret.txt", "/proc/self/cwd", "~/x", ".ENV", "\x00", "src/./../PERSTACK/jobs/j1",
		"keys.txt", ".\u200benv", "//", "./..", "...", "src//b.txt/", `..\outside\secret.txt`, `C:\x`, "a.txt:stream",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, name string) {
		if text, err := h.read(name); err == nil && strings.Contains(text, canary) {
			t.Fatalf("read a secret through %q", name)
		}
		if l, err := h.ReadDir(t.Context(), name, 0, 100); err == nil {
			for _, e := range l.Entries {
				if e.Name == "secret.txt" || e.Name == "j1" || e.Name == ".env" {
					t.Fatalf("listed a secret through %q", name)
				}
			}
		}
		if info, err := h.WriteFile(t.Context(), name, []byte("planted")); err == nil {
			if info.Path != h.dir && !strings.HasPrefix(info.Path, h.dir+string(filepath.Separator)) {
				t.Fatalf("wrote to %q through %q", info.Path, name)
			}
			if err := os.Remove(info.Path); err != nil {
				t.Fatalf("wrote through %q, but not to %q", name, info.Path)
			}
		}
		for range 2 { // the second time the way is known
			h.compare(t, name)
		}
		for _, s := range h.secrets() {
			if got, err := os.ReadFile(s); err != nil || string(got) != canary {
				t.Fatalf("changed %q through %q: %q, %v", s, name, got, err)
			}
		}
	})
}
