//go:build linux

package docker

import (
	"strings"
	"testing"

	"github.com/moby/moby/client"

	"github.com/perstack-go/perstack/internal/testkit/daemon"
)

// TestContainersDie kills the containers of a run, one after the other. The run ends, says
// why and how to resume, leaves nothing behind, and can be resumed.
func TestContainersDie(t *testing.T) {
	t.Parallel()
	for role, said := range map[string]string{"runtime": "the container ended with code 137", "proxy": "the proxy ended"} {
		t.Run(role, func(t *testing.T) {
			t.Parallel()
			p := newProject(t, "", map[string]string{"perstack.toml": worker})
			p.serve(lingering(t))
			job := p.job()
			s := p.start("worker", "go", "--job-id", job)
			p.awaitLingering(s)
			if _, err := daemon.Need(t).ContainerKill(t.Context(), inspect(t, job).find(t, role).ID, client.ContainerKillOptions{Signal: "SIGKILL"}); err != nil {
				t.Fatal(err)
			}
			if code := s.end(); code != 1 {
				t.Errorf("exit code %d", code)
			}
			if !strings.Contains(s.stderr(), said) || !strings.Contains(s.stderr(), "resume with: ") {
				t.Errorf("it says: %s", s.stderr())
			}
			if left := leftovers(t, jobLabel(job)); len(left) > 0 {
				t.Errorf("left: %v", left)
			}
			p.run("--continue-job", job).must(t, 0)
			p.perstack("log", job, "--verify").must(t, 0)
		})
	}
}
