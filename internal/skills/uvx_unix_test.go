//go:build unix

package skills

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/internal/testkit/evil"
)

// A stub stands for uvx: it gets what was understood of the command line, and is told
// not to build packages.
func TestUVX(t *testing.T) {
	program, y := evil.Program(t), newFixture(t)
	bin := t.TempDir()
	stub := "#!/bin/sh\necho \"$UV_NO_BUILD $*\" >seen\nexec '" + program + "' good\n"
	if err := os.WriteFile(filepath.Join(bin, "uvx"), []byte(stub), 0o700); err != nil {
		t.Fatal(err)
	}
	y.Parts.Environ = append(y.Parts.Environ, "PATH="+bin+":"+os.Getenv("PATH"))
	e := load(t, head+server("uvx", "a", "", "-q", "--from", "tools@1.2.3", "run-tools", "--flag"))
	box := y.open(t, e)
	if r := call(t, box, "echo", `{"text":"hi"}`); event.FirstText(r.Result) != "hi" {
		t.Errorf("%+v", r)
	}
	seen, err := os.ReadFile(filepath.Join(y.dir, "seen"))
	if err != nil {
		t.Fatal(err)
	}
	if want := "1 --from tools@1.2.3 run-tools --flag\n"; string(seen) != want {
		t.Errorf("uvx got %q, want %q", seen, want)
	}
}
