package packages

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/perstack-go/perstack/internal/lockfile"
	"github.com/perstack-go/perstack/internal/testkit/attack"
)

// keeper is a program that counts its starts in a file beside itself, as server-memory does.
const keeper = `#!/usr/bin/env node
const fs = require('fs'), path = require('path')
const file = path.join(__dirname, 'memory.jsonl')
const before = fs.existsSync(file) ? fs.readFileSync(file, 'utf8') : ''
fs.writeFileSync(file, before + 'x')
console.log(require('greeting') + ' ' + (before.length + 1))`

func publishKeeper(r *registry) {
	r.publish("greeting", "1.0.0", nil, map[string]string{"index.js": "module.exports = require('word')"})
	r.publish("word", "1.0.0", nil, map[string]string{"index.js": "module.exports = 'start'"})
	r.publish("greeting", "2.0.0", nil, map[string]string{"index.js": "module.exports = 'second'"})
	for version, needs := range map[string]string{"1.0.0": "1.0.0", "2.0.0": "2.0.0"} {
		r.publish("@acme/keeper", version, map[string]any{"bin": "./dist/cli.js", "dependencies": map[string]string{"greeting": needs}},
			map[string]string{"dist/cli.js": keeper, "dist/only-" + version + ".js": ""})
	}
	r.packages["greeting"]["1.0.0"]["dependencies"] = map[string]string{"word": "1.0.0"}
}

// place places a package for a skill and starts it.
func place(t *testing.T, s *Store, p *lockfile.Package, dir string) (string, Placed) {
	t.Helper()
	placed, err := s.Place(t.Context(), p, "", dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(output(t, s, placed.Argv)), placed
}

// T7: what a program writes beside itself stays in the directory of the skill. Another skill does
// not see it, and neither does the package cache.
func TestPlace(t *testing.T) {
	r := newRegistry(t)
	publishKeeper(r)
	s := store(t, r.URL)
	locked := resolve(t, s, npx("@acme/keeper", "1.0.0"))
	one, two := t.TempDir(), t.TempDir()
	for i := range 3 {
		if got, _ := place(t, s, locked, one); got != fmt.Sprintf("start %d", i+1) {
			t.Errorf("start %d: %q", i+1, got)
		}
	}
	got, placed := place(t, s, locked, two)
	if got != "start 1" {
		t.Errorf("another skill: %q", got)
	}
	if err := isSealed(placed.Read[0], modules); err != nil {
		t.Error(err)
	}
	// A new version keeps the data, and has none of the files of the old one.
	newer := resolve(t, s, npx("@acme/keeper", "2.0.0"))
	if got, _ := place(t, s, newer, one); got != "second 4" {
		t.Errorf("after an update: %q", got)
	}
	left, err := filepath.Glob(filepath.Join(one, modules, "@acme", "keeper", "dist", "only-*"))
	if err != nil || len(left) != 1 || filepath.Base(left[0]) != "only-2.0.0.js" {
		t.Errorf("files %q, %v", left, err)
	}
	if _, err := os.Lstat(filepath.Join(one, modules, "word")); err == nil {
		t.Error("a dependency of the old version is there")
	}
}

// Whatever a skill did to its copy, the next start has the verified files.
func TestPlaceRestores(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("links need rights there")
	}
	r := newRegistry(t)
	publishKeeper(r)
	s := store(t, r.URL)
	locked := resolve(t, s, npx("@acme/keeper", "1.0.0"))
	outside := t.TempDir()
	if err := os.WriteFile(filepath.Join(outside, "index.js"), []byte("module.exports = 'evil'"), 0o600); err != nil {
		t.Fatal(err)
	}
	attacks := map[string]func(dir string) error{
		"rewrite the program": func(dir string) error {
			return os.WriteFile(filepath.Join(dir, "@acme/keeper/dist/cli.js"), []byte("console.log('evil')"), 0o700)
		},
		"same size and time": func(dir string) error {
			return os.WriteFile(filepath.Join(dir, "@acme/keeper/dist/cli.js"), []byte(strings.ToUpper(keeper)), 0o700)
		},
		"point a dependency elsewhere": func(dir string) error {
			if err := os.Remove(filepath.Join(dir, "greeting")); err != nil {
				return err
			}
			return os.Symlink(outside, filepath.Join(dir, "greeting"))
		},
		"add a dependency nearer to the program": func(dir string) error {
			if err := os.MkdirAll(filepath.Join(dir, "@acme/node_modules/greeting"), 0o700); err != nil {
				return err
			}
			return os.WriteFile(filepath.Join(dir, "@acme/node_modules/greeting/index.js"), []byte("module.exports = 'evil'"), 0o600)
		},
		"add a dependency beside the program": func(dir string) error {
			if err := os.MkdirAll(filepath.Join(dir, "@acme/keeper/dist/node_modules/greeting"), 0o700); err != nil {
				return err
			}
			return os.WriteFile(filepath.Join(dir, "@acme/keeper/dist/node_modules/greeting/index.js"), []byte("module.exports = 'evil'"), 0o600)
		},
		"lead the copy out of the directory": func(dir string) error {
			if err := os.RemoveAll(filepath.Join(dir, "@acme/keeper")); err != nil {
				return err
			}
			return os.Symlink(outside, filepath.Join(dir, "@acme/keeper"))
		},
		"replace the directory by a file": func(dir string) error {
			if err := os.RemoveAll(dir); err != nil {
				return err
			}
			return os.WriteFile(dir, nil, 0o600)
		},
		"take the rights away": func(dir string) error { return os.Chmod(filepath.Join(dir, "@acme/keeper/dist"), 0) },
	}
	for name, attack := range attacks {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			place(t, s, locked, dir)
			if err := attack(filepath.Join(dir, modules)); err != nil {
				t.Fatal(err)
			}
			if got, _ := place(t, s, locked, dir); !strings.HasPrefix(got, "start ") {
				t.Errorf("it says %q", got)
			}
			if left, err := os.ReadDir(outside); err != nil || len(left) != 1 {
				t.Errorf("outside there is %v, %v", left, err)
			}
		})
	}
}

