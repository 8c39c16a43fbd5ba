//go:build linux

package docker

import (
	"fmt"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/internal/testkit/llm"
)

// A scenario is something that a user does with a job, in one or more calls.
type scenario struct {
	name   string
	config string
	script func(t *testing.T) string
	docker string // settings
	calls  []scene
}

// A scene is one call of perstack run. {job} stands for the job, {checkpoint} for the
// first checkpoint that was seen.
type scene struct {
	args string
	code int
}

const asking = `[experts.worker]
instruction = "Work."
[experts.worker.skills.user]
type = "interactiveSkill"
[experts.worker.skills.user.tools.ask]
description = "Asks the user a question"
inputJsonSchema = '{"type":"object","properties":{"question":{"type":"string"}},"required":["question"]}'
`

const leading = `[experts.worker]
instruction = "Lead."
delegates = ["helper"]
[experts.helper]
description = "Helps."
instruction = "Help."
`

// scenarios are what works in the built-in runtime and has to work the same way here.
func scenarios(t *testing.T) []scenario {
	note := func(text string) string { return "[[turn]]\n" + command(t, "./probed", "append", "notes.txt", text) }
	return []scenario{
		{
			name: "continue", config: worker,
			script: func(*testing.T) string {
				return note("one") + "[[turn]]\ntext = \"First.\"\n" + note("two") + "[[turn]]\ntext = \"Second.\"\n"
			},
			calls: []scene{{"worker go --job-id {job}", 0}, {"worker more --continue", 0}},
		},
		{
			name: "resume from a checkpoint", config: worker,
			script: func(*testing.T) string {
				return note("one") + "[[turn]]\ncontains = \"another way\"\ntext = \"Forked.\"\n" + note("two") + "[[turn]]\ntext = \"Done.\"\n"
			},
			calls: []scene{{"worker go --job-id {job}", 0}, {"worker another\x00way --continue-job {job} --resume-from {checkpoint}", 0}},
		},
		{
			name: "question", config: asking,
			script: func(*testing.T) string {
				return "[[turn]]\n" + call(t, "ask", map[string]any{"question": "When?"}) + "[[turn]]\ntext = \"On Tuesday.\"\n"
			},
			calls: []scene{{"worker go --job-id {job}", 4}, {"worker Tuesday --continue-job {job} -i", 0}},
		},
		{
			name: "delegation", config: leading,
			script: func(*testing.T) string {
				return "[[turn]]\nsystem = \"Lead.\"\n" + call(t, "helper", map[string]any{"query": "help me"}) +
					"[[turn]]\nsystem = \"Help.\"\n" + command(t, "./probed", "append", "notes.txt", "helped") + "[[turn]]\nsystem = \"Help.\"\ntext = \"Helped.\"\n" +
					"[[turn]]\nsystem = \"Lead.\"\ntext = \"Led.\"\n"
			},
			calls: []scene{{"worker go --job-id {job}", 0}},
		},
		{
			name: "limit of steps", config: worker,
			script: func(*testing.T) string {
				return note("one") + note("two") + note("three") + "[[turn]]\ntext = \"Done.\"\n"
			},
			calls: []scene{{"worker go --job-id {job} --max-steps 2", 3}, {"--continue-job {job} --max-steps 9", 0}},
		},
		{
			name: "limit of time", config: worker, script: lingering,
			calls: []scene{{"worker go --job-id {job} --max-duration 2s", 3}},
		},
		{
			name: "limit of the workspace", config: worker,
			script: func(*testing.T) string {
				return "[[turn]]\n" + command(t, "./probed", "fill", "big", "100") + "[[turn]]\ntext = \"Filled.\"\n"
			},
			calls: []scene{{"worker go --job-id {job} --max-workspace-bytes 80000000", 3}},
		},
		{
			name: "error of the provider", config: worker,
			script: func(*testing.T) string { return "[[turn]]\n[turn.error]\nstatus = 400\nmessage = \"no\"\n" },
			calls:  []scene{{"worker go --job-id {job} --max-retries 0", 1}},
		},
		{
			name: "failing command", config: worker,
			script: func(*testing.T) string {
				return "[[turn]]\n" + command(t, "./probed", "nonsense") + command(t, "./none") + "[[turn]]\ntext = \"Seen.\"\n"
			},
			calls: []scene{{"worker go --job-id {job}", 0}},
		},
	}
}

// TestDockerAsLocal does the same in both runtimes and compares: exit codes, the events,
// what the commands left in the workspace.
func TestDockerAsLocal(t *testing.T) {
	t.Parallel()
	for _, s := range scenarios(t) {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			behind, here := s.play(t, true), s.play(t, false)
			if diff := cmp.Diff(here, behind); diff != "" {
				t.Errorf("the runtime docker differs from the built-in one (-local +docker):\n%s", diff)
			}
		})
	}
}

