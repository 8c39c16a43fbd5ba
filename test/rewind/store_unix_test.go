//go:build unix

package rewind

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/perstack-go/perstack/internal/testkit/history"
)

// stored returns how many bytes the stored files take.
func (p *project) stored() (bytes int64) {
	p.t.Helper()
	p.check(filepath.WalkDir(filepath.Join(history.Of(p.t, p.dir), "files", "packs"), func(_ string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		info, err := e.Info()
		if err == nil {
			bytes += info.Size()
		}
		return err
	}))
	return bytes
}

// Stored files go with the last job that needs them.
func TestDeletedJobsFreeSpace(t *testing.T) {
	p := newProject(t)
	for _, id := range []string{"one", "two"} {
		code, out := p.runOnce([]string{"head -c 400000 /dev/urandom > " + id, "rm " + id, "echo x > x"}, "--job-id", id)
		if code != 0 {
			t.Fatalf("exit code %d\n%s", code, out)
		}
	}
	before := p.stored()
	p.must("jobs", "rm", "one", "--yes")
	if now := p.stored(); before < 800_000 || now > before-300_000 || now < 400_000 {
		t.Errorf("%d bytes are stored, then %d", before, now)
	}
	p.must("diff", "two", "--stat")
	p.must("jobs", "rm", "two", "--yes")
	if now := p.stored(); now > 10_000 {
		t.Errorf("without a job, %d bytes are stored", now)
	}
}

// maxStoreBytes holds after each job. The ends of old jobs stay, so that these can be undone.
func TestStoreStaysSmall(t *testing.T) {
	p := newProject(t)
	p.config("[snapshots]\nmaxStoreBytes = \"1MiB\"\n")
	for i := range 4 {
		id := fmt.Sprint("job", i)
		code, out := p.runOnce([]string{"head -c 300000 /dev/urandom > a", "head -c 300000 /dev/urandom > a", "rm a; echo x >> x"}, "--job-id", id)
		if code != 0 {
			t.Fatalf("exit code %d\n%s", code, out)
		}
		if now := p.stored(); now > 1<<20 {
			t.Errorf("after job %d, %d bytes are stored", i, now)
		}
	}
	for i := 3; i >= 0; i-- {
		if out := p.must("undo", fmt.Sprint("job", i)); !strings.Contains(out, "x") {
			t.Errorf("undo says %s", out)
		}
	}
	if _, err := os.Stat(filepath.Join(p.ws, "x")); err == nil {
		t.Error("the first job was not undone")
	}
}
