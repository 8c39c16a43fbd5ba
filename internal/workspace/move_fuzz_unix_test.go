//go:build unix

package workspace_test

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Whatever the paths: what lies outside, is protected or is read only stays as it is and
// where it is.
func FuzzMove(f *testing.F) {
	h := newFullFixture(f)
	for _, s := range []string{
		"a.txt", "tree", "src/..", ".", "", "..", "in", "leak", "abs/secret.txt", "p/jobs", "PERSTACK", ".\u200benv", "via/dev.secrets", "conf", "data",
		"g/config", "proj/.git", "twin", "rules", "perstack.toml", "tree/y/z", "pipe", "loop/x", "../outside", h.outside, h.dir + "/a.txt", "\xff", "a\x00b",
		"tree/../tree/./y//", "~/x", strings.Repeat("d/", 200), "rodir/x", "dirlink/b.txt", "src/../perstack/jobs/j1", "new/deep/x",
	} {
		f.Add(s, "new/x")
		f.Add("a.txt", s)
		f.Add("tree", s)
	}
	guarded := []string{
		"../outside/secret.txt", "../ws2/secret.txt", "perstack/jobs/j1", ".env", "keys.txt", "twin", "data/store/jobs/j/journal.jsonl",
		"conf/dev.secrets", "perstack.toml", "rules/perstack.lock", ".git/config", "ro.txt",
	}
	const quiet = "perstack.toml rules/perstack.lock .git/config ro.txt"
	content := func(t testing.TB) string {
		t.Helper()
		var out strings.Builder
		for _, name := range guarded {
			text, err := os.ReadFile(filepath.Join(h.dir, name))
			fmt.Fprintf(&out, "%s %q %v\n", name, text, err)
			if want := strings.Contains(quiet, name); !want && string(text) != canary {
				t.Fatalf("%s is %q, %v", name, text, err)
			}
		}
		return out.String() + names(t, h.outside) + names(t, filepath.Join(h.dir, "perstack")) + names(t, filepath.Join(h.dir, ".git"))
	}
	before := content(f)
	f.Fuzz(func(t *testing.T, source, destination string) {
		ctx := t.Context()
		if from, to, err := h.Move(ctx, source, destination); err == nil {
			for _, path := range []string{from, to} {
				if !strings.HasPrefix(path, h.dir+string(filepath.Separator)) {
					t.Fatalf("moved %q to %q", from, to)
				}
			}
			if err := os.Rename(to, from); err != nil {
				t.Fatalf("moved, but not from %q to %q: %v", from, to, err)
			}
		}
		h.MakeDir(ctx, destination)
		h.AppendFile(ctx, destination, []byte("planted"))
		h.RemoveFile(ctx, destination)
		h.RemoveDir(ctx, destination, true)
		h.RemoveFile(ctx, source)
		h.RemoveDir(ctx, source, false)
		if after := content(t); after != before {
			t.Fatalf("%q and %q changed:\n%s\nbefore:\n%s", source, destination, after, before)
		}
		for name, text := range map[string]string{"a.txt": "alpha\n", "tree/x": "x", "tree/y/z": "z", "src/b.txt": "beta\n"} {
			if !h.exists(name) {
				_ = os.MkdirAll(filepath.Dir(filepath.Join(h.dir, name)), 0o755)
				_ = os.WriteFile(filepath.Join(h.dir, name), []byte(text), 0o644)
			}
		}
	})
}

// names lists names and modes below dir.
func names(t testing.TB, dir string) string {
	t.Helper()
	var out strings.Builder
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil {
			out.WriteString(path + " " + d.Type().String() + "\n")
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out.String()
}
