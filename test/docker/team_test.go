//go:build linux

package docker

import (
	"slices"
	"strings"
	"testing"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/internal/testkit/llm"
)

// here makes a model's service that perstack reaches without a container, and returns the
// variable that names it.
func (p *project) here(script string) string {
	p.t.Helper()
	parsed, err := llm.Parse("script", []byte(p.keyed(script)))
	if err != nil {
		p.t.Fatal(err)
	}
	_, url := llm.Start(p.t, parsed)
	return "ANTHROPIC_BASE_URL=" + url
}

// ran are the runtimes of the runs of a job, as its journal has them.
func (p *project) ran(job string) (runtimes []string) {
	p.t.Helper()
	for _, e := range p.perstack("log", job, "--json", "--take", "0").must(p.t, 0).events {
		if b, ok := e.Body.(event.StartRun); ok {
			runtimes = append(runtimes, b.Runtime)
		}
	}
	return runtimes
}

// ranInContainer reports whether events are those of a run in a container.
func ranInContainer(events []event.Event) bool {
	return slices.ContainsFunc(events, func(e event.Event) bool {
		b, ok := e.Body.(event.DockerContainerStatus)
		return ok && b.Service == "runtime" && b.Status == "running"
	})
}

// TestRuntimeIsKept continues jobs: one that began in a container stays there, unless the
// user says otherwise; one that did not can be put there.
func TestRuntimeIsKept(t *testing.T) {
	t.Parallel()
	const open = "no container isolates it any more"
	p := newProject(t, "", map[string]string{"perstack.toml": worker})
	// Each call has a query of its own: the services know nothing of each other's turns.
	answers := func(queries ...string) (script string) {
		for _, q := range queries {
			script += "[[turn]]\ncontains = \"" + q + "\"\ntext = \"Done.\"\n"
		}
		return script
	}
	p.serve(answers("one", "two", "five"))
	behind := p.env
	local := append(slices.Clip(p.env), p.here(answers("three", "four")))

	job := p.job()
	if out := p.run("worker", "one", "--job-id", job).must(t, 0); !ranInContainer(out.events) {
		t.Error("it did not run in a container")
	}
	out := p.perstack("run", "worker", "two", "--continue-job", job).must(t, 0)
	if !ranInContainer(out.events) || strings.Contains(out.stderr, open) {
		t.Errorf("a job that began in a container was continued without one: %s", out.stderr)
	}
	p.env = local
	out = p.perstack("run", "worker", "three", "--continue-job", job, "--runtime", "local").must(t, 0)
	if ranInContainer(out.events) || !strings.Contains(out.stderr, open) {
		t.Errorf("it is not said that there is no container: %s", out.stderr)
	}
	if got := p.ran(job); !slices.Equal(got, []string{"docker", "docker", "local"}) {
		t.Errorf("the journal says %v", got)
	}

	other := p.job()
	p.perstack("run", "worker", "four", "--job-id", other).must(t, 0)
	p.env = behind
	out = p.run("worker", "five", "--continue-job", other).must(t, 0)
	if !ranInContainer(out.events) || strings.Contains(out.stderr, open) {
		t.Errorf("a local job was not continued in the container: %s", out.stderr)
	}
	if got := p.ran(other); !slices.Equal(got, []string{"local", "docker"}) {
		t.Errorf("the journal says %v", got)
	}
}

// TestTwoAtOnce runs two jobs in one directory at the same time. Neither touches what the
// other has on the daemon; and no other process can continue a job that still runs.
func TestTwoAtOnce(t *testing.T) {
	t.Parallel()
	p := newProject(t, "", map[string]string{"perstack.toml": worker})
	p.scouting()
	var script strings.Builder
	for _, name := range []string{"left", "right"} {
		script.WriteString("[[turn]]\nquery = \"" + name + "\"\n" + command(t, "./scoutd", "meet", name, "go") + "[[turn]]\nquery = \"" + name + "\"\ntext = \"Met.\"\n")
	}
	p.serve(script.String())
	left, right := p.job(), p.job()
	a, b := p.start("worker", "left", "--job-id", left), p.start("worker", "right", "--job-id", right)
	p.awaitFile(a, "left")
	p.awaitFile(b, "right")
	before := append(leftovers(t, jobLabel(left)), leftovers(t, jobLabel(right))...)
	inspect(t, left) // two containers each
	inspect(t, right)

	out := p.run("worker", "again", "--continue-job", left)
	if out.code == 0 || !strings.Contains(out.stderr, "is being written by another process") {
		t.Errorf("a job that runs was continued: exit code %d\n%s", out.code, out.stderr)
	}
	if out := p.run("worker", "again", "--job-id", left); out.code == 0 {
		t.Errorf("a job that runs was begun again\n%s", out.stderr)
	}
	after := append(leftovers(t, jobLabel(left)), leftovers(t, jobLabel(right))...)
	slices.Sort(before)
	slices.Sort(after)
	if !slices.Equal(before, after) {
		t.Errorf("on the daemon were\n%s\nand are\n%s", strings.Join(before, "\n"), strings.Join(after, "\n"))
	}

	p.write("go", nil, 0o644)
	for _, s := range []*started{a, b} {
		if code := s.end(); code != 0 || !strings.Contains(s.stdout(), `"type":"completeRun"`) {
			t.Errorf("exit code %d\n%s", code, s.stderr())
		}
	}
	p.checkNothingLeft()
	for _, job := range []string{left, right} {
		p.perstack("log", job, "--verify").must(t, 0)
		if got := p.ran(job); !slices.Equal(got, []string{"docker"}) {
			t.Errorf("job %s has runs %v", job, got)
		}
	}
}

// TestFailedCheckStopsTheRun gives the proxy a hole that the self-test finds: the host that must be
// refused is the provider's. Nothing runs then, and the key does not leave.
func TestFailedCheckStopsTheRun(t *testing.T) {
	t.Parallel()
	p := newProject(t, "", map[string]string{"perstack.toml": worker})
	// Behind a proxy that does not answer, so that the world hears nothing of it: other
	// tests look at who came.
	p.env = append(p.env, "ANTHROPIC_BASE_URL=https://outside.selftest.example/v1", "PERSTACK_PROXY_URL=http://"+p.world.Web.String()+":9")
	job := p.job()
	out := p.run("worker", "go", "--job-id", job)
	if out.code != 1 || !strings.Contains(out.stderr, "proxy") {
		t.Errorf("exit code %d\n%s", out.code, out.stderr)
	}
	failed := false
	for _, e := range out.events {
		if b, ok := e.Body.(event.SandboxCheck); ok && !b.OK && b.Check == "proxy" {
			failed = true
		}
		if _, ok := e.Body.(event.StartGeneration); ok {
			t.Error("the model was asked")
		}
	}
	if !failed {
		t.Errorf("the check of the proxy did not fail: %s", tail(out.stdout, 3000))
	}
	p.checkNothingLeft()
}
