package manifest

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/perstack-go/perstack/internal/env"

	"github.com/google/go-cmp/cmp"

	"github.com/perstack-go/perstack/internal/testkit"

	"github.com/perstack-go/perstack/internal/userfile"
)

func write(t *testing.T, path, text string) string {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestFind(t *testing.T) {
	root := t.TempDir()
	deep := filepath.Join(root, "a", "b")
	if err := os.MkdirAll(deep, 0o755); err != nil {
		t.Fatal(err)
	}
	_, err := Find(deep)
	if !errors.Is(err, ErrNotFound) {
		t.Fatalf("nothing there: %v", err)
	}
	if want := "perstack.toml not found in " + deep + " or any parent"; err.Error() != want {
		t.Errorf("got  %v\nwant %s", err, want)
	}
	top := write(t, filepath.Join(root, FileName), "")
	if got, err := Find(deep); err != nil || got != top {
		t.Errorf("Find = %q, %v; want %q", got, err, top)
	}
	near := write(t, filepath.Join(root, "a", FileName), "")
	if got, err := Find(deep); err != nil || got != near {
		t.Errorf("the nearest does not win: %q, %v", got, err)
	}
	t.Chdir(deep)
	if got, err := Locate(".", ""); err != nil || got != near {
		t.Errorf("Locate without a path: %q, %v", got, err)
	}
}

// A file that is there but unusable must not be skipped for one further up.
func TestFindStopsAtUnreadable(t *testing.T) {
	root := t.TempDir()
	write(t, filepath.Join(root, FileName), "")
	blocked := filepath.Join(root, "a", FileName)
	if err := os.MkdirAll(blocked, 0o755); err != nil {
		t.Fatal(err)
	}
	_, err := Find(filepath.Dir(blocked))
	want := "cannot read " + blocked + ": not a regular file"
	if err == nil || err.Error() != want || errors.Is(err, ErrNotFound) {
		t.Errorf("got  %v\nwant %s", err, want)
	}
	if os.Getuid() == 0 || runtime.GOOS == "windows" {
		return // permissions do not bind root
	}
	if err := os.Remove(blocked); err != nil {
		t.Fatal(err)
	}
	write(t, blocked, "")
	if err := os.Chmod(blocked, 0); err != nil {
		t.Fatal(err)
	}
	if _, err := Find(filepath.Dir(blocked)); !errors.Is(err, fs.ErrPermission) {
		t.Errorf("permission: %v", err)
	}
}

// A link that leads nowhere was put there by somebody: it is not the same as no file.
func TestFindStopsAtDanglingLink(t *testing.T) {
	root := t.TempDir()
	write(t, filepath.Join(root, FileName), "")
	link := filepath.Join(root, "a", FileName)
	if err := os.Mkdir(filepath.Dir(link), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("gone.toml", link); err != nil {
		testkit.Missing(t, "symbolic links: "+err.Error())
	}
	_, err := Find(filepath.Dir(link))
	want := "cannot read " + link + `: it is a link to "gone.toml", which does not exist`
	if err == nil || err.Error() != want || errors.Is(err, ErrNotFound) {
		t.Errorf("got  %v\nwant %s", err, want)
	}
	_, _, err = Load(link)
	want = `config file "` + link + `" not found: it is a link to "gone.toml", which does not exist; check the path`
	if err == nil || err.Error() != want {
		t.Errorf("got  %v\nwant %s", err, want)
	}
	write(t, filepath.Join(root, "a", "gone.toml"), "")
	if got, err := Find(filepath.Dir(link)); err != nil || got != link {
		t.Errorf("a link to a file: %q, %v", got, err)
	}
}

func TestLocate(t *testing.T) {
	for config, want := range map[string]string{
		"x.toml":      filepath.Join("dir", "x.toml"),
		"../x.toml":   "x.toml",
		"/etc/x.toml": "/etc/x.toml",
	} {
		if got, err := Locate("dir", config); err != nil || got != want {
			t.Errorf("Locate(dir, %q) = %q, %v", config, got, err)
		}
	}
	const want = `remote configuration cannot be loaded here: "HTTPS://x.example/p.toml"; download it and pass the path`
	if _, err := Locate("dir", "HTTPS://x.example/p.toml"); err == nil || err.Error() != want {
		t.Errorf("got %v", err)
	}
	if _, _, err := Load("http://x.example/p.toml"); err == nil || !strings.HasPrefix(err.Error(), "remote configuration cannot be loaded") {
		t.Errorf("got %v", err)
	}
}

func TestLoad(t *testing.T) {
	dir := t.TempDir()
	path := write(t, filepath.Join(dir, "my.toml"), "[experts.a]\ninstruction = 'x'\n")
	c, ps, err := Load(path)
	if err != nil || ps != nil || c.Path != path || c.Dir != dir || len(c.Experts) != 1 {
		t.Errorf("Load = %+v, %v, %v", c, ps, err)
	}
	_, _, err = Load(filepath.Join(dir, "no.toml"))
	want := `config file "DIR/no.toml" not found: no such file or directory; check the path`
	if err == nil || !errors.Is(err, fs.ErrNotExist) || errors.Is(err, ErrNotFound) {
		t.Fatalf("missing file: %v", err)
	}
	if d := cmp.Diff(want, strings.ReplaceAll(err.Error(), dir, "DIR")); d != "" {
		t.Errorf("(-want +got)\n%s", d)
	}
	write(t, path, "x = 1\n")
	c, ps, err = Load(path)
	if err != nil || c != nil || ps.Err() == nil || !strings.HasPrefix(ps.Err().Error(), path+":1:1: x: unknown key") {
		t.Errorf("bad file: %v, %v, %v", c, ps, err)
	}
	write(t, path, strings.Repeat("#", maxFile+1))
	if _, _, err := Load(path); err == nil || !strings.HasSuffix(err.Error(), "my.toml\": larger than 1 MiB") {
		t.Errorf("large file: %v", err)
	}
}

// A pipe called perstack.toml or .env must not make us wait for a writer.
func TestPipesDoNotHang(t *testing.T) {
	dir := t.TempDir()
	file, dotenv := filepath.Join(dir, FileName), filepath.Join(dir, ".env")
	if !mkfifo(t, file) || !mkfifo(t, dotenv) {
		t.Log("no pipes on this system")
		return
	}
	done := make(chan []error, 1)
	go func() {
		_, findErr := Find(dir)
		_, _, loadErr := Load(file)
		_, envErr := env.Load(nil, []env.File{{Path: dotenv}})
		done <- []error{findErr, loadErr, envErr}
	}()
	select {
	case errs := <-done:
		for _, err := range errs {
			if !errors.Is(err, userfile.ErrNotRegular) {
				t.Errorf("got %v", err)
			}
		}
	case <-time.After(10 * time.Second):
		t.Fatal("still waiting for somebody to write into the pipe")
	}
}
