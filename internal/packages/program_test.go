package packages

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// What a package says about its programs is not believed: the file must be in it.
func TestStartOf(t *testing.T) {
	outside := filepath.Join(t.TempDir(), "outside.js")
	if err := os.WriteFile(outside, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	files := map[string]string{
		"node.txt": "#!/usr/bin/env node\n", "flags": "#!/usr/bin/env -S node --no-warnings\n", "direct": "#!/opt/bin/node\r\n", "plain.js": "1", "m.mjs": "", "c.cjs": "",
		"run.sh": "#!/bin/sh\necho hi\n", "binary": "\x7fELF", "sub/x.js": "", "link.js": "->plain.js", "out.js": "->" + outside, "up": "->..", "loop.js": "->loop.js",
	}
	tests := []struct {
		bin, program string
		want         string // node x.js, or part of an error after !
	}{
		{`"plain.js"`, "", "node plain.js"},
		{`"./plain.js"`, "", "node plain.js"},
		{`"sub//./x.js"`, "", "node sub/x.js"},
		{`"node.txt"`, "", "node node.txt"},
		{`"direct"`, "", "node direct"},
		{`"flags"`, "", "node --no-warnings flags"},
		{`{"x":"m.mjs"}`, "", "node m.mjs"},
		{`{"x":"c.cjs"}`, "x", "node c.cjs"},
		{`"run.sh"`, "", "run.sh"},
		{`"binary"`, "", "binary"},
		{`"link.js"`, "", "node link.js"},
		{`{"a":"m.mjs","tool":"c.cjs"}`, "", "node c.cjs"},
		{`{"a":"m.mjs","b":"m.mjs"}`, "", "node m.mjs"},
		{`{"a":"m.mjs","b":"c.cjs"}`, "b", "node c.cjs"},
		{`{"a":"m.mjs","b":"c.cjs"}`, "", "!it has several programs, say which one (npx -p PACKAGE PROGRAM): a, b"},
		{`{"a":"m.mjs"}`, "c", `!it has no program "c", only: a`},
		{`"plain.js"`, "tool", "node plain.js"},
		{`{}`, "", "!it has no program to start"},
		{`null`, "", "!it has no program to start"},
		{`7`, "", "!cannot be read"},
		{`{"x":["a"]}`, "", "!cannot be read"},
		{`"missing.js"`, "", "!missing in the package"},
		{`"../../x"`, "", "!not inside of the package"},
		{`"sub/../plain.js"`, "", "!not inside of the package"},
		{`"` + filepath.ToSlash(outside) + `"`, "", "!not inside of the package"},
		{`"out.js"`, "", "!not inside of the package"},
		{`"up/package/plain.js"`, "", "!not inside of the package"},
		{`"loop.js"`, "", "!not inside of the package"},
		{`"sub"`, "", "!not a file"},
		{`"."`, "", "!not inside of the package"},
		{`""`, "", "!not inside of the package"},
		{`"a\\..\\b"`, "", "!not inside of the package"},
		{`"C:x.js"`, "", "!not inside of the package"},
		{`"a\u0000b"`, "", "!not inside of the package"},
		{`"\u001b[31m"`, "", "!missing in the package"},
	}
	for _, tt := range tests {
		dir := filepath.Join(t.TempDir(), "package")
		files["package.json"] = `{"name":"tool","version":"1.0.0","unknown":[{}],"bin":` + tt.bin + `}`
		for name, text := range files {
			path := filepath.Join(dir, filepath.FromSlash(name))
			if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
				t.Fatal(err)
			}
			err := os.WriteFile(path, []byte(text), 0o600)
			if to, ok := strings.CutPrefix(text, "->"); ok && err == nil {
				if err = os.Remove(path); err == nil {
					err = os.Symlink(to, path)
				}
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		argv, err := new(Store).startOf(dir, "@acme/tool", tt.program)
		if failure, ok := strings.CutPrefix(tt.want, "!"); ok {
			if err == nil || !strings.Contains(err.Error(), failure) || strings.Contains(err.Error(), "\x1b") {
				t.Errorf("%s: %q, %v", tt.bin, argv, err)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", tt.bin, err)
			continue
		}
		want := strings.Fields(tt.want)
		script := filepath.Join(dir, filepath.FromSlash(want[len(want)-1]))
		want[len(want)-1] = script
		if diff := cmp.Diff(want, argv); diff != "" {
			t.Errorf("%s: %s", tt.bin, diff)
		}
		if info, err := os.Stat(script); err != nil || len(argv) == 1 && runtime.GOOS != "windows" && info.Mode().Perm() != 0o500 {
			t.Errorf("%s: mode %v, %v", tt.bin, info.Mode(), err)
		}
	}
}

// The same through npm, which has its own ideas about odd programs.
func TestInstallPrograms(t *testing.T) {
	r := newRegistry(t)
	r.publish("shell", "1.0.0", map[string]any{"bin": "run.sh"}, map[string]string{"run.sh": "#!/bin/sh\necho by sh\n"})
	r.publish("escape", "1.0.0", map[string]any{"bin": "../../x"}, map[string]string{"x": "#!/bin/sh\n"})
	r.publish("absolute", "1.0.0", map[string]any{"bin": "/bin/sh"}, nil)
	r.publish("link", "1.0.0", map[string]any{"bin": "x"}, map[string]string{"x": "->/bin/sh"})
	r.publish("none", "1.0.0", nil, nil)
	s := store(t, r.URL)
	for name, want := range map[string]string{"escape": "not inside of the package", "absolute": "not inside of the package", "link": "missing in the package", "none": "no program to start"} {
		if argv, err := s.Install(t.Context(), resolve(t, s, npx(name, "1.0.0")), "", nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %q, %v", name, argv, err)
		}
	}
	if runtime.GOOS != "windows" {
		if got := output(t, s, install(t, s, resolve(t, s, npx("shell", "1.0.0")), "")); got != "by sh\n" {
			t.Errorf("it says %q", got)
		}
	}
}
