package userfile

import (
	"path/filepath"
	"strings"
	"testing"
)

// Below says what filepath.Rel says.
func TestBelow(t *testing.T) {
	names := []string{"/", "/a", "/a/", "/a/b", "/ab", "/a/../b", "/a/./b//c", "/a/b/..", "/..", "//a", "a", "a/b", "..", "../a", "", "."}
	for _, dir := range names {
		for _, path := range names {
			rest, err := filepath.Rel(dir, path)
			want := err == nil && rest != ".." && !strings.HasPrefix(rest, ".."+string(filepath.Separator))
			if !want {
				rest = ""
			}
			if got, ok := Below(dir, path); ok != want || ok && got != rest {
				t.Errorf("Below(%q, %q) = %q, %v; want %q, %v", dir, path, got, ok, rest, want)
			}
		}
	}
}
