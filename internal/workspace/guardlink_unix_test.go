//go:build unix

package workspace_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/perstack-go/perstack/internal/workspace"
)

// A path that the runtime trusts can be a link, or go through links, in the workspace.
// No tool takes away, replaces or makes what the path goes through: the runtime would
// follow it to something that a model wrote.
func TestTrustedPathsThroughLinks(t *testing.T) {
	ws := map[string]string{
		"team.toml": "=rules", "perstack.toml": "->team.toml",
		"real/p.toml": "=rules", "conf": "->real", "chain.toml": "->conf/p.toml",
		"deep/a/b/p.toml": "=rules", "deep/up": "->a/b", "up.toml": "->deep/up/../b/p.toml",
		"absolute.toml": "->/WS/other/p.toml", "other/p.toml": "=rules",
		"vars.txt": "=" + canary, "middle": "->vars.txt", "prod.env.txt": "->middle",
		"store/jobs/j": "=" + canary, "hist": "->store",
		"dangling.toml": "->soon/p.toml",
		"a.txt":         "=alpha", "evil/p.toml": "=evil", "evil/jobs/j": "=evil", "evilLink": "->evil",
	}
	// The codes are the refusals that are asked for; "" is for what stays allowed.
	const locked, fixed = string(workspace.Protected), string(workspace.NotWritable)
	tests := []struct{ operation, name, code string }{
		{"read", "perstack.toml", ""}, {"read", "chain.toml", ""}, {"read", "up.toml", ""},
		{"read", "prod.env.txt", locked}, {"read", "middle", locked}, {"read", "vars.txt", locked},
		{"list", "hist", locked}, {"list", "store", locked}, {"list", "conf", ""},

		{"remove", "perstack.toml", fixed}, {"remove", "PERSTACK.toml", fixed}, {"remove", "team.toml", fixed},
		{"remove", "chain.toml", fixed}, {"remove", "conf", fixed}, {"remove", "./src/../conf", fixed}, {"remove", "real/p.toml", fixed},
		{"remove", "up.toml", fixed}, {"remove", "deep/up", fixed},
		{"remove", "absolute.toml", fixed}, {"remove", "other/p.toml", fixed}, {"remove", "dangling.toml", fixed},
		{"remove", "prod.env.txt", locked}, {"remove", "middle", locked}, {"remove", "vars.txt", locked},
		{"remove", "hist", locked}, {"remove", "a.txt", ""}, {"remove", "evilLink", ""},

		{"move", "perstack.toml", fixed}, {"move", "team.toml", fixed}, {"move", "conf", fixed}, {"move", "real", fixed},
		{"move", "deep", fixed}, {"move", "deep/a", fixed}, {"move", "deep/a/b", fixed}, {"move", "deep/up", fixed}, {"move", "other", fixed},
		{"move", "prod.env.txt", locked}, {"move", "middle", locked}, {"move", "hist", locked}, {"move", "store", locked},
		{"move", "evil", ""}, {"move", "evilLink", ""},

		{"removeDir", "real", fixed}, {"removeDir", "deep", fixed}, {"removeDir", "deep/a", fixed}, {"removeDir", "other", fixed},
		{"removeDir", "store", locked}, {"removeDir", "evil", ""},

		{"write", "perstack.toml", fixed}, {"write", "team.toml", fixed}, {"write", "chain.toml", fixed}, {"write", "conf/p.toml", fixed},
		{"write", "real/p.toml", fixed}, {"write", "up.toml", fixed},
		{"write", "prod.env.txt", locked}, {"write", "middle", locked}, {"write", "hist/jobs/x/job.json", locked},
		{"write", "conf/other.txt", ""}, {"write", "deep/up/other.txt", ""},
		{"append", "perstack.toml", fixed}, {"append", "conf/p.toml", fixed}, {"append", "prod.env.txt", locked},
		{"edit", "perstack.toml", fixed}, {"edit", "conf/p.toml", fixed}, {"edit", "prod.env.txt", locked},

		// What does not exist yet: a directory, a file and what is moved there.
		{"write", "soon", fixed}, {"write", "soon/p.toml", fixed}, {"write", "soon/x", fixed}, {"write", "Soon/sub/x", fixed},
		{"makeDir", "soon", fixed}, {"makeDir", "soon/p.toml", fixed}, {"makeDir", "soon/sub", fixed},
		{"moveHere", "soon", fixed}, {"moveHere", "soon/p.toml", fixed},
		{"write", "later", locked}, {"write", "later/keys.txt", locked}, {"makeDir", "later", locked}, {"makeDir", "later/sub", locked},
		{"moveHere", "later", locked}, {"moveLinkHere", "later", locked}, {"write", "later/x", locked},
		{"makeDir", "newer", ""}, {"write", "newer/x", ""}, {"moveHere", "newer", ""},
	}
	for _, tt := range tests {
		t.Run(tt.operation+" "+strings.ReplaceAll(tt.name, "/", "_"), func(t *testing.T) {
			h := linkedFixture(t, ws)
			before := h.all(t)
			err := h.operate(t, tt.operation, tt.name)
			if tt.code == "" {
				if err != nil {
					t.Error(err)
				}
				return
			}
			wantCode(t, err, workspace.Code(tt.code), "")
			if after := h.all(t); after != before {
				t.Errorf("it was refused and changed something:\n%s\nbefore:\n%s", after, before)
			}
		})
	}
}

