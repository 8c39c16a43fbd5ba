package skills

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/perstack-go/perstack/expert"
	"github.com/perstack-go/perstack/internal/sandbox/policy"
)

// Git directories outside the workspace stay those of the start. With a right to read only, they
// are shown unless something in them is hidden. The policy is always valid.
func TestProtectGitDirectories(t *testing.T) {
	found := &policy.Protected{
		Hidden: []string{".env", "/git/b/.env", "/git/later/.env"}, Frozen: []string{"/git/a/config", "/git/later/config"}, Pinned: []string{"/git/a/hooks"},
		Write: []string{"/git/a", "/git/b", "/git/later"},
	}
	n := &namespaces{
		write: []string{"/git/a", "/git/b"}, now: time.Now,
		search: func(context.Context) (*policy.Protected, error) { return found, nil },
		files:  func() map[string]string { return map[string]string{"/home/ann/.gitconfig": "[user]\n"} },
	}
	for right, want := range map[expert.WorkspaceRight]struct{ read, write, hidden, frozen []string }{
		expert.WorkspaceWrite: {nil, []string{"/git/a", "/git/b"}, []string{".env", "/git/b/.env"}, []string{"/git/a/config"}},
		expert.WorkspaceRead:  {[]string{"/git/a"}, nil, []string{".env"}, nil},
		expert.WorkspaceNone:  {nil, nil, nil, nil},
	} {
		b := &skillSandbox{sandboxes: &Sandboxes{full: n}, right: right}
		p, err := b.protect(t.Context(), b.fullPolicy("/work", nil))
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(p.Read, want.read) || !slices.Equal(p.Write, want.write) || !slices.Equal(p.Hidden, want.hidden) || !slices.Equal(p.Frozen, want.frozen) {
			t.Errorf("%s: %+v", right, p)
		}
		if len(p.Files) != 1 {
			t.Errorf("%s: the small files are %v", right, p.Files)
		}
		if err := p.Validate(); err != nil {
			t.Errorf("%s: %v", right, err)
		}
	}
}

// The workspace is searched again after a while, and at once when something exists that was named
// and missing. As long as it is missing, it costs no search.
func TestSearchAgain(t *testing.T) {
	dir, now, searches := t.TempDir(), time.Now(), 0
	n := &namespaces{workspace: dir, now: func() time.Time { return now }}
	n.search = func(context.Context) (*policy.Protected, error) {
		searches++
		found := &policy.Protected{}
		for _, name := range []string{"keys.json", filepath.Join(dir, "history")} {
			if n.haveAppeared([]string{name}) {
				found.Hidden = append(found.Hidden, filepath.Base(name))
			} else {
				found.Missing = append(found.Missing, name)
			}
		}
		return found, nil
	}
	want := func(when string, n1 int, hidden ...string) {
		t.Helper()
		found, err := n.protected(t.Context())
		if err != nil || searches != n1 || !slices.Equal(found.Hidden, hidden) {
			t.Errorf("%s: %d searches, want %d; %+v, %v", when, searches, n1, found, err)
		}
	}
	want("at first", 1)
	want("at once", 1)
	if err := os.Symlink("nowhere", filepath.Join(dir, "keys.json")); err != nil {
		t.Fatal(err)
	}
	want("with a link that was missing", 2, "keys.json")
	want("with the same link", 2, "keys.json")
	if err := os.Mkdir(filepath.Join(dir, "history"), 0o700); err != nil {
		t.Fatal(err)
	}
	want("with a directory that was missing", 3, "keys.json", "history")
	now = now.Add(searchAgain)
	want("later", 4, "keys.json", "history")
}

// The state directory has the key that seals the history, so no tree that all programs read can
// contain it. At level full, programs do not see the user's home.
func TestStateInASystemTree(t *testing.T) {
	top := t.TempDir()
	at := func(name string) string { return filepath.Join(top, name) }
	for _, dir := range []string{"opt/state", "opt/ann/state", "home/state"} {
		if err := os.MkdirAll(at(dir), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("opt", at("link")); err != nil {
		t.Fatal(err)
	}
	c := &Sandboxes{System: []string{at("missing"), at("opt")}}
	for _, test := range []struct {
		state, home  string
		level        expert.SandboxLevel
		wantsRefusal bool
	}{
		{"home/state", "home", expert.SandboxLandlock, false},
		{"home/state", "home", expert.SandboxFull, false},
		{"opt/state", "home", expert.SandboxLandlock, true},
		{"opt/state", "home", expert.SandboxFull, true},
		{"link/state", "home", expert.SandboxFull, true},
		{"opt/ann/state", "opt/ann", expert.SandboxLandlock, true},
		{"opt/ann/state", "opt/ann", expert.SandboxFull, false},
		{"link/ann/state", "opt/ann", expert.SandboxFull, false},
	} {
		_, remove, err := c.Prepare(t.Context(), test.level, at("home/no-workspace"), Machine{State: at(test.state), Environ: []string{"HOME=" + at(test.home)}, Now: time.Now})
		if err == nil {
			err = remove()
		}
		if refused := err != nil && strings.Contains(err.Error(), "the state directory of perstack"); refused != test.wantsRefusal {
			t.Errorf("%+v: %v", test, err)
		}
	}
}
