package jobs

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/perstack-go/perstack/internal/owner"
)

// What a killed import left is removed by the next one. What a running one writes stays.
func TestLeftovers(t *testing.T) {
	dir := t.TempDir()
	alive := owner.This()
	alive.PID, alive.StartTime = os.Getppid(), ""
	dead := owner.This()
	dead.StartTime = "1" // the process that had this number before
	kept, gone := filepath.Join(dir, stagePrefix+alive.String()), filepath.Join(dir, stagePrefix+dead.String())
	for _, d := range []string{kept, gone, filepath.Join(dir, "importing-by-hand")} {
		if err := os.MkdirAll(filepath.Join(d, "jobs", "half"), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := newStage(dir); err != nil {
		t.Fatal(err)
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 2 {
		t.Errorf("%v, %v; want those of the running process and of the user", entries, err)
	}
	if _, err := os.Stat(kept); err != nil {
		t.Error(err)
	}
}