// planted is a program that loads modules in each way that Node has.
const planted = `#!/usr/bin/env node
let said = require('./lib') + ' ' + require('./part') + ' '
for (const name of ['./extra', './extra.json', './new', './plug.so']) {
  try { said += JSON.stringify(require(name)) } catch {}
}
console.log(said)`

// What a skill adds beside its program is kept if it is data, and never loaded if it is code.
func TestPlaceKeepsDataOnly(t *testing.T) {
	r := newRegistry(t)
	r.publish("tool", "1.0.0", map[string]any{"bin": "./cli.js"}, map[string]string{
		"cli.js": planted, "lib.js": "module.exports = 'lib'", "part/index.js": "module.exports = require('../lib')",
	})
	s := store(t, r.URL)
	locked := resolve(t, s, npx("tool", "1.0.0"))
	const evil = "module.exports = 'evil'"
	tests := []struct {
		name, text string
		mode       os.FileMode
		kept       bool
	}{
		{"lib", evil, 0o600, false}, // Node takes it before lib.js
		{"part.js", evil, 0o600, false},
		{"part/lib.js", evil, 0o600, false},
		{"extra.js", evil, 0o600, false},
		{"extra.NODE", evil, 0o600, false},
		{"new/index.js", evil, 0o600, false},
		{"new/package.json", `{"main":"notes.txt"}`, 0o600, false},
		{"part/package.json", `{"main":"notes.txt"}`, 0o600, false},
		{"new/node_modules/x/data.txt", "", 0o600, false},
		{"plug.so", evil, 0o600, false},
		{"plug.so.1", evil, 0o600, false},
		{"part/__pycache__/x.pyc", "", 0o600, false},
		{"x.pth", "import evil", 0o600, false},
		{"helper", "#!/bin/sh", 0o700, false},
		{"memory.jsonl", "{}", 0o600, true},
		{"extra.json", "{}", 0o644, true},
		{"new/notes.txt", evil, 0o600, true},
		{"new/deep/CURRENT", "x", 0o600, true},
		{"lib.db", "x", 0o600, true},
		{"store.sqlite", "x", 0o600, true},
	}
	dir := t.TempDir()
	place(t, s, locked, dir)
	own := filepath.Join(dir, modules, "tool")
	for _, tt := range tests {
		path := filepath.Join(own, filepath.FromSlash(tt.name))
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(tt.text), tt.mode); err != nil {
			t.Fatal(err)
		}
	}
	if runtime.GOOS != "windows" {
		if err := os.Symlink("memory.jsonl", filepath.Join(own, "link.json")); err != nil {
			t.Fatal(err)
		}
	}
	var notes []string
	placed, err := s.Place(t.Context(), locked, "", dir, func(note string) { notes = append(notes, note) })
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.TrimSpace(output(t, s, placed.Argv)); got != "lib lib {}{}" {
		t.Errorf("it says %q", got)
	}
	if len(notes) != 1 || !strings.Contains(notes[0], "removed what it had added beside its program") || !strings.Contains(notes[0], " more") {
		t.Errorf("notes %q", notes)
	}
	for _, tt := range tests {
		text, err := os.ReadFile(filepath.Join(own, filepath.FromSlash(tt.name)))
		if kept := err == nil && string(text) == tt.text; kept != tt.kept && (tt.mode&0o100 == 0 || runtime.GOOS != "windows") {
			t.Errorf("%s: kept %t, %v", tt.name, kept, err)
		}
	}
	if _, err := os.Lstat(filepath.Join(own, "link.json")); err == nil {
		t.Error("a link is kept")
	}
	// With nothing to remove, nothing is said.
	notes = nil
	if _, err := s.Place(t.Context(), locked, "", dir, func(note string) { notes = append(notes, note) }); err != nil || len(notes) > 0 {
		t.Errorf("notes %q, %v", notes, err)
	}
}