// The links may be swapped while a run lasts. What was trusted at the beginning and what
// is trusted now are both out of reach.
func TestTrustedPathsChange(t *testing.T) {
	h := linkedFixture(t, map[string]string{
		"team.toml": "=rules", "next.toml": "=rules", "perstack.toml": "->team.toml", "evil.toml": "=evil",
		"conf": "->real", "chain.toml": "->conf/p.toml", "real/p.toml": "=rules", "real2/p.toml": "=rules",
	})
	swap := func(name, target string) {
		t.Helper()
		if err := os.Remove(filepath.Join(h.dir, name)); err != nil {
			t.Fatal(err)
		}
		if target != "" {
			h.link(t, target, name)
		}
	}
	refused := func(operation string, names ...string) {
		t.Helper()
		for _, name := range names {
			wantCode(t, h.operate(t, operation, name), workspace.NotWritable, "")
		}
	}
	swap("perstack.toml", "next.toml")
	swap("conf", "real2")
	refused("remove", "perstack.toml", "next.toml", "team.toml", "conf", "real2/p.toml", "real/p.toml")
	refused("move", "real", "real2")
	swap("perstack.toml", "")
	swap("conf", "")
	refused("write", "perstack.toml", "conf", "conf/p.toml", "conf/x")
	refused("makeDir", "perstack.toml", "conf", "conf/sub")
	refused("moveHere", "perstack.toml", "conf")
	if _, err := os.Lstat(filepath.Join(h.dir, "conf")); err == nil {
		t.Error("a refused call made a directory")
	}
}

// The trusted path may be written with another name of the workspace, and come from
// outside.
func TestTrustedPathsFromOutside(t *testing.T) {
	h := linkedFixture(t, map[string]string{"conf": "->real", "real/p.toml": "=rules", "a.toml": "->b.toml", "b.toml": "=rules"})
	top := filepath.Dir(h.dir)
	for name, target := range map[string]string{"alias": "ws", "entry.toml": "ws/a.toml"} {
		if err := os.Symlink(target, filepath.Join(top, name)); err != nil {
			t.Fatal(err)
		}
	}
	w, err := workspace.Open(h.dir, workspace.Options{ReadOnly: []string{
		filepath.Join(top, "alias", "conf", "p.toml"), filepath.Join(top, "entry.toml"),
	}})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	g := &fixture{Workspace: w, dir: h.dir}
	for _, name := range []string{"conf", "real", "real/p.toml", "a.toml", "b.toml"} {
		wantCode(t, g.operate(t, "move", name), workspace.NotWritable, "")
	}
}

// A storage of that name that is a link is protected under both names.
func TestStorageIsLink(t *testing.T) {
	h := linkedFixture(t, map[string]string{"perstack": "->data", "data/jobs/j": "=" + canary})
	g := open(t, h.dir, filepath.Join(h.dir, "perstack"))
	for _, operation := range []string{"remove", "move", "write", "list"} {
		for _, name := range []string{"perstack", "data"} {
			wantCode(t, g.operate(t, operation, name), workspace.Protected, "")
		}
	}
}

// linkedFixture makes a workspace of files ("=content") and links ("->target"), and trusts
// names in it, whether the tree has them or not.
func linkedFixture(t *testing.T, tree map[string]string) *fixture {
	t.Helper()
	top, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	h := &fixture{dir: filepath.Join(top, "ws"), outside: filepath.Join(top, "outside")}
	in := func(name string) string { return filepath.Join(h.dir, name) }
	put(t, in("src/x"), "")
	for name, what := range tree {
		if text, ok := strings.CutPrefix(what, "="); ok {
			put(t, in(name), text)
			continue
		}
		if err := os.MkdirAll(filepath.Dir(in(name)), 0o755); err != nil {
			t.Fatal(err)
		}
		h.link(t, strings.ReplaceAll(strings.TrimPrefix(what, "->"), "/WS", h.dir), name)
	}
	h.Workspace, err = workspace.Open(h.dir, workspace.Options{
		Protected: []string{in("hist"), in("prod.env.txt"), in("later/keys.txt")},
		ReadOnly:  []string{in("perstack.toml"), in("chain.toml"), in("up.toml"), in("absolute.toml"), in("dangling.toml")},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { h.Close() })
	return h
}

func (h *fixture) operate(t *testing.T, operation, name string) error {
	t.Helper()
	var err error
	switch ctx := t.Context(); operation {
	case "read":
		_, err = h.read(name)
	case "list":
		_, err = h.ReadDir(ctx, name, 0, 10)
	case "remove":
		_, err = h.RemoveFile(ctx, name)
	case "removeDir":
		_, err = h.RemoveDir(ctx, name, true)
	case "move":
		_, _, err = h.Move(ctx, name, "taken")
	case "moveHere":
		_, _, err = h.Move(ctx, "src", name)
	case "moveLinkHere":
		_, _, err = h.Move(ctx, "evilLink", name)
	case "makeDir":
		_, err = h.MakeDir(ctx, name)
	case "write":
		_, err = h.WriteFile(ctx, name, []byte("evil"))
	case "append":
		_, err = h.AppendFile(ctx, name, []byte("evil"))
	case "edit":
		_, err = h.EditFile(ctx, name, 1000, func([]byte) ([]byte, error) { return []byte("evil"), nil })
	default:
		t.Fatalf("no operation %q", operation)
	}
	return err
}
