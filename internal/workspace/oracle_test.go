package workspace_test

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/perstack-go/perstack/internal/workspace"
)

// resolve says where a path leads, one name after the other, in a tree where nothing
// moves. It is slow and plain, and shares nothing with the walk. It returns "" for what
// leaves the workspace, and for what it is not sure of.
func (h *fixture) resolve(name string) string {
	if strings.ContainsRune(name, 0) || len(name) > 4096 || name == "~" || strings.HasPrefix(name, "~/") {
		return ""
	}
	todo := strings.Split(name, "/")
	if strings.HasPrefix(name, "/") {
		todo = nil
		above := strings.Split(h.dir, "/")
		for _, part := range strings.Split(name, "/") {
			switch {
			case len(above) > 0 && above[0] == "":
				above = above[1:] // empty parts mean nothing
				if part == "" {
					continue
				}
				fallthrough
			case len(above) > 0:
				if part == "" || part == "." {
					continue
				}
				if part != above[0] {
					return ""
				}
				above = above[1:]
			default:
				todo = append(todo, part)
			}
		}
		if len(above) > 0 {
			return ""
		}
	}
	at := h.dir
	for steps := 0; len(todo) > 0; steps++ {
		if steps > 500 {
			return ""
		}
		part := todo[0]
		todo = todo[1:]
		if part == "" || part == "." {
			if info, err := os.Stat(at); err != nil || !info.IsDir() {
				return ""
			}
			continue
		}
		if info, err := os.Lstat(at); err != nil || !info.IsDir() {
			return ""
		}
		if part == ".." {
			if at == h.dir {
				return ""
			}
			at = filepath.Dir(at)
			continue
		}
		next := filepath.Join(at, part)
		target, err := os.Readlink(next)
		if err != nil {
			at = next
			continue
		}
		if target == "" || strings.HasPrefix(target, "/") {
			return ""
		}
		todo = append(strings.Split(target, "/"), todo...)
	}
	return at
}

// secrets are what no path may lead to.
func (h *fixture) secrets() []string {
	return []string{
		filepath.Join(h.outside, "secret.txt"), filepath.Join(h.dir, "perstack", "jobs", "j1"),
		filepath.Join(h.dir, ".env"), filepath.Join(h.dir, "keys.txt"),
	}
}

// compare opens a path and says what is wrong with what was opened.
func (h *fixture) compare(t *testing.T, name string) {
	t.Helper()
	f, err := h.OpenFile(t.Context(), name)
	if err != nil {
		return
	}
	defer f.Close()
	for _, s := range h.secrets() {
		if info, err := os.Stat(s); err == nil && workspace.SameFile(info, f.Opened()) {
			t.Fatalf("%q opened a secret: %s", name, s)
		}
	}
	if runtime.GOOS == "windows" {
		return // it has other separators, and more spellings of a name
	}
	want := h.resolve(name)
	info, err := os.Lstat(want)
	if want == "" || err != nil || !workspace.SameFile(info, f.Opened()) {
		t.Fatalf("%q opened %s, want %q", name, f.Path, want)
	}
	if f.Path != want {
		t.Fatalf("%q opened %s and says that it is %s", name, want, f.Path)
	}
}

// The oracle is no help if it never finds anything.
func TestOracle(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("its paths are not those of the oracle")
	}
	h := newFixture(t)
	h.link(t, "../src/./b.txt", "src/up")
	h.link(t, "src/..", "here")
	h.link(t, "../outside", "out")
	b := filepath.Join(h.dir, "src", "b.txt")
	for name, want := range map[string]string{
		"src/b.txt": b, "here/src/../src/up": b, h.dir + "//src/./b.txt": b, "src/b.txt/.": "", "out/secret.txt": "",
		"../ws/src/b.txt": "", h.outside: "", "/": "", "~/x": "",
	} {
		if got := h.resolve(name); got != want {
			t.Errorf("resolve(%q) = %q, want %q", name, got, want)
		}
		if want == "" {
			continue
		}
		if got, err := h.read(name); got != "beta\n" {
			t.Errorf("read %q: %q, %v", name, got, err)
		}
	}
}

// Whatever a link contains and whatever follows it in a path: what is opened is what
// the oracle says, and nothing that is protected.
func FuzzLink(f *testing.F) {
	h := newFixture(f)
	h.link(f, "src/..", "here")
	h.link(f, "../outside", "out")
	link := filepath.Join(h.dir, "src", "fuzzed")
	for _, seed := range [][2]string{
		{"b.txt", ""}, {"..", "/a.txt"}, {"../..", "/outside/secret.txt"}, {"../perstack", "/jobs/j1"}, {"../here/src", "/b.txt"},
		{"../out", "/secret.txt"}, {"/proc/self/cwd", ""}, {"../.env", ""}, {"fuzzed", ""}, {"./..//.", "//a.txt"}, {"../keys.txt", ""},
		{"b.txt/", ""}, {"../here/here/a.txt", "/.."},
	} {
		f.Add(seed[0], seed[1])
	}
	f.Fuzz(func(t *testing.T, target, rest string) {
		if err := os.Symlink(target, link); err != nil {
			t.Skip() // not a target for this system
		}
		defer os.Remove(link)
		for range 2 { // the second time the way is known
			h.compare(t, "src/fuzzed"+rest)
		}
		h.compare(t, rest)
	})
}
