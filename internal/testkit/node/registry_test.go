package node

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// npm installs what is published here beside what is in the cache.
func TestRegistry(t *testing.T) {
	c := Need(t)
	r := NewRegistry(t)
	r.Publish(t, Scope+"/tool", "1.0.0", "cli.js", map[string]File{"cli.js": {Data: []byte("console.log('published')")}})
	dir, home := t.TempDir(), t.TempDir()
	for name, text := range map[string]string{filepath.Join(home, ".npmrc"): r.Settings(), filepath.Join(dir, "package.json"): `{"private":true}`} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	npm := exec.CommandContext(t.Context(), c.inRuntime(".bin/npm"), "install", "--no-audit", "--no-fund", Scope+"/tool", Memory)
	npm.Dir, npm.Env = dir, append(c.Beside(os.Getenv("PATH")), "HOME="+home)
	if out, err := npm.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	out, err := exec.CommandContext(t.Context(), c.Node(), filepath.Join(dir, "node_modules", Scope, "tool", "cli.js")).Output()
	if err != nil || strings.TrimSpace(string(out)) != "published" {
		t.Errorf("it says %q: %v", out, err)
	}
}
