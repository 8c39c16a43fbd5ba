package validate

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// What a run would refuse because of its lockfile is an error; and the advice names the file
// that was meant.
func TestUnpinned(t *testing.T) {
	dir := t.TempDir()
	text := "runtime = 'docker'\n[experts.a]\ninstruction = 'x'\n[experts.a.skills.s]\ntype = 'mcpStdioSkill'\ncommand = 'npx'\npackageName = 'x'\n"
	for _, name := range []string{"perstack.toml", "b.toml"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if _, out, code := validate(t, dir, "--config", "b.toml"); code != 2 || !strings.Contains(out, "run: perstack install --config b.toml\n") {
		t.Errorf("%d\n%s", code, out)
	}
	head := "version = '1'\ngeneratedAt = 1\nconfigPath = 'perstack.toml'\n"
	for name, c := range map[string]struct{ lock, want string }{
		"stale":     {head, `perstack.lock: the Expert "a" is new; run: perstack install` + "\n"},
		"broken":    {"<<<<<<<\n" + head, `perstack.lock:1:`},
		"elsewhere": {strings.Replace(head, "perstack.toml", "c.toml", 1), `was made from "c.toml", not from "perstack.toml"`},
	} {
		if err := os.WriteFile(filepath.Join(dir, "perstack.lock"), []byte(c.lock), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, out, code := validate(t, dir); code != 2 || !strings.Contains(out, c.want) {
			t.Errorf("%s: %d\n%s", name, code, out)
		}
	}
}

// An image that runs stand on must be pinned: in the file, or in the lockfile.
func TestUnpinnedImage(t *testing.T) {
	digest := strings.Repeat("a", 64)
	const missing = "perstack.toml:2:2: docker: the image squid:6 is not pinned; run: perstack install\n"
	lock := "version = '1'\ngeneratedAt = 1\nconfigPath = 'perstack.toml'\n"
	for name, c := range map[string]struct{ image, lock, want string }{
		"no lockfile":       {"squid:6", "", missing},
		"not in it":         {"squid:6", lock, missing},
		"another one in it": {"squid:6", lock + "[[images]]\nname = 'squid:5'\npinned = 'squid:5@sha256:" + digest + "'\n", missing},
		"in it":             {"squid:6", lock + "[[images]]\nname = 'squid:6'\npinned = 'squid:6@sha256:" + digest + "'\n", ""},
		"in the file":       {"squid@sha256:" + digest, "", ""},
	} {
		dir := t.TempDir()
		text := "runtime = 'docker'\n[docker]\nproxy = 'squid'\nsquidImage = '" + c.image + "'\n[experts.a]\ninstruction = 'x'\n[experts.b]\ninstruction = 'x'\n"
		if err := os.WriteFile(filepath.Join(dir, "perstack.toml"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if c.lock != "" {
			if err := os.WriteFile(filepath.Join(dir, "perstack.lock"), []byte(c.lock), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		_, out, code := validate(t, dir)
		if (code == 2) != (c.want != "") || !strings.Contains(out, c.want) || strings.Count(out, "not pinned") > 1 {
			t.Errorf("%s: %d\n%s", name, code, out)
		}
	}
}
