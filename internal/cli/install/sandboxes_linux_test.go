package install

import (
	"context"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/expert"
	"github.com/perstack-go/perstack/internal/lockfile"
	"github.com/perstack-go/perstack/internal/sandbox/landlock"
	"github.com/perstack-go/perstack/internal/skills"
	"github.com/perstack-go/perstack/internal/testkit"
)

// With --sandbox all servers are asked in sandboxes; without it, those that want one. What was
// made for the sandboxes is gone afterwards.
func TestSandbox(t *testing.T) {
	if err := landlock.Available(); err != nil {
		testkit.Missing(t, err.Error())
	}
	for _, c := range []struct {
		name, file string
		sandbox    expert.SandboxLevel
		want       string // which skills are sandboxed
	}{
		{"none", twoExperts, expert.SandboxOff, ""},
		{"all", twoExperts, expert.SandboxAuto, "files web"},
		{"one skill", strings.Replace(twoExperts, "command = \"files-server\"\n", "command = \"files-server\"\nsandbox = \"landlock\"\n", 1), expert.SandboxOff, "files"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Setenv("TMPDIR", t.TempDir())
			b := newBench(t, c.file)
			b.host.Home = t.TempDir()
			var mu sync.Mutex
			locked := map[string]bool{}
			opts := &Options{Host: b.host, Sandbox: c.sandbox, Discover: func(ctx context.Context, site *skills.Site, s *expert.Skill, pinned *lockfile.Package, report func(event.Body)) (*lockfile.Skill, error) {
				mu.Lock()
				defer mu.Unlock()
				if site.Sandboxes.Contain(s) {
					locked[s.Name] = true
					if !site.Sandboxes.OwnListeners {
						t.Error("it has no listener")
					}
				}
				return b.discover(ctx, site, s, pinned, report)
			}}
			if err := run(t.Context(), opts); err != nil {
				t.Fatal(err)
			}
			var who []string
			for _, name := range []string{"files", "web"} {
				if locked[name] {
					who = append(who, name)
				}
			}
			if got := strings.Join(who, " "); got != c.want {
				t.Errorf("sandboxed: %q, want %q", got, c.want)
			}
			if left, err := os.ReadDir(os.TempDir()); err != nil || len(left) > 0 {
				t.Errorf("%v are left, %v", left, err)
			}
		})
	}
}
