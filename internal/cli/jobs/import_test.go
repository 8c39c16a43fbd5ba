package jobs

import (
	"bytes"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/perstack-go/perstack/internal/cli/host"

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

// A job goes into a file and comes back with its stored files; whatever is wrong with the file, the
// history stays as it was.
func TestExportAndImport(t *testing.T) {
	p, stop := usual(t)
	defer stop()
	archive := filepath.Join(t.TempDir(), "job.tar.gz")
	if out, errOut, code := p.perstack("export", "r58p", "-o", archive); code != 0 || !strings.HasPrefix(out, "Exported job r58pytq0 to ") {
		t.Fatalf("code %d, %s%s", code, out, errOut)
	}
	if info, err := os.Stat(archive); err != nil || info.Mode().Perm() != 0o600 && runtime.GOOS != "windows" {
		t.Errorf("%v, %v", info, err)
	}
	running := filepath.Join(t.TempDir(), "running.tar.gz")
	if _, errOut, code := p.perstack("export", "runn", "-o", running); code != host.ExitUsage || !strings.Contains(errOut, "job running-one is running") {
		t.Errorf("code %d, %s", code, errOut)
	}
	if _, err := os.Stat(running); err == nil {
		t.Error("there is a file of a job that is running")
	}
	damaged := filepath.Join(p.dir, "jobs", "tiny-one", "journal.jsonl")
	data, err := os.ReadFile(damaged)
	if err == nil {
		err = os.WriteFile(damaged, bytes.Replace(data, []byte("writer"), []byte("Writer"), 1), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	if _, errOut, code := p.perstack("export", "tiny", "-o", running); code != host.ExitFailure || !strings.Contains(errOut, "damaged") {
		t.Errorf("code %d, %s", code, errOut)
	}
	if _, err := os.Stat(running); err == nil {
		t.Error("there is a part of a file")
	}

	other := newProject(t)
	good, err := os.ReadFile(archive)
	if err != nil {
		t.Fatal(err)
	}
	bad := filepath.Join(t.TempDir(), "bad.tar.gz")
	for _, n := range []int{0, 10, len(good) / 2, len(good) - 1} {
		if err := os.WriteFile(bad, good[:n], 0o600); err != nil {
			t.Fatal(err)
		}
		if out, errOut, code := other.perstack("import", bad); code != host.ExitFailure || out != "" || !strings.Contains(errOut, "nothing was written") {
			t.Errorf("%d bytes: code %d, %s%s", n, code, out, errOut)
		}
		if left, err := os.ReadDir(filepath.Join(other.dir, "jobs")); err != nil || len(left) > 0 {
			t.Errorf("%d bytes: %v, %v", n, left, err)
		}
		if left, err := filepath.Glob(filepath.Join(other.dir, stagePrefix+"*")); err != nil || len(left) > 0 {
			t.Errorf("%d bytes: %v, %v", n, left, err)
		}
	}
	if out, errOut, code := other.perstack("import", archive); code != 0 || !strings.HasPrefix(out, "Imported job r58pytq0 with 3 records\nIt is not sealed.") {
		t.Errorf("code %d, %s%s", code, out, errOut)
	}
	if out, errOut, code := other.perstack("import", archive); code != 0 || !strings.Contains(out, "is in the history already") {
		t.Errorf("code %d, %s%s", code, out, errOut)
	}
}
