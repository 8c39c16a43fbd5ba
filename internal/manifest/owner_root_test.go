//go:build root && unix

package manifest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A file of another user above the working directory is not picked up; it can still be
// named. In the working directory itself it is the user's own choice.
func TestRootForeignFileAbove(t *testing.T) {
	dir := t.TempDir()
	below := filepath.Join(dir, "below")
	if err := os.Mkdir(below, 0o755); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, FileName)
	if err := os.WriteFile(path, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := Find(below); err != nil {
		t.Errorf("own file: %v", err)
	}
	if err := os.Chown(path, 65534, 65534); err != nil {
		t.Fatal(err)
	}
	if _, err := Find(below); err == nil || !strings.Contains(err.Error(), "belongs to another user") {
		t.Errorf("foreign file above: %v, want a refusal", err)
	}
	if _, err := Find(dir); err != nil {
		t.Errorf("foreign file in the working directory: %v", err)
	}
}
