package file

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/perstack-go/perstack/store"
)

// A job that is adopted is the same job in another store.
func TestAdopt(t *testing.T) {
	from, _, journal := sampleJob(t)
	writeFile(t, filepath.Join(from.dir, jobsName, "not a job", "file"), nil)
	to := New(filepath.Join(filepath.Dir(from.dir), "to"), nil)
	moved, err := to.Adopt(t.Context(), from)
	if err != nil || !slices.Equal(moved, []string{"job1"}) {
		t.Fatalf("%q, %v", moved, err)
	}
	if got := readFile(t, to.path(journalName)); string(got) != string(journal) {
		t.Error("the journal has changed")
	}
	count(t, to)
	for info, err := range from.Jobs(t.Context()) {
		if info.ID == "job1" {
			t.Errorf("the old store has it still: %v", err)
		}
	}
	if moved, err := to.Adopt(t.Context(), from); err != nil || len(moved) > 0 {
		t.Errorf("once more: %q, %v", moved, err)
	}
	mustClose(t, mustOpen(t, to))
}

// A job that is being written stays where it is, and so does one that both stores have.
func TestAdoptRefused(t *testing.T) {
	from, _, _ := sampleJob(t)
	to := New(filepath.Join(filepath.Dir(from.dir), "to"), nil)
	writer := mustOpen(t, from)
	if moved, err := to.Adopt(t.Context(), from); !errors.Is(err, store.ErrLocked) || len(moved) > 0 {
		t.Errorf("while it is written: %q, %v", moved, err)
	}
	mustClose(t, writer)
	writeFile(t, to.path(journalName), nil)
	if moved, err := to.Adopt(t.Context(), from); err == nil || !strings.Contains(err.Error(), "job1 cannot be moved: this project has a job of that id, too; delete one of them, or move "+filepath.Join(from.dir, jobsName, "job1")) || len(moved) > 0 {
		t.Errorf("when both have it: %q, %v", moved, err)
	}
	count(t, from)
}

// If one job cannot be moved, none is. An error does not name thousands of them.
func TestAdoptAllOrNone(t *testing.T) {
	from, _, _ := sampleJob(t)
	to := New(filepath.Join(filepath.Dir(from.dir), "to"), nil)
	for i := range 12 {
		name := fmt.Sprintf("both%02d", i)
		writeFile(t, filepath.Join(from.dir, jobsName, name, journalName), nil)
		writeFile(t, filepath.Join(to.dir, jobsName, name, journalName), nil)
	}
	moved, err := to.Adopt(t.Context(), from)
	if err == nil || len(moved) > 0 || strings.Count(err.Error(), "this project has a job") != 10 || !strings.HasSuffix(err.Error(), "\nand 2 more jobs cannot be moved") {
		t.Errorf("%q, %v", moved, err)
	}
	count(t, from)
}
