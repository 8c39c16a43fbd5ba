//go:build unix

package workspace_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/perstack-go/perstack/internal/workspace"
)

// found lists what a search visits: directories with a slash, other things than files with "!".
func (h *fixture) found(t testing.TB, name string, ignored bool) string {
	t.Helper()
	var all []string
	leftOut, err := h.Find(t.Context(), name, ignored, func(f workspace.Found) bool {
		path := f.Path
		switch {
		case f.Dir:
			path += "/"
		case !f.Regular:
			path += "!"
		}
		if !strings.HasSuffix(f.Path, f.Below) {
			t.Errorf("%q is %q from where the search began", f.Path, f.Below)
		}
		all = append(all, path)
		return true
	})
	if err != nil || leftOut != "" {
		t.Fatalf("Find(%q): %v, %q", name, err, leftOut)
	}
	return strings.Join(all, " ")
}

// A search visits what the tools reach, and nothing else: nothing outside, nothing protected
// under any name, nothing in .git, and nothing behind a link.
func TestFind(t *testing.T) {
	h := newFullFixture(t)
	const want = "a.txt abs! app/ app/x conf/ dangling! data/ dirlink! e! empty/ full/ full/ro.txt g! in! leak! loop! nest/ nest/rodir/ nest/rodir/x " +
		"p! perstack.toml pipe! proj/ proj/main.go ro.txt rodir/ rodir/x rules/ rules/perstack.lock src/ src/b.txt tree/ tree/x tree/y/ tree/y/z via!"
	for _, ignored := range []bool{false, true} {
		if got := h.found(t, ".", ignored); got != want {
			t.Errorf("found\n%s\nwant\n%s", got, want)
		}
	}
	for name, want := range map[string]string{
		"tree": "tree/x tree/y/ tree/y/z", "tree/y/": "tree/y/z", "dirlink": "src/b.txt", "tree/x": "tree/x", "in": "src/b.txt", "pipe": "pipe!", "empty": "",
	} {
		if got := h.found(t, name, false); got != want {
			t.Errorf("%s: found %q, want %q", name, got, want)
		}
	}
	for name, code := range map[string]workspace.Code{
		"perstack": workspace.Protected, "p": workspace.Protected, ".env": workspace.Protected, "e": workspace.Protected, "twin": workspace.Protected,
		"data/store": workspace.Protected, ".git": workspace.Protected, "g": workspace.Protected, "proj/.git/config": workspace.Protected,
		"..": workspace.OutsideWorkspace, "abs": workspace.OutsideWorkspace, "leak": workspace.OutsideWorkspace, h.outside: workspace.OutsideWorkspace,
		"nowhere": workspace.NotFound, "dangling": workspace.NotFound,
	} {
		_, err := h.Find(t.Context(), name, false, func(f workspace.Found) bool {
			t.Errorf("%s: visited %q", name, f.Path)
			return true
		})
		var refused *workspace.Error
		if !errors.As(err, &refused) || refused.Code != code {
			t.Errorf("%s: %v, want %s", name, err, code)
		}
	}
}