// play runs a scenario in a project of its own and returns what can be compared.
func (s scenario) play(t *testing.T, docker bool) (seen []string) {
	t.Helper()
	p := &project{t: t, keeps: !docker}
	p.fill(s.docker, map[string]string{"perstack.toml": s.config})
	job, checkpoint := p.job(), ""
	if docker {
		p.serve(s.script(t))
	} else {
		script, err := llm.Parse("script", []byte(p.keyed(s.script(t))))
		if err != nil {
			t.Fatal(err)
		}
		_, url := llm.Start(t, script)
		p.env = append(p.env, "ANTHROPIC_BASE_URL="+url)
	}
	for _, c := range s.calls {
		args := []string{"run"}
		if docker {
			args = append(args, "--runtime", "docker")
		}
		for _, a := range strings.Fields(strings.NewReplacer("{job}", job, "{checkpoint}", checkpoint).Replace(c.args)) {
			args = append(args, strings.ReplaceAll(a, "\x00", " "))
		}
		out := p.perstack(args...)
		if out.code != c.code {
			t.Fatalf("docker %v: perstack %v: exit code %d, want %d\n%s\n%s", docker, args, out.code, c.code, out.stderr, tail(out.stdout, 1500))
		}
		seen = append(seen, fmt.Sprintf("perstack %s: %d", c.args, out.code))
		for _, e := range out.events {
			if next, ok := e.Body.(event.ContinueToNextStep); ok && checkpoint == "" {
				checkpoint = next.Checkpoint.ID
			}
		}
		seen = append(seen, told(out.events)...)
	}
	if notes := p.perstack("log", job, "--verify"); notes.code != 0 {
		t.Errorf("docker %v: %s", docker, notes.stderr)
	}
	return append(seen, p.notes()...)
}

// told is the part of the events that must be the same in every runtime: what happened,
// to whom, at which step.
func told(events []event.Event) (seen []string) {
	for _, e := range events {
		if e.IsRuntime() || !e.IsKept() {
			continue
		}
		seen = append(seen, fmt.Sprintf("%s@%d %s", e.Type(), e.StepNumber, e.ExpertKey))
	}
	return seen
}

// notes are the lines that commands wrote.
func (p *project) notes() []string {
	p.t.Helper()
	data, err := readIfThere(p.dir, "notes.txt")
	if err != nil {
		p.t.Fatal(err)
	}
	return slices.Collect(strings.FieldsSeq(string(data)))
}

// TestInterrupt stops a run while a command works: it is saved, ends with the signal's
// code, and is resumed later. A second one ends it at once.
func TestInterrupt(t *testing.T) {
	t.Parallel()
	for signal, code := range map[syscall.Signal]int{syscall.SIGINT: 130, syscall.SIGTERM: 143} {
		t.Run(signal.String(), func(t *testing.T) {
			t.Parallel()
			p := newProject(t, "", map[string]string{"perstack.toml": worker})
			p.serve(lingering(t))
			job := p.job()
			s := p.start("worker", "go", "--job-id", job)
			p.awaitLingering(s)
			if err := s.Process.Signal(signal); err != nil {
				t.Fatal(err)
			}
			if got := s.end(); got != code {
				t.Errorf("exit code %d, want %d\n%s", got, code, s.stderr())
			}
			if !strings.Contains(s.stdout(), `"type":"stopRunByInterrupt"`) || !strings.Contains(s.stderr(), "--continue-job "+job) {
				t.Errorf("it does not say that it is saved: %s", s.stderr())
			}
			p.checkNothingLeft()
			out := p.run("--continue-job", job).must(t, 0)
			if !strings.Contains(out.stdout, `"type":"completeRun"`) {
				t.Error("it was not resumed")
			}
		})
	}
}

// TestOutOfMemory has a command take more memory than the container has. The command
// ends, or the container does; either way the reason is reported, and the job continues.
func TestOutOfMemory(t *testing.T) {
	t.Parallel()
	p := newProject(t, "memory = 134217728\nmemoryReservation = 33554432\n", map[string]string{"perstack.toml": worker})
	p.serve("[[turn]]\n" + command(t, "./probed", "eat", "400") + "[[turn]]\ntext = \"Survived.\"\n")
	job := p.job()
	out := p.run("worker", "go", "--job-id", job)
	switch out.code {
	case 0: // the kernel chose the command
		if !strings.Contains(out.stdout, "SIGKILL") && !strings.Contains(out.stdout, "killed") {
			t.Errorf("the model is not told that its command was killed: %s", tail(out.stdout, 2000))
		}
	case 1: // it chose the engine
		if !strings.Contains(out.stderr, "memory") {
			t.Errorf("the reason is not said: %s", out.stderr)
		}
		p.run("--continue-job", job).must(t, 0)
	default:
		t.Errorf("exit code %d\n%s", out.code, out.stderr)
	}
	p.perstack("log", job, "--verify").must(t, 0)
}
