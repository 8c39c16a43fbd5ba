package skills

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/perstack-go/perstack/engine"
	"github.com/perstack-go/perstack/expert"
	"github.com/perstack-go/perstack/internal/sandbox/policy"
)

// Commands for which the same directories are open share a sandbox and its caches. Two sandboxes never
// write to the same caches.
func TestCachesOfOpenedDirectories(t *testing.T) {
	upper := filepath.Join(t.TempDir(), "go-build")
	b := &skillSandbox{right: expert.WorkspaceNone, sandboxes: &Sandboxes{full: &namespaces{
		now: time.Now, log: slog.New(slog.DiscardHandler), files: func() map[string]string { return nil },
		caches: func() ([]policy.Cache, error) {
			return []policy.Cache{{Path: "/home/ann/.cache/go-build", Upper: upper}}, nil
		},
	}}}
	defer func() {
		if err := b.remove(); err != nil {
			t.Error(err)
		}
	}()
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
}

// Of the directories that answers open, those are left out that are gone, that a link has replaced, and
// that have become private.
func TestOpenedNow(t *testing.T) {
	top, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	at := func(name string) string { return filepath.Join(top, name) }
	for _, dir := range []string{"data", "private", "work", ".hidden", "sandboxes/one"} {
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
	in := &skillSandbox{sandboxes: &Sandboxes{Tmp: at("sandboxes"), private: policy.Private{Workspace: at("work"), Dirs: []string{at("private")}}}}
	s := &set{site: &Site{}, req: engine.SkillRequest{Opened: func(_ context.Context, skillName string) []string {
		if skillName != expert.BaseSkill {
			t.Errorf("asked for %s", skillName)
		}
		return []string{at("data"), at("data/file"), at("gone"), at("link"), at("private"), at("work"), at(".hidden"), at("sandboxes/one"), top, "/", "relative"}
	}}}
	if got := s.opened(&expert.Skill{Name: expert.BaseSkill}, in)(t.Context()); !slices.Equal(got, []string{at("data")}) {
		t.Errorf("opened %q", got)
	}
}
