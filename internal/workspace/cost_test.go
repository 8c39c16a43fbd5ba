package workspace_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/perstack-go/perstack/internal/testkit"
	"github.com/perstack-go/perstack/internal/workspace"
)

// count returns a map that fills with how often w did what.
func count(w *workspace.Workspace) map[string]int {
	did := make(map[string]int)
	w.Trace(func(what string) { did[what]++ })
	return did
}

// deep makes a chain of directories and returns its name.
func deep(t *testing.T, h *fixture, n int, name string) string {
	t.Helper()
	dir := strings.TrimSuffix(strings.Repeat(name+"/", n), "/")
	if err := os.MkdirAll(filepath.Join(h.dir, dir), 0o755); err != nil {
		t.Fatal(err)
	}
	return dir
}

// A repository can bring a directory full of links that go round in circles. Listing
// it costs a bounded number of steps, however deep it lies and whatever it is called.
func TestListingHostileLinks(t *testing.T) {
	const links = 200
	targets := map[string]string{
		"beyond the bound of a path": strings.Repeat("x/../", 700) + "x",
		"within the bound of a path": strings.Repeat("x/../", 450) + "x",
		"not ASCII":                  strings.Repeat("ü/../", 450) + "x",
		"through other links":        strings.Repeat("y/../", 30) + "y",
	}
	for name, target := range targets {
		for _, depth := range []int{0, 120} {
			t.Run(fmt.Sprintf("%s at %d", name, depth), func(t *testing.T) {
				h := newFixture(t)
				dir := deep(t, h, depth, "d")
				for _, sub := range []string{"x", "ü"} {
					if err := os.Mkdir(filepath.Join(h.dir, dir, sub), 0o755); err != nil {
						t.Fatal(err)
					}
				}
				h.link(t, "x/../x/../x", filepath.Join(dir, "y"))
				for i := range links {
					h.link(t, target, filepath.Join(dir, fmt.Sprintf("link%04d", i)))
				}
				did := count(h.Workspace)
				l, err := h.ReadDir(t.Context(), dir, 0, 2000)
				if err != nil || l.Total < links {
					t.Fatalf("%d entries, %v", l.Total, err)
				}
				n := 0
				for _, e := range l.Entries {
					if e.Link {
						n++
					}
				}
				if n != links+1 {
					t.Errorf("%d of %d links are shown as links", n, links+1)
				}
				if did["step"] > 5000+depth || did["watch"] != 1 {
					t.Errorf("%d steps and %d looks at what is protected", did["step"], did["watch"])
				}
				if most := len(l.Entries) + 10 + depth + did["step"]; did["fold"] > most {
					t.Errorf("%d names were folded, want at most %d", did["fold"], most)
				}
			})
		}
	}
}

// Links of the common kind all show what they lead to.
func TestListingOrdinaryLinks(t *testing.T) {
	h := newFixture(t)
	put(t, filepath.Join(h.dir, "store", "a", "b", "file"), "1234567")
	for i := range 1000 {
		h.link(t, "../store/a/b/file", filepath.Join("src", fmt.Sprintf("link%04d", i)))
	}
	l, err := h.ReadDir(t.Context(), "src", 0, 2000)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range l.Entries {
		if e.Link && e.Size != 7 {
			t.Fatalf("%s shows size %d", e.Name, e.Size)
		}
	}
}

// Walking links back and forth leaves no directory open.
func TestListingClosesDirectories(t *testing.T) {
	h := newFixture(t)
	for i := range 20 {
		h.link(t, "../src/../src/../src/b.txt", filepath.Join("src", fmt.Sprintf("link%d", i)))
	}
	opened := func() int {
		fds, err := os.ReadDir("/proc/self/fd")
		if err != nil {
			testkit.Missing(t, "/proc")
		}
		return len(fds)
	}
	if _, err := h.ReadDir(t.Context(), "src", 0, 100); err != nil { // the last way stays open
		t.Fatal(err)
	}
	before := opened()
	l, err := h.ReadDir(t.Context(), "src", 0, 100)
	if after := opened(); err != nil || len(l.Entries) != 21 || after > before {
		t.Errorf("%d files open before, %d after; %v", before, after, err)
	}
	for _, e := range l.Entries {
		if e.Size != 5 {
			t.Errorf("%s shows size %d", e.Name, e.Size)
		}
	}
}

// What an entry costs does not depend on how deep its directory lies.
func TestListingDeepDirectory(t *testing.T) {
	h := newFixture(t)
	const entries, depth = 500, 120
	dir := deep(t, h, depth, "ä")
	for i := range entries {
		put(t, filepath.Join(h.dir, dir, fmt.Sprintf("f%03d", i)), "")
	}
	did := count(h.Workspace)
	if _, err := h.ReadDir(t.Context(), dir, 0, entries); err != nil {
		t.Fatal(err)
	}
	if did["fold"] > entries+depth || did["step"] > depth || did["watch"] != 1 {
		t.Errorf("%d entries at depth %d: %v", entries, depth, did)
	}
}

// A call ends when its caller no longer waits.
func TestContext(t *testing.T) {
	h := newFixture(t)
	calls := map[string]func(context.Context) error{
		"ReadDir":   func(ctx context.Context) error { _, err := h.ReadDir(ctx, "src", 0, 10); return err },
		"OpenFile":  func(ctx context.Context) error { _, err := h.OpenFile(ctx, "src/b.txt"); return err },
		"WriteFile": func(ctx context.Context) error { _, err := h.WriteFile(ctx, "src/b.txt", nil); return err },
		"Stat":      func(ctx context.Context) error { _, err := h.Stat(ctx, "src/b.txt"); return err },
		"OpenDir":   func(ctx context.Context) error { _, err := h.OpenDir(ctx, "src"); return err },
	}
	for name, call := range calls {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		err := call(ctx)
		if !isCode(err, workspace.Interrupted) || !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if got, err := h.read("src/b.txt"); got != "beta\n" {
		t.Errorf("read %q, %v", got, err)
	}
}

// That holds in the middle of a walk, and of a listing.
func TestContextOnTheWay(t *testing.T) {
	h := newFixture(t)
	put(t, filepath.Join(h.dir, "x", "f"), "")
	for i := range 10 {
		h.link(t, strings.Repeat("../x/", 20)+"f", fmt.Sprintf("x/link%d", i))
	}
	for _, stop := range []int{1, 5, 30} {
		ctx, cancel := context.WithCancel(t.Context())
		steps := 0
		h.Trace(func(what string) {
			if what != "step" {
				return
			}
			if steps++; steps == stop {
				cancel()
			}
		})
		_, err := h.ReadDir(ctx, "x", 0, 100)
		if !isCode(err, workspace.Interrupted) || steps != stop {
			t.Errorf("stopped after %d steps, not %d: %v", steps, stop, err)
		}
	}
}

// The content is on the disk before it has the name, and the name before the answer.
func TestWriteSurvivesPowerCut(t *testing.T) {
	h := newFixture(t)
	for name, want := range map[string]string{
		"a.txt":        "sync file, rename, sync directory",
		"new/deep.txt": "sync file, rename, sync directory, sync directory",
	} {
		var did []string
		h.Trace(func(what string) {
			if strings.HasPrefix(what, "sync") || what == "rename" {
				did = append(did, what)
			}
		})
		if _, err := h.WriteFile(t.Context(), name, []byte("x")); err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(did, ", "); got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
}
