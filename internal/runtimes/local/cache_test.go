package local_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/internal/runtimes/local"
)

// If the workspace is the user's home, it contains the packages of skills. No tool
// may write there: that would be a way to run code without being allowed to.
func TestPackagesAreOutOfReach(t *testing.T) {
	home := t.TempDir()
	cache := filepath.Join(home, ".cache", "perstack")
	const cassette = `[[turn]]
[[turn.call]]
tool = "writeTextFile"
args = { path = ".cache/perstack/npm/index.js", text = "steal()" }
[[turn.call]]
tool = "editTextFile"
args = { path = ".cache/perstack/npm/there.js", oldText = "fine", newText = "steal()" }
[[turn.call]]
tool = "deleteFile"
args = { path = ".cache/perstack/npm/there.js" }
[[turn.call]]
tool = "moveFile"
args = { source = ".cache", destination = "elsewhere" }
[[turn]]
text = "Done."
`
	there := filepath.Join(cache, "npm", "there.js")
	if err := os.MkdirAll(filepath.Dir(there), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(there, []byte("fine"), 0o600); err != nil {
		t.Fatal(err)
	}
	refused := 0
	parts := newParts(t, cassette, func(e event.Event) error {
		if b, ok := e.Body.(event.EndToolCall); ok {
			if text := event.FirstText(b.ToolResult.Result); b.ToolResult.IsError && strings.Contains(text, `"code":"protected"`) {
				refused++
			} else {
				t.Errorf("%s: %s", b.ToolResult.ToolName, text)
			}
		}
		return nil
	})
	parts.CacheDir = cache
	_, err := local.Run(t.Context(), writerSpec(home), parts)
	if err != nil || refused != 4 {
		t.Errorf("refused: %d, %v", refused, err)
	}
	if text, err := os.ReadFile(there); string(text) != "fine" {
		t.Errorf("what was installed is %q now, %v", text, err)
	}
	if _, err := os.Stat(filepath.Join(cache, "npm", "index.js")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the file is there: %v", err)
	}
}
