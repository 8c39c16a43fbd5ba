package workspace_test

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/perstack-go/perstack/internal/testkit"
	"github.com/perstack-go/perstack/internal/workspace"
)

const canary = "CANARY-7f3a"

// A fixture is a workspace, with files next to it that its tools must not see.
type fixture struct {
	*workspace.Workspace
	dir     string // the workspace
	outside string // beside it, with secret.txt in it
}

// newFixture builds:
//
//	outside/secret.txt   ws2/secret.txt        the canary
//	ws/perstack/jobs/j1  ws/.env               the canary, protected
//	ws/keys.txt          (a protected file with an ordinary name)
//	ws/a.txt  ws/src/b.txt                     ordinary
func newFixture(t testing.TB) *fixture {
	t.Helper()
	top, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	h := &fixture{dir: filepath.Join(top, "ws"), outside: filepath.Join(top, "outside")}
	put(t, filepath.Join(h.outside, "secret.txt"), canary)
	put(t, filepath.Join(top, "ws2", "secret.txt"), canary)
	put(t, filepath.Join(h.dir, "perstack", "jobs", "j1"), canary)
	put(t, filepath.Join(h.dir, ".env"), canary)
	put(t, filepath.Join(h.dir, "keys.txt"), canary)
	put(t, filepath.Join(h.dir, "a.txt"), "alpha\n")
	put(t, filepath.Join(h.dir, "src", "b.txt"), "beta\n")
	h.Workspace, err = workspace.Open(h.dir, workspace.Options{Protected: []string{
		filepath.Join(h.dir, "perstack"), filepath.Join(h.dir, "keys.txt"),
	}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { h.Close() })
	return h
}

func put(t testing.TB, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func (h *fixture) link(t testing.TB, target, name string) {
	t.Helper()
	if err := os.Symlink(target, filepath.Join(h.dir, name)); err != nil {
		t.Fatal(err)
	}
}

func (h *fixture) read(name string) (string, error) {
	f, err := h.OpenFile(context.Background(), name)
	if err != nil {
		return "", err
	}
	defer f.Close()
	data, err := io.ReadAll(f)
	return string(data), err
}

// wantCode checks the code of an error, a fragment of its message, and that the
// message gives nothing away.
func wantCode(t *testing.T, err error, code workspace.Code, fragment string) {
	t.Helper()
	var e *workspace.Error
	if !errors.As(err, &e) {
		t.Errorf("error %v (%T), want code %q", err, err, code)
		return
	}
	if e.Code != code || !strings.Contains(e.Message, fragment) {
		t.Errorf("error %q %q, want code %q with %q", e.Code, e.Message, code, fragment)
	}
	// A message has one name in it, the one that was given; this is how others would show.
	if strings.Count(e.Message, "secret.txt") > 1 || strings.Contains(e.Message, canary) {
		t.Errorf("error gives away what is outside: %s", e.Message)
	}
}

func TestOpen(t *testing.T) {
	h := newFixture(t)
	if h.Path() != h.dir {
		t.Errorf("Path() = %q, want %q", h.Path(), h.dir)
	}
	tests := []struct {
		name, dir, protected, want string
	}{
		{"missing directory", filepath.Join(h.dir, "none"), h.outside, "choose an existing directory"},
		{"a file", filepath.Join(h.dir, "a.txt"), h.outside, "choose an existing directory"},
		{"relative protected path", h.dir, "perstack", "is not absolute"},
		{"storage is the workspace", h.dir, h.dir, "the storage directory is the workspace itself"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w, err := workspace.Open(tt.dir, workspace.Options{Protected: []string{tt.protected}})
			if err == nil {
				w.Close()
				t.Fatal("no error")
			}
			if !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error %q, want %q", err, tt.want)
			}
		})
	}
	h.Close()
	if _, err := h.read("a.txt"); err == nil {
		t.Error("a closed workspace can be read")
	}
}

// A workspace reached through a link is known by both names.
func TestOpenThroughLink(t *testing.T) {
	h := newFixture(t)
	alias := filepath.Join(filepath.Dir(h.dir), "alias")
	if err := os.Symlink("ws", alias); err != nil {
		t.Fatal(err)
	}
	w, err := workspace.Open(alias, workspace.Options{Protected: []string{filepath.Join(alias, "perstack")}})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	g := &fixture{Workspace: w}
	for _, name := range []string{"a.txt", filepath.Join(alias, "a.txt"), filepath.Join(h.dir, "a.txt")} {
		if got, err := g.read(name); got != "alpha\n" {
			t.Errorf("read %q = %q, %v", name, got, err)
		}
	}
	_, err = g.read("perstack/jobs/j1")
	wantCode(t, err, workspace.Protected, "history and the state of perstack")
}

// The workspace "/" contains everything, also what the kernel makes up.
func TestOpenRootDirectory(t *testing.T) {
	h := newFixture(t)
	w, err := workspace.Open("/", workspace.Options{Protected: []string{filepath.Join(h.dir, "perstack")}})
	if err != nil {
		testkit.Missing(t, err.Error())
	}
	defer w.Close()
	g := &fixture{Workspace: w}
	if got, err := g.read(filepath.Join(h.dir, "a.txt")); got != "alpha\n" {
		t.Errorf("read = %q, %v", got, err)
	}
	_, err = g.read(filepath.Join(h.dir, "perstack", "jobs", "j1"))
	wantCode(t, err, workspace.Protected, "history and the state of perstack")
	if _, err := os.Stat("/proc/self/environ"); err != nil {
		return
	}
	for _, name := range []string{"/proc/self/environ", "/proc/self/cwd/a.txt", "/proc/self/root/etc/passwd", "/proc/self/fd/0"} {
		if got, err := g.read(name); err == nil {
			t.Errorf("read %s = %.20q, want a refusal", name, got)
		}
	}
	_, err = g.read("../etc/passwd")
	wantCode(t, err, workspace.OutsideWorkspace, "path outside allowed directories")
}
