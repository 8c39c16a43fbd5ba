//go:build unix

package workspace_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/perstack-go/perstack/internal/workspace"
)

// blocks returns what a file takes on the disk.
func blocks(t *testing.T, path string) int64 {
	t.Helper()
	info, err := os.Lstat(path)
	if err != nil {
		t.Fatal(err)
	}
	return info.Sys().(*syscall.Stat_t).Blocks * 512
}

func TestUsage(t *testing.T) {
	h := newFixture(t)
	in := func(name string) string { return filepath.Join(h.dir, name) }
	usage := func() int64 {
		t.Helper()
		sum, err := h.Usage(t.Context(), 0)
		if err != nil {
			t.Fatal(err)
		}
		return sum
	}
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	big := strings.Repeat("x", 1<<20)
	start := usage()
	put(t, in("big"), big)
	put(t, in("perstack/jobs/more"), big) // commands can write here, too
	full := start + blocks(t, in("big")) + blocks(t, in("perstack/jobs/more"))
	if got := usage(); got != full || full < start+2<<20 {
		t.Fatalf("with two files of 1 MiB %d, want %d", got, full)
	}
	// Nothing of this takes space of its own.
	put(t, filepath.Join(h.outside, "big"), big)
	h.link(t, "big", "l1")
	h.link(t, h.outside, "l2")
	h.link(t, "../outside/big", "l3")
	links := blocks(t, in("l1")) + blocks(t, in("l2")) + blocks(t, in("l3"))
	for i := range 5 {
		must(os.Link(in("big"), in(fmt.Sprint("hard", i))))
	}
	must(os.WriteFile(in("sparse"), nil, 0o644))
	must(os.Truncate(in("sparse"), 1<<40))
	if got := usage(); got != full+links {
		t.Errorf("with links and holes %d, want %d", got, full+links)
	}
	// It stops when it knows enough, and when its context is done.
	if got, err := h.Usage(t.Context(), 1000); got <= 1000 || err != nil {
		t.Errorf("with a limit %d, %v", got, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := h.Usage(ctx, 0)
	wantCode(t, err, workspace.Interrupted, "interrupted")
}

// A tree that is deeper than any path, and than the files that may be open, is counted
// to its bottom.
func TestUsageDeep(t *testing.T) {
	h := newFixture(t)
	depth := 3000
	if testing.Short() {
		depth = 500 // a path of 5500 bytes, longer than one can be
	}
	before, err := h.Usage(t.Context(), 0)
	if err != nil {
		t.Fatal(err)
	}
	dir, err := os.OpenRoot(h.dir)
	if err != nil {
		t.Fatal(err)
	}
	for range depth {
		if err := dir.Mkdir("dddddddddd", 0o755); err != nil {
			t.Fatal(err)
		}
		if err := dir.WriteFile("f", make([]byte, 4096), 0o644); err != nil {
			t.Fatal(err)
		}
		sub, err := dir.OpenRoot("dddddddddd")
		dir.Close()
		if err != nil {
			t.Fatal(err)
		}
		dir = sub
	}
	dir.Close()
	after, err := h.Usage(t.Context(), 0)
	if err != nil || after-before < int64(depth)*4096 {
		t.Errorf("%d bytes more, %v", after-before, err)
	}
	if _, err := h.RemoveDir(t.Context(), "dddddddddd", true); !isCode(err, workspace.InvalidPath) {
		t.Errorf("deleting it: %v", err)
	}
}

// A directory of ours that cannot be looked into hides what a command puts there. Root
// sees into it and counts; others cannot measure, and say so.
func TestUsageHidden(t *testing.T) {
	for _, mode := range []os.FileMode{0o300, 0o400, 0o600, 0} {
		t.Run(fmt.Sprintf("%o", mode), func(t *testing.T) {
			h := newFixture(t)
			dir := filepath.Join(h.dir, "sub", "hidden")
			put(t, filepath.Join(dir, "big"), strings.Repeat("x", 1<<20))
			makePipe(t, filepath.Join(h.dir, "pipe"))
			if err := os.Chmod(dir, mode); err != nil {
				t.Fatal(err)
			}
			defer os.Chmod(dir, 0o755)
			got, err := h.Usage(t.Context(), 0)
			if os.Geteuid() == 0 {
				if err != nil || got < 1<<20 {
					t.Errorf("as root %d, %v", got, err)
				}
				return
			}
			wantCode(t, err, workspace.NotReadable, `"sub/hidden" cannot be measured`)
		})
	}
}

func BenchmarkUsage(b *testing.B) {
	h := newFixture(b)
	for i := range 10_000 {
		put(b, filepath.Join(h.dir, fmt.Sprint("d", i%100), fmt.Sprint(i)), "x")
	}
	for b.Loop() {
		if _, err := h.Usage(b.Context(), 0); err != nil {
			b.Fatal(err)
		}
	}
}
