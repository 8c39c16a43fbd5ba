package local_test

import (
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"testing"

	"github.com/perstack-go/perstack/engine"
	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/expert"
	"github.com/perstack-go/perstack/internal/runtimes/local"
	"github.com/perstack-go/perstack/model/replay"
	"github.com/perstack-go/perstack/store/memory"
)

// Whoever works in the user's home has the packages of skills in the workspace. No tool
// may write there: that would be a way to run code without being allowed to.
func TestPackagesAreOutOfReach(t *testing.T) {
	home := t.TempDir()
	cache := filepath.Join(home, ".cache", "perstack")
	cassette, err := replay.Parse("cassette.toml", []byte(`[[turn]]
[[turn.call]]
tool = "writeTextFile"
args = { path = ".cache/perstack/npm/index.js", text = "steal()" }
[[turn]]
text = "Done."
`))
	if err != nil {
		t.Fatal(err)
	}
	refused := false
	runtime := &local.Runtime{
		Model: replay.New(cassette), Store: memory.New(), Source: engine.SystemSource(), Log: slog.New(slog.DiscardHandler),
		Workspace: home, CacheDir: cache,
	}
	_, err = runtime.Run(t.Context(), engine.Job{
		ID: "job", Expert: &expert.Expert{Key: "w", Name: "w", Version: "1.0.0", Instruction: "Write."}, Input: engine.Input{Query: "go"}, MaxSteps: 5,
	}, engine.Listener{Emit: func(e event.Event) error {
		if b, ok := e.Body.(event.EndToolCall); ok {
			refused = b.ToolResult.IsError
		}
		return nil
	}})
	if err != nil || !refused {
		t.Errorf("refused: %v, %v", refused, err)
	}
	if _, err := os.Stat(filepath.Join(cache, "npm", "index.js")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the file is there: %v", err)
	}
}
