package workspace_test

import (
	"context"
	"path/filepath"
	"strings"
	"testing"

	"github.com/perstack-go/perstack/internal/workspace"
)

func TestReadFile(t *testing.T) {
	h := newFixture(t)
	put(t, filepath.Join(h.dir, "big"), strings.Repeat("x", 3<<20))
	put(t, filepath.Join(h.dir, "empty"), "")
	for _, tt := range []struct {
		name  string
		limit int64
		want  int
	}{{"a.txt", 6, 6}, {"a.txt", 1 << 40, 6}, {"big", 3 << 20, 3 << 20}, {"empty", 0, 0}} {
		info, data, err := h.ReadFile(t.Context(), tt.name, tt.limit)
		if err != nil || len(data) != tt.want || info.Size != int64(tt.want) || info.Path != filepath.Join(h.dir, tt.name) {
			t.Errorf("%s: %d bytes, %+v, %v", tt.name, len(data), info, err)
		}
	}
	_, data, err := h.ReadFile(t.Context(), "a.txt", 5)
	wantCode(t, err, workspace.TooLarge, "it has 6 bytes or more, and the limit is 5")
	if data != nil {
		t.Errorf("too large, and read %q", data)
	}
	for name, code := range map[string]workspace.Code{
		"none": workspace.NotFound, "src": workspace.IsADirectory, ".env": workspace.Protected, "../outside/secret.txt": workspace.OutsideWorkspace,
	} {
		if _, _, err := h.ReadFile(t.Context(), name, 100); !isCode(err, code) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A file that grows while it is read does not grow in memory beyond the limit, and a
// caller who no longer waits is not kept.
func TestReadFileGrowing(t *testing.T) {
	grow := readerFunc(func(p []byte) (int, error) { return copy(p, "more"), nil })
	_, err := workspace.ReadAll(t.Context(), grow, 4, 100)
	wantCode(t, err, workspace.TooLarge, "the limit is 100")
	ctx, cancel := context.WithCancel(t.Context())
	stop := readerFunc(func(p []byte) (int, error) { cancel(); return copy(p, "more"), nil })
	_, err = workspace.ReadAll(ctx, stop, 4, 1<<40)
	wantCode(t, err, workspace.Interrupted, "interrupted")
}

type readerFunc func([]byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }
