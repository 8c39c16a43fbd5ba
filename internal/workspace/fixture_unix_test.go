//go:build unix

package workspace_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/perstack-go/perstack/internal/workspace"
)

// newFullFixture returns a workspace with everything that a call can run into. Besides what
// newFixture makes, it has:
//
//	in -> src/b.txt   dirlink -> src   dangling -> nowhere   loop -> loop
//	leak -> ../outside/secret.txt   abs -> (outside)   p -> perstack   e -> .env   g -> .git
//	pipe                                      a named pipe
//	ro.txt (0444)  rodir (0555) with x        not to be changed
//	full/ro.txt (0444)  nest/rodir (0555)     the same, further down
//	.git/config  proj/.git/config             repositories
//	data/store/jobs/j/journal.jsonl           another storage, protected
//	conf/dev.secrets  via -> conf             an env file with an ordinary name, protected
//	twin                                      a hard link to keys.txt, protected
//	perstack.toml  rules/perstack.lock        read only
//	app/.env.local  tree/x  tree/y/z  empty   ordinary directories
func newFullFixture(t testing.TB) *fixture {
	t.Helper()
	h := newFixture(t)
	in := func(name string) string { return filepath.Join(h.dir, name) }
	for name, text := range map[string]string{
		"ro.txt": "ro", "rodir/x": "x", "full/ro.txt": "ro", "nest/rodir/x": "x", ".git/config": "[core]", "proj/.git/config": "[core]",
		"proj/main.go": "package main", "data/store/jobs/j/journal.jsonl": canary, "conf/dev.secrets": canary, "perstack.toml": "rules",
		"rules/perstack.lock": "rules", "app/.env.local": canary, "app/x": "x", "tree/x": "x", "tree/y/z": "z",
	} {
		put(t, in(name), text)
	}
	for name, target := range map[string]string{
		"in": "src/b.txt", "dirlink": "src", "dangling": "nowhere", "loop": "loop", "leak": "../outside/secret.txt",
		"abs": h.outside, "p": "perstack", "e": ".env", "g": ".git", "via": "conf",
	} {
		h.link(t, target, name)
	}
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(os.Mkdir(in("empty"), 0o755))
	must(os.Link(in("keys.txt"), in("twin")))
	makePipe(t, in("pipe"))
	for name, mode := range map[string]os.FileMode{"ro.txt": 0o444, "full/ro.txt": 0o444, "rodir": 0o555, "nest/rodir": 0o555} {
		must(os.Chmod(in(name), mode))
	}
	t.Cleanup(func() { // or the directory cannot be removed
		_ = os.Chmod(in("rodir"), 0o755)
		_ = os.Chmod(in("nest/rodir"), 0o755)
	})
	w, err := workspace.Open(h.dir, workspace.Options{
		Protected: []string{in("perstack"), in("keys.txt"), in("data/store"), in("via/dev.secrets")},
		ReadOnly:  []string{in("perstack.toml"), in("rules/perstack.lock"), in("perstack.lock")},
	})
	must(err)
	t.Cleanup(func() { w.Close() })
	h.Workspace = w
	return h
}

// all shows everything in and around the workspace: names, kinds, modes, link targets
// and contents, one a line.
func (h *fixture) all(t testing.TB) string {
	t.Helper()
	var out strings.Builder
	top := filepath.Dir(h.dir)
	err := filepath.WalkDir(top, func(path string, d os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		fmt.Fprintf(&out, "%q %v", strings.TrimPrefix(path, top), info.Mode())
		switch {
		case info.Mode()&os.ModeSymlink != 0:
			target, _ := os.Readlink(path)
			fmt.Fprintf(&out, " -> %q", target)
		case info.Mode().IsRegular():
			data, _ := os.ReadFile(path)
			fmt.Fprintf(&out, " %q", data)
		}
		out.WriteByte('\n')
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out.String()
}

func (h *fixture) exists(name string) bool {
	_, err := os.Lstat(filepath.Join(h.dir, name))
	return err == nil
}
