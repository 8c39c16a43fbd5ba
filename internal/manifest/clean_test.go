//go:build unix

package manifest

import "testing"

// What is loaded is named by its clean path, since that is what is kept from tools.
// Behind a link, ".." would lead elsewhere.
func TestPathsAreClean(t *testing.T) {
	const raw, clean = "/project/link/../file", "/project/file"
	if got, err := Locate("/", raw); err != nil || got != clean {
		t.Errorf("Locate: %q, %v", got, err)
	}
	if got := EnvFiles("/", "", []string{raw}, nil); len(got) != 1 || got[0].Path != clean {
		t.Errorf("EnvFiles: %+v", got)
	}
}
