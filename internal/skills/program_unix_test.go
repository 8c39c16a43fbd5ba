//go:build unix

package skills

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/perstack-go/perstack/internal/sandbox"
)

// What a program outside of the system brings into its sandbox is where it was installed, and
// never what belongs to the user.
func TestProgramPlaces(t *testing.T) {
	home := realPath(t.TempDir())
	for _, name := range []string{".nvm/v24/bin/node", ".local/bin/tool", "bin/mine", "work/tool/run", ".nvm/v24/lib/node_modules/npm/bin/npx.js", "system/bin/sh", "ws/bin/tool", "all/bin/tool"} {
		path := filepath.Join(home, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, nil, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for link, target := range map[string]string{".nvm/v24/bin/npx": "../lib/node_modules/npm/bin/npx.js", ".nvm/current": "v24", "system/bin/linked": "../../work/tool/run", "alias": "."} {
		if err := os.Symlink(target, filepath.Join(home, link)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(filepath.Join(home, "all/sandboxes"), 0o700); err != nil {
		t.Fatal(err)
	}
	in := func(names ...string) (paths []string) {
		for _, n := range names {
			paths = append(paths, filepath.Join(home, n))
		}
		return paths
	}
	for _, c := range []struct {
		program, path string
		want          []string
	}{
		{"node", ".nvm/v24/bin", in(".nvm/v24")},
		{"node", ".nvm/current/bin", in(".nvm/v24")},
		{"npx", ".nvm/v24/bin", in(".nvm/v24", ".nvm/v24/lib/node_modules/npm")},
		{filepath.Join(home, ".nvm/v24/bin/node"), "", in(".nvm/v24")},
		{"tool", ".local/bin", in(".local/bin/tool")}, // beside it are the user's keys
		{"mine", "bin", in("bin/mine")},               // and here all that the user has
		{"run", "work/tool", in("work/tool/run")},     // its other files are unknown
		{"sh", "system/bin", nil},
		{"linked", "system/bin", in("work/tool/run")},
		{"absent", "bin", nil},
		{"./node", ".nvm/v24/bin", nil},
		{filepath.Join(home, "alias/bin/mine"), "", in("bin/mine")},              // the home by another name
		{filepath.Join(home, "alias/.nvm/v24/bin/node"), "", in(".nvm/v24")},     // and what is in it
		{filepath.Join("/proc/self/root", home, "bin/mine"), "", in("bin/mine")}, // the same, by the kernel's name
		{filepath.Join("/proc/self/root", home, "system/bin/sh"), "", nil},       // it is part of the system
		{filepath.Join(home, "ws/bin/tool"), "", nil},                            // for which there is a right, or none
		{filepath.Join(home, "all/bin/tool"), "", in("all/bin/tool")},            // sandboxes are beside it
	} {
		if _, err := os.Stat("/proc/self/root"); err != nil && strings.HasPrefix(c.program, "/proc/") {
			continue // a kernel without such names
		}
		got := programPlaces(sandbox.Server{Program: c.program, Environ: []string{"PATH=relative:" + filepath.Join(home, c.path), "HOME=" + home}}, in("system"), in("ws", "all/sandboxes"))
		if !slices.Equal(got, c.want) {
			t.Errorf("%s in %s: %q, want %q", c.program, c.path, got, c.want)
		}
	}
	environ := []string{"HOME=" + home, "PATH=relative/bin:/:" + strings.Join(in("", "bin", "system/bin", ".nvm/v24/bin", "work/tool"), ":") + ":/usr/bin"}
	got, path := searchPath(environ, append(in("system"), "/usr"), in("ws", "all/sandboxes"))
	if !slices.Equal(got, in("bin", ".nvm/v24/bin")) || path != strings.Join(append(in("bin", "system/bin", ".nvm/v24/bin"), "/usr/bin"), ":") {
		t.Errorf("commands may be any of %q, found by %q", got, path)
	}
	for dir, want := range map[string]bool{"/": false, home + "/.cargo": false, home + "/go": false, filepath.Dir(home): false, home: false, home + "/.local": false, home + "/.volta": true, "/srv/node": true, "/proc/self/root": false, "/dev/fd": false} {
		if got := isOwnPlace(dir, home); got != want {
			t.Errorf("%s: %t", dir, got)
		}
	}
}
