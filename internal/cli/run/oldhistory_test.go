package run

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/perstack-go/perstack/internal/runtimes/docker"
)

// The history of an older version in the workspace is hidden from tools, and masked in a
// container. An ordinary directory of that name is not.
func TestOldHistoryIsHidden(t *testing.T) {
	const config = "[provider]\nproviderName = 'ollama'\n[experts.lead]\ninstruction = 'x'"
	for file, hidden := range map[string]bool{"perstack/jobs/j/journal.jsonl": true, "perstack/jobs/nightly.sh": false} {
		path := filepath.Join(t.TempDir(), file)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte("old"), 0o600); err != nil {
			t.Fatal(err)
		}
		workspace, _, _ := strings.Cut(path, string(filepath.Separator)+"perstack"+string(filepath.Separator))
		if os.Geteuid() == 0 { // a container takes no workspace of root
			if err := os.Chown(workspace, 1000, 1000); err != nil {
				t.Fatal(err)
			}
		}
		pl, _, err := makePlan(t, proposal{files: toml(config), opts: flags(t, "--workspace "+workspace)})
		if err != nil {
			t.Fatal(err)
		}
		w := pl.spec.Workspace
		dir := filepath.Join(w.Dir, "perstack")
		if got := slices.Contains(w.Hidden, dir); got != hidden {
			t.Errorf("with %s, %s is hidden: %t", file, dir, got)
		}
		cover, err := docker.CoverWorkspace(t.Context(), w.Dir, w.Hidden, w.ReadOnly)
		if err != nil {
			t.Fatal(err)
		}
		if got := slices.ContainsFunc(cover.Masked, func(path string) bool { return strings.HasSuffix(path, "/perstack") }); got != hidden {
			t.Errorf("with %s, the container masks %q", file, cover.Masked)
		}
	}
}