// T7: a package whose files were changed in the cache is not started. It is fetched again, or
// refused if that is not allowed.
func TestTamperedCache(t *testing.T) {
	r := newRegistry(t)
	publishKeeper(r)
	s := store(t, r.URL)
	locked := resolve(t, s, npx("@acme/keeper", "1.0.0"))
	_, placed := place(t, s, locked, t.TempDir())
	home := placed.Read[0]
	script := filepath.Join(home, modules, "greeting", "index.js")
	if info, err := os.Stat(script); err != nil || info.Mode().Perm()&0o222 != 0 {
		t.Errorf("mode %v, %v: a file of the cache can be written", info.Mode(), err)
	}
	tamper := func() {
		t.Helper()
		if err := os.Chmod(script, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(script, []byte("module.exports = 'evil'"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	tamper()
	var notes []string
	placed, err := s.Place(t.Context(), locked, "", t.TempDir(), func(note string) { notes = append(notes, note) })
	if err != nil {
		t.Fatal(err)
	}
	if got := output(t, s, placed.Argv); got != "start 1\n" {
		t.Errorf("it says %q", got)
	}
	if len(notes) == 0 || !strings.Contains(notes[0], "have changed since they were installed; it is fetched again") {
		t.Errorf("notes %q", notes)
	}
	tamper()
	s.Offline = true
	if _, err := s.Place(t.Context(), locked, "", t.TempDir(), nil); err == nil || !strings.Contains(err.Error(), "have changed") {
		t.Errorf("offline: %v", err)
	}
	// So is one that was added to, and one whose record is gone.
	s.Offline = false
	place(t, s, locked, t.TempDir())
	if err := os.WriteFile(filepath.Join(home, modules, "greeting", "more.js"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := isSealed(home, modules); err == nil {
		t.Error("a new file is not noticed")
	}
	if err := os.Remove(sealPath(home)); err != nil {
		t.Fatal(err)
	}
	if got, _ := place(t, s, locked, t.TempDir()); got != "start 1" {
		t.Errorf("it says %q", got)
	}
	attack.Held(t, "T7", 1)
}