// Rules come from the .gitignore files above the directory and below it. Those that are links,
// pipes, too long or protected have none.
func TestFindIgnored(t *testing.T) {
	h := newFixture(t)
	for name, text := range map[string]string{
		".gitignore": "*.log\n/build/\n", "x.log": "", "build/x": "", "d/build/x": "", "d/.gitignore": "!keep.log\n/only\n", "d/keep.log": "", "d/y.log": "",
		"d/only": "", "d/e/only": "", "d/e/keep.log": "",
	} {
		put(t, filepath.Join(h.dir, name), text)
	}
	all := true
	if got, want := h.found(t, "d", false), "d/.gitignore d/build/ d/build/x d/e/ d/e/keep.log d/e/only d/keep.log"; got != want {
		t.Errorf("found %q, want %q", got, want)
	}
	if got := h.found(t, "d/e", false); got != "d/e/keep.log d/e/only" {
		t.Errorf("found %q", got)
	}
	if got := h.found(t, ".", false); strings.Contains(got, "x.log") || slices.Contains(strings.Fields(got), "build/") {
		t.Errorf("found %q", got)
	}
	// A directory that is named is searched even if it is ignored.
	if got := h.found(t, "build", false); got != "build/x" {
		t.Errorf("found %q", got)
	}
	if got := h.found(t, ".", all); !strings.Contains(got, "x.log") || !strings.Contains(got, "build/x") || !strings.Contains(got, "d/y.log") {
		t.Errorf("found %q", got)
	}
	ignore := filepath.Join(h.dir, ".gitignore")
	for name, set := range map[string]func() error{
		"link":     func() error { return os.Symlink("d/rules", ignore) },
		"absolute": func() error { return os.Symlink(filepath.Join(h.dir, "d/rules"), ignore) },
		"pipe":     func() error { makePipe(t, ignore); return nil },
		"dir":      func() error { return os.Mkdir(ignore, 0o700) },
		"long":     func() error { return os.WriteFile(ignore, []byte("*.log\n"+strings.Repeat("#", 256<<10)), 0o600) },
		"env":      func() error { return os.Link(filepath.Join(h.dir, "keys.txt"), ignore) },
	} {
		put(t, filepath.Join(h.dir, "d/rules"), "*.log\n")
		if err := errors.Join(os.Remove(ignore), set()); err != nil {
			t.Fatal(err)
		}
		if got := h.found(t, ".", false); !strings.Contains(got, "x.log") {
			t.Errorf("%s: found %q", name, got)
		}
	}
}

// The .gitignore files of a directory and of those above it have rules up to a number of bytes,
// and the caller is told when one has not. Those of other directories do not count.
func TestFindIgnoredLimit(t *testing.T) {
	h := newFixture(t)
	rules := "*.log\n!keep.log\n" + strings.Repeat("#", 256<<10-len("*.log\n!keep.log\n"))
	for _, dir := range []string{"d/1", "d/1/2", "d/1/2/3", "d/a", "d/a/b", "d/a/b/c", "d"} {
		put(t, filepath.Join(h.dir, dir, ".gitignore"), rules)
	}
	put(t, filepath.Join(h.dir, "d/1/2/3/4/x.log"), "")
	if got := h.found(t, ".", false); strings.Contains(got, ".log") {
		t.Errorf("found %q", got)
	}
	put(t, filepath.Join(h.dir, "d/1/2/3/4/.gitignore"), "*\n")
	put(t, filepath.Join(h.dir, "d/1/2/3/4/y"), "")
	for _, start := range []string{".", "d/1/2/3/4", "d/1/2"} {
		var all []string
		leftOut, err := h.Find(t.Context(), start, false, func(f workspace.Found) bool {
			all = append(all, f.Path)
			return true
		})
		found := strings.Join(all, " ")
		if err != nil || !strings.Contains(leftOut, "more than 1048576 bytes") || strings.Contains(found, ".log") || !strings.Contains(found, "4/y") {
			t.Errorf("%s: found %q, %v, %q", start, found, err, leftOut)
		}
	}
	if got := h.found(t, ".", true); !strings.Contains(got, "4/x.log") {
		t.Errorf("found %q", got)
	}
}

// A search ends when it is told to, and then the workspace can be used as before.
func TestFindStops(t *testing.T) {
	h := newFullFixture(t)
	for most := range 12 {
		n := 0
		leftOut, err := h.Find(t.Context(), ".", false, func(workspace.Found) bool {
			n++
			return n <= most
		})
		if err != nil || leftOut != "" || n != most+1 {
			t.Errorf("%d visits, %v, %q", n, err, leftOut)
		}
		if text, err := h.read("tree/y/z"); err != nil || text != "z" {
			t.Errorf("%q, %v", text, err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	_, err := h.Find(ctx, ".", false, func(workspace.Found) bool { cancel(); return true })
	if !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// What is too deep is left out, and the caller is told. Files can be opened during a search.
func TestFindDeep(t *testing.T) {
	h := newFixture(t)
	deep := strings.Repeat("d/", 130)
	put(t, filepath.Join(h.dir, deep, "x"), "")
	n := 0
	leftOut, err := h.Find(t.Context(), ".", false, func(f workspace.Found) bool {
		if f.Path == "a.txt" {
			if _, err := h.read(f.Path); err != nil {
				t.Error(err)
			}
		}
		n++
		return true
	})
	if err != nil || leftOut != "a directory is too deep" || n < 128 {
		t.Errorf("%d visits, %v, %q", n, err, leftOut)
	}
}
