package workspace_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/perstack-go/perstack/internal/workspace"
)

// deepFile makes a workspace as a run has it, with storage, jobs and env files, and
// returns the name of a file of 10 KB four directories down.
func deepFile(b *testing.B) (*fixture, string) {
	b.Helper()
	h := newFixture(b)
	name := filepath.Join("a", "b", "c", "d", "file.txt")
	put(b, filepath.Join(h.dir, name), strings.Repeat("0123456789", 1024))
	put(b, filepath.Join(h.dir, ".env.local"), "")
	w, err := workspace.Open(h.dir, workspace.Options{Protected: []string{
		filepath.Join(h.dir, "perstack"), filepath.Join(h.dir, ".env"), filepath.Join(h.dir, ".env.local"),
	}})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { w.Close() })
	return &fixture{Workspace: w, dir: h.dir}, name
}

// BenchmarkReadFile and BenchmarkPlainReadFile together say what the checks cost.
func BenchmarkReadFile(b *testing.B) {
	h, name := deepFile(b)
	for b.Loop() {
		if _, data, err := h.ReadFile(b.Context(), name, 1<<20); err != nil || len(data) != 10240 {
			b.Fatal(len(data), err)
		}
	}
}

// BenchmarkReadFileElsewhere is the worst case: no directory is that of the call before.
func BenchmarkReadFileElsewhere(b *testing.B) {
	h, name := deepFile(b)
	other := filepath.Join("e", "f", "g", "h", "file.txt")
	put(b, filepath.Join(h.dir, other), strings.Repeat("0123456789", 1024))
	for b.Loop() {
		name, other = other, name
		if _, data, err := h.ReadFile(b.Context(), name, 1<<20); err != nil || len(data) != 10240 {
			b.Fatal(len(data), err)
		}
	}
}

func BenchmarkPlainReadFile(b *testing.B) {
	h, name := deepFile(b)
	path := filepath.Join(h.dir, name)
	for b.Loop() {
		if data, err := os.ReadFile(path); err != nil || len(data) != 10240 {
			b.Fatal(len(data), err)
		}
	}
}
