package httpapi

import (
	"net/url"
	"strings"
	"testing"
)

// A path that is split and put together again is the same, and every route finds its own pattern.
func FuzzSplit(f *testing.F) {
	f.Add("/api/registry/v1/experts/%40acme%2Fa%401.0.0/versions/")
	f.Add("/a//b/%zz")
	f.Fuzz(func(t *testing.T, path string) {
		parts, ok := split(path)
		if !ok {
			return
		}
		escaped := make([]string, len(parts))
		for i, part := range parts {
			escaped[i] = url.PathEscape(part)
		}
		again, ok := split("/" + strings.Join(escaped, "/"))
		if !ok || len(again) < len(parts)-1 || len(again) > len(parts) {
			t.Errorf("%q: %q, then %q", path, parts, again)
		}
		for i := range again {
			if again[i] != parts[i] {
				t.Errorf("%q: %q, then %q", path, parts, again)
			}
		}
		for _, r := range (&Handler{}).table() {
			r.match(parts) // without a panic
		}
	})
}
