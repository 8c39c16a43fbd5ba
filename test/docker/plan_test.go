//go:build linux

package docker

import (
	"strings"
	"testing"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/internal/testkit"
)

// A job that plans can change nothing in its container, not even where all skills share one sandbox.
// Once its plan is accepted, it continues in a container that can: at once on a terminal, or when it
// is resumed.
func TestPlan(t *testing.T) {
	t.Parallel()
	for name, flags := range map[string][]string{"separate sandboxes": nil, "shared sandbox": {"--shared-sandbox"}} {
		for _, headless := range []bool{true, false} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				p := newProject(t, "", map[string]string{"perstack.toml": worker, effects: ""})
				act := command(t, "./probed", "append", effects, "line")
				p.serve("[[turn]]\n" + act + call(t, "appendTextFile", map[string]any{"path": effects, "text": "line\n"}) +
					"[[turn]]\n" + call(t, "proposePlan", map[string]any{"plan": "1. Append a line."}) +
					"[[turn]]\n" + act + "[[turn]]\ntext = \"Done.\"\n")
				job := p.job()
				flags := append([]string{"--plan"}, flags...)
				if headless {
					p.run(append(flags, "worker", "go", "--job-id", job)...).must(t, 4)
					p.nothingRuns(job)
					if got := string(p.read(effects)); got != "" {
						t.Errorf("a job that only plans wrote %q", got)
					}
					p.perstack("approve", job, p.waiting(job)[0]).must(t, 0)
					p.run(append(flags[1:], "--continue-job", job)...).must(t, 0)
				} else {
					cmd := p.running(job)
					cmd.Args = append(cmd.Args, flags...)
					answers := testkit.Press("y")
					answers[0].Before = func() {
						if got := string(p.read(effects)); got != "" {
							t.Errorf("a job that only plans wrote %q", got)
						}
					}
					screen := onTerminal(t, cmd, 0, answers...)
					for _, text := range []string{"Accept this plan?", "  | 1. Append a line.", "Done."} {
						if !strings.Contains(screen, text) {
							t.Errorf("%q is not on the screen:\n%s", text, tail(screen, 3000))
						}
					}
				}
				if got := string(p.read(effects)); got != "line\n" {
					t.Errorf("%s has %q after the plan was accepted", effects, got)
				}
				if accepted := journalOf[event.PlanAccepted](p, job); len(accepted) != 1 {
					t.Errorf("a plan was accepted %d times", len(accepted))
				}
				p.nothingRuns(job)
				p.perstack("log", job, "--verify").must(t, 0)
			})
		}
	}
}
