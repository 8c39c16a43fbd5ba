package probe

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/perstack-go/perstack/expert"
	"github.com/perstack-go/perstack/internal/testkit"
	"github.com/perstack-go/perstack/internal/testkit/atlevel"
)

// counted is a prober that counts how often the sandbox is tried.
func counted(t *testing.T) (p Prober, tries *int) {
	t.Helper()
	if level, steps := Level(t.Context()); level != expert.SandboxFull {
		testkit.Missing(t, "a machine that offers all levels: "+text(steps))
	}
	tries = new(int)
	return Prober{Complete: func(context.Context) []Step { *tries++; return []Step{{Name: Start, Status: OK}} }}, tries
}

// The second time the sandbox is not tried; the level and the steps are the same.
func TestOffered(t *testing.T) {
	p, tries := counted(t)
	dir := filepath.Join(t.TempDir(), "state")
	p.Offered(t.Context(), dir)
	if _, err := os.Stat(dir); err == nil {
		t.Error("asking made a directory")
	}
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	*tries = 0
	first, before := p.Offered(t.Context(), dir)
	second, after := p.Offered(t.Context(), dir)
	if *tries != 1 || first != second || second != expert.SandboxFull || !slices.Equal(before, after) {
		t.Errorf("%d tries, %s and %s\n%s\n%s", *tries, first, second, text(before), text(after))
	}
	info, err := os.Stat(filepath.Join(dir, cacheName))
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info, err)
	}
	p.Level(t.Context())
	if *tries != 2 {
		t.Error("Level used the cache")
	}
	p.Offered(t.Context(), "")
	if *tries != 3 {
		t.Error("without a directory there was a cache")
	}
}

// A cache that is damaged, shared or of other circumstances is ignored and replaced.
func TestOfferedIgnores(t *testing.T) {
	key := digest(circumstances())
	for name, change := range map[string]func(path string) error{
		"damaged": func(path string) error { return os.WriteFile(path, []byte(`{"key":"`+key), 0o600) },
		"other":   func(path string) error { return os.WriteFile(path, []byte(`{"key":"x","steps":[]}`), 0o600) },
		"no steps": func(path string) error {
			return os.WriteFile(path, []byte(`{"key":"`+key+`","steps":[]}`), 0o600)
		},
		"more": func(path string) error {
			return os.WriteFile(path, []byte(`{"key":"`+key+`","steps":[],"level":"full"}`), 0o600)
		},
		"shared": func(path string) error { return os.Chmod(path, 0o666) },
		"a link to nothing": func(path string) error {
			if err := os.Remove(path); err != nil {
				return err
			}
			return os.Symlink("nothing", path)
		},
	} {
		t.Run(name, func(t *testing.T) {
			p, tries := counted(t)
			dir := t.TempDir()
			p.Offered(t.Context(), dir)
			if err := change(filepath.Join(dir, cacheName)); err != nil {
				t.Fatal(err)
			}
			for range 2 {
				if level, _ := p.Offered(t.Context(), dir); level != expert.SandboxFull {
					t.Errorf("level %s", level)
				}
			}
			if *tries != 2 {
				t.Errorf("%d tries, want 2", *tries)
			}
		})
	}
}

// A complete start that fails lowers the level, and is not remembered. A cache without one is not
// enough where one is wanted.
func TestOfferedNeedsStart(t *testing.T) {
	counted(t)
	dir := t.TempDir()
	if level, _ := Offered(t.Context(), dir); level != expert.SandboxFull {
		t.Fatal(level)
	}
	tries := 0
	broken := Prober{Complete: func(context.Context) []Step {
		tries++
		return []Step{{Name: Start, Status: OK}, {Name: Start + ".hidden", Status: Fail}}
	}}
	for range 2 {
		if level, steps := broken.Offered(t.Context(), dir); level == expert.SandboxFull || steps[len(steps)-1].Status != Fail {
			t.Errorf("level %s\n%s", level, text(steps))
		}
	}
	if tries != 2 {
		t.Errorf("%d tries, want 2", tries)
	}
	writeCache(filepath.Join(dir, cacheName), cached{digest(circumstances()), append(slices.Clone(allPassed()), Step{Name: Start, Status: OK}, Step{Name: Start + ".hidden", Status: Fail})})
	if level, _ := broken.Offered(t.Context(), dir); level == expert.SandboxFull {
		t.Error("a cache with a check that failed was used")
	}
}

