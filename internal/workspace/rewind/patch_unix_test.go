//go:build unix

package rewind_test

import (
	"bytes"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/perstack-go/perstack/internal/workspace/rewind"
)

// Git applies our patches: they turn the first state into the second, as far as git knows it.
func TestGitAppliesPatches(t *testing.T) {
	for seed := range uint64(25) {
		f := newFixture(t)
		random := rand.New(rand.NewPCG(seed, 9))
		f.work(random, 40, "first")
		f.write("long", strings.Repeat("a line\n", 50))
		f.check(os.WriteFile(f.path("ma\"de \\of\tmany"), []byte("x"), 0o755))
		f.write("with space", "x\n")
		first := f.take()
		other := filepath.Join(t.TempDir(), "copy")
		if out, err := exec.Command("cp", "-a", f.dir, other).CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		f.work(random, 40, "second")
		f.write("long", strings.Repeat("a line\n", 20)+"another\n"+strings.Repeat("a line\n", 29))
		f.write("with space", "y\n")
		changes, err := f.store.Diff(first, f.take())
		f.check(err)
		var patch bytes.Buffer
		f.check(rewind.WritePatch(&patch, f.store, changes))
		cmd := exec.Command("git", "apply", "--whitespace=nowarn", "-")
		cmd.Dir, cmd.Stdin = other, bytes.NewReader(patch.Bytes())
		cmd.Env = append(os.Environ(), "GIT_CEILING_DIRECTORIES="+filepath.Dir(other))
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("seed %d: %v: %s\n%s", seed, err, out, patch.String())
		}
		if diff := cmp.Diff(gitView(t, f.dir), gitView(t, other)); diff != "" {
			t.Errorf("seed %d: %s\n%s", seed, diff, patch.String())
		}
	}
}

// gitView returns what git knows of a directory.
func gitView(t *testing.T, dir string) map[string]string {
	all := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		name, _ := filepath.Rel(dir, path)
		if e.Type() == fs.ModeSymlink {
			all[name], err = os.Readlink(path)
			return err
		}
		info, err := e.Info()
		if err != nil {
			return err
		}
		content, err := os.ReadFile(path)
		all[name] = fmt.Sprintf("%v %s", info.Mode()&0o100 != 0, content)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// What must not or cannot be shown is named.
func TestPatchHidesContent(t *testing.T) {
	f := newFixture(t)
	o := f.options
	o.EnvFiles = true
	f.taker = f.store.Taker(f.dir, o)
	f.write("plain", "1\n")
	first := f.take()
	f.write("sub/.env", "TOKEN=secret\n")
	f.write("binary", "a\x00b")
	f.write("large", strings.Repeat("x", 1<<20+1))
	f.write("lines", strings.Repeat("\n", 20_001))
	f.check(os.Chmod(f.path("plain"), 0o755))
	f.write("empty", "")
	changes, err := f.store.Diff(first, f.take())
	f.check(err)
	var patch bytes.Buffer
	f.check(rewind.WritePatch(&patch, f.store, changes))
	want := `Binary files /dev/null and b/binary differ
diff --git a/empty b/empty
new file mode 100644
Files /dev/null and b/large differ: the file is too large to be shown
Files /dev/null and b/lines differ: the file has too many lines to be shown
diff --git a/plain b/plain
old mode 100644
new mode 100755
Files /dev/null and b/sub/.env differ: the content of env files is not shown
`
	if diff := cmp.Diff(want, patch.String()); diff != "" {
		t.Error(diff)
	}
	other := t.TempDir()
	f.check(os.WriteFile(filepath.Join(other, "plain"), []byte("1\n"), 0o644))
	cmd := exec.Command("git", "apply", "-")
	cmd.Dir, cmd.Stdin = other, bytes.NewReader(patch.Bytes())
	cmd.Env = append(os.Environ(), "GIT_CEILING_DIRECTORIES="+filepath.Dir(other))
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if diff := cmp.Diff(map[string]string{"plain": "true 1\n", "empty": "false "}, gitView(t, other)); diff != "" {
		t.Error(diff)
	}
}
