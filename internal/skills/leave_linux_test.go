package skills

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/perstack-go/perstack/engine"
	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/expert"
	"github.com/perstack-go/perstack/internal/sandbox/policy"
	"github.com/perstack-go/perstack/internal/secret"
)

// Commands for which the same directories are open share a sandbox and its caches. Two sandboxes never
// write to the same caches.
func TestCachesOfOpenedDirectories(t *testing.T) {
	upper := filepath.Join(t.TempDir(), "go-build")
	full := &namespaces{
		now: time.Now, log: slog.New(slog.DiscardHandler), files: func() map[string]string { return nil },
		caches: func() ([]policy.Cache, error) {
			return []policy.Cache{{Path: "/home/ann/.cache/go-build", Upper: upper}}, nil
		},
	}
	for range 2 { // caches are free again when the skill has ended
		b := &skillSandbox{right: expert.WorkspaceNone, sandboxes: &Sandboxes{full: full}}
		var opened []string
		next := b.commands(func(context.Context) (*policy.Policy, error) {
			return &policy.Policy{Level: expert.SandboxFull, Opened: opened}, nil
		})
		var used []string
		for _, opened = range [][]string{nil, nil, {"/a"}, {"/a", "/b"}, {"/a"}, nil} {
			p, err := next(t.Context())
			if err != nil || !slices.Equal(p.Opened, opened) || len(p.Caches) != 1 {
				t.Fatalf("%+v, %v", p, err)
			}
			number, err := filepath.Rel(upper, filepath.Dir(p.Caches[0].Upper))
			if err != nil {
				t.Fatal(err)
			}
			used = append(used, number)
		}
		if want := []string{"0", "0", "1", "2", "1", "0"}; !slices.Equal(used, want) {
			t.Errorf("used %q, want %q", used, want)
		}
		if err := b.remove(); err != nil {
			t.Error(err)
		}
	}
}

// If caches cannot be made, no command starts.
func TestCachesFail(t *testing.T) {
	broken := errors.New("broken")
	b := &skillSandbox{sandboxes: &Sandboxes{full: &namespaces{caches: func() ([]policy.Cache, error) { return nil, broken }}}}
	next := b.commands(func(context.Context) (*policy.Policy, error) { return &policy.Policy{}, nil })
	for range 2 {
		if p, err := next(t.Context()); !errors.Is(err, broken) {
			t.Errorf("%+v, %v", p, err)
		}
	}
}

// Of the directories that answers open, those are left out that are gone, that a link has replaced, and
// that have become private.
func TestOpenedNow(t *testing.T) {
	top, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	at := func(name string) string { return filepath.Join(top, name) }
	for _, dir := range []string{"data", "private", "work", ".hidden", "sandboxes/one", "homes/one"} {
		if err := os.MkdirAll(at(dir), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("private", at("link")); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(at("data/file"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	in := &skillSandbox{sandboxes: &Sandboxes{Tmp: at("sandboxes"), Home: at("homes"), private: policy.Private{Workspace: at("work"), Dirs: []string{at("private")}}}}
	s := &set{site: &Site{}, req: engine.SkillRequest{Opened: func(_ context.Context, skillName string) []string {
		if skillName != expert.BaseSkill {
			t.Errorf("asked for %s", skillName)
		}
		return []string{at("data"), at("data/file"), at("gone"), at("link"), at("private"), at("work"), at(".hidden"), at("sandboxes/one"), at("homes/one"), top, "/", "relative"}
	}}}
	if got := s.opened(&expert.Skill{Name: expert.BaseSkill}, in)(t.Context()); !slices.Equal(got, []string{at("data")}) {
		t.Errorf("opened %q", got)
	}
}

// What is private comes from the machine.
func TestPrivateOfMachine(t *testing.T) {
	top, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	at := func(name string) string { return filepath.Join(top, name) }
	for _, dir := range []string{"data", "work", "hidden", "packages", "caches", "state", "keys"} {
		if err := os.Mkdir(at(dir), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	c, remove, err := new(Sandboxes).Prepare(t.Context(), expert.SandboxLandlock, at("work"), Machine{
		Environ: []string{"GNUPGHOME=" + at("keys")}, State: at("state"), Caches: at("caches"), Hide: []string{at("hidden")}, Private: []string{at("packages")},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = remove() }()
	for dir, want := range map[string]bool{"data": true, "work": false, "hidden": false, "packages": false, "caches": false, "state": false, "keys": false} {
		if _, ok := c.openable(at(dir)); ok != want {
			t.Errorf("%s can be opened: %t", dir, ok)
		}
	}
}

// A command is not asked about what the journal cannot name, nor in a container, which shows nothing
// else.
func TestOutsideIsAsked(t *testing.T) {
	top, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	secrets := new(secret.Set)
	secrets.Add("KEY", "hunter2-hunter2")
	var asked []string
	s := &set{site: &Site{Parts: engine.Parts{Secrets: secrets}}, req: engine.SkillRequest{Leave: func(_ context.Context, _ string, e event.Effect) engine.Leaving {
		asked = append(asked, e.Path)
		return engine.Leaving{Allow: true}
	}}}
	in, k := &skillSandbox{sandboxes: &Sandboxes{}}, &expert.Skill{Name: expert.BaseSkill}
	for name, want := range map[string]bool{"data": true, "hunter2-hunter2": false} {
		dir := filepath.Join(top, name)
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		if _, opened := s.outside(k, in)(t.Context(), dir, []string{"cat"}); opened != want {
			t.Errorf("%s is open: %t", name, opened)
		}
	}
	if !slices.Equal(asked, []string{filepath.Join(top, "data")}) {
		t.Errorf("asked about %q", asked)
	}
	s.site.Parts.Container = &engine.Container{}
	if s.outside(k, in) != nil {
		t.Error("a container asks about its own directories")
	}
}