func allPassed() (steps []Step) {
	for _, name := range order {
		steps = append(steps, Step{Name: name, Status: OK})
	}
	return steps
}

// A cache of full is not used where the level is lower, and a lower level is not remembered.
func TestOfferedElsewhere(t *testing.T) {
	counted(t)
	dir := t.TempDir()
	t.Setenv(cacheVariable, dir)
	for _, tt := range []struct{ level, want string }{
		{atlevel.Full, "full"}, {atlevel.Landlock, "landlock"}, {atlevel.None, "off"}, {atlevel.Full, "full"},
	} {
		if a := levelOf(t, tt.level, 0); a.Level != tt.want {
			t.Errorf("%s: %s\n%s", tt.level, a.Level, text(a.Steps))
		}
	}
	if _, err := os.Stat(filepath.Join(dir, cacheName)); err != nil {
		t.Error(err)
	}
}

func TestDigest(t *testing.T) {
	a, b := digest([]string{"ab", "c"}), digest([]string{"a", "bc"})
	if a == b || a == "" || digest(nil) != "" || digest([]string{"a", ""}) != "" {
		t.Errorf("%q, %q", a, b)
	}
	if parts := circumstances(); slices.Contains(parts, "") {
		t.Errorf("something is not known here: %q", parts)
	}
}

// A process that keeps what it knows tries the sandbox once, with or without a cache, until its
// circumstances are others.
func TestKnown(t *testing.T) {
	p, tries := counted(t)
	p.Known = new(Knowledge)
	want := func(when string, n int, dir string) {
		t.Helper()
		level, steps := p.Offered(t.Context(), dir)
		if level != expert.SandboxFull || !passed(steps, Start) || *tries != n {
			t.Errorf("%s: level %s after %d tries, want %d\n%s", when, level, *tries, n, text(steps))
		}
	}
	want("at first", 1, "")
	want("at once", 1, "")
	dir := t.TempDir()
	want("with a directory", 1, dir)
	if steps, err := readCache(filepath.Join(dir, cacheName), digest(circumstances())); err != nil || !passed(steps, Start) {
		t.Errorf("what is known was not saved: %v", err)
	}
	p.Known.when = p.Known.when.Add(-2 * lookAgain)
	want("later", 1, "")
	p.Known.cached.Key = "that of others"
	want("with others, which a moment cannot change", 1, "")
	p.Known.when = p.Known.when.Add(-2 * lookAgain)
	want("with others", 2, "")
	p.Known.cached.Key = "that of others"
	p.Known.when = p.Known.when.Add(-2 * lookAgain)
	want("with others and a cache", 2, dir)
}

// What was not found out is not known: a level below full, and one of a context that has ended.
func TestNotKnown(t *testing.T) {
	p, tries := counted(t)
	p.Known = new(Knowledge)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	p.Offered(ctx, "")
	failing := Prober{Known: p.Known, Complete: func(context.Context) []Step { return []Step{{Name: Start, Status: Fail}} }}
	if level, _ := failing.Offered(t.Context(), ""); level == expert.SandboxFull || p.Known.cached.Key != "" {
		t.Errorf("level %s, and %+v is known", level, p.Known.cached)
	}
	*tries = 0
	if level, _ := p.Offered(t.Context(), ""); level != expert.SandboxFull || *tries != 1 {
		t.Errorf("level %s after %d tries", level, *tries)
	}
}
