//go:build linux

package docker

import (
	"bytes"
	"context"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/moby/moby/client"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/internal/testkit"
	"github.com/perstack-go/perstack/internal/testkit/daemon"
	"github.com/perstack-go/perstack/internal/testkit/mutant"
)

// permission has an Expert that needs permission to append to a file.
const permission = worker + "[[rules]]\ntool = \"appendTextFile\"\ndo = \"ask\"\nwhy = \"it is kept for ever\"\n"

const effects = "effects.txt"

func appends(t *testing.T, text string) string {
	t.Helper()
	return call(t, "appendTextFile", map[string]any{"path": effects, "text": text + "\n"})
}

// askingProject has a model that appends a line, and then says that it is done.
func askingProject(t *testing.T) *project {
	t.Helper()
	p := newProject(t, "", map[string]string{"perstack.toml": permission, effects: ""})
	p.serve("[[turn]]\ntext = \"I write it down.\"\n" + appends(t, "line") + "[[turn]]\ntext = \"Done.\"\n")
	return p
}

// waiting returns the ids of the calls of a job that wait.
func (p *project) waiting(job string) (ids []string) {
	p.t.Helper()
	cmd := p.command("approvals", job, "--json")
	out, err := cmd.Output()
	if err != nil {
		p.t.Fatalf("approvals: %v", err)
	}
	for line := range strings.Lines(string(out)) {
		var w struct {
			Call event.ToolCall `json:"call"`
		}
		if err := json.Unmarshal([]byte(line), &w); err != nil {
			p.t.Fatalf("%v in %s", err, line)
		}
		ids = append(ids, w.Call.ID)
	}
	return ids
}

// journalOf returns the recorded bodies of a kind.
func journalOf[T event.Body](p *project, job string) (all []T) {
	p.t.Helper()
	for line := range bytes.Lines(p.journal(job)) {
		var record struct {
			Event jsontext.Value `json:"event"`
		}
		err := json.Unmarshal(line, &record)
		var e event.Event
		if err == nil {
			e, err = event.Unmarshal(record.Event)
		}
		if err != nil {
			p.t.Fatalf("%v in %s", err, line)
		}
		if b, ok := e.Body.(T); ok {
			all = append(all, b)
		}
	}
	return all
}

// ranTimes checks how often a call has run, by its effect and by the journal.
func (p *project) ranTimes(job string, want int) {
	p.t.Helper()
	if got := string(p.read(effects)); got != strings.Repeat("line\n", want) {
		p.t.Errorf("%s has %q, want %d lines", effects, got, want)
	}
	if starts := journalOf[event.StartToolCall](p, job); len(starts) != want {
		p.t.Errorf("%d calls started, want %d", len(starts), want)
	}
}

// nothingRuns checks that a job has nothing on the daemon while it waits.
func (p *project) nothingRuns(job string) {
	p.t.Helper()
	if left := leftovers(p.t, jobLabel(job)); len(left) > 0 {
		p.t.Errorf("left: %v", left)
	}
}

// Without a terminal, a job in a container waits without a container. The answer comes from another
// process.
func TestApprovalHeadless(t *testing.T) {
	t.Parallel()
	p := askingProject(t)
	job := p.job()
	out := p.run("worker", "go", "--job-id", job).must(t, 4)
	if !strings.Contains(out.stderr, "waiting for your permission for 1 tool call") {
		t.Errorf("it says %s", out.stderr)
	}
	p.nothingRuns(job)
	p.ranTimes(job, 0)
	ids := p.waiting(job)
	if len(ids) != 1 {
		t.Fatalf("waiting: %v", ids)
	}
	p.perstack("approve", job, ids[0], "--resume").must(t, 0)
	p.nothingRuns(job)
	p.ranTimes(job, 1)
	if starts := journalOf[event.StartToolCall](p, job); starts[0].AllowedBy != event.ByUser {
		t.Errorf("allowed by %q", starts[0].AllowedBy)
	}
	if out := p.perstack("approve", job, ids[0]).must(t, 1); !strings.Contains(out.stderr, "does not wait for an answer") {
		t.Errorf("the second answer: %s", out.stderr)
	}
	p.perstack("log", job, "--verify").must(t, 0)
}

// An answer that comes while the container of a job is removed is recorded then, and the job resumed.
func TestApprovalAtTheEnd(t *testing.T) {
	t.Parallel()
	p := askingProject(t)
	job := p.job()
	s := p.start("worker", "go", "--job-id", job)
	s.mustAwait(`"type":"stopRunByApproval"`)
	p.perstack("approve", job, p.waiting(job)[0], "--resume").must(t, 0)
	if code := s.end(); code != 4 {
		t.Errorf("exit code %d: %s", code, s.stderr())
	}
	p.ranTimes(job, 1)
}

// The model is told why a call was denied.
func TestApprovalDenied(t *testing.T) {
	t.Parallel()
	p := newProject(t, "", map[string]string{"perstack.toml": permission, effects: ""})
	p.serve("[[turn]]\ncontains = \"denied by the user: use staging\"\ntext = \"I shall.\"\n[[turn]]\n" + appends(t, "line"))
	job := p.job()
	p.run("worker", "go", "--job-id", job).must(t, 4)
	out := p.perstack("deny", job, p.waiting(job)[0], "--reason", "use staging", "--resume").must(t, 0)
	if !strings.Contains(out.stdout, "I shall.") {
		t.Errorf("the model answered otherwise: %s", tail(out.stdout, 2000))
	}
	p.ranTimes(job, 0)
}

const keys = "? help\r\n> " // the end of a question

// running is a run of a job in a container, for a terminal.
func (p *project) running(job string) *exec.Cmd {
	ctx, cancel := context.WithTimeout(p.t.Context(), 3*time.Minute)
	p.t.Cleanup(cancel)
	cmd := exec.CommandContext(ctx, daemon.Binary(p.t), "run", "--runtime", "docker", "worker", "go", "--job-id", job)
	cmd.Dir, cmd.Env = p.dir, append(slices.Clip(p.env), "NO_COLOR=1")
	return cmd
}

// onTerminal runs a command on a terminal, and returns what it showed.
func onTerminal(t *testing.T, cmd *exec.Cmd, code int, answers ...testkit.Answer) string {
	t.Helper()
	out, err := testkit.OnTerminal(cmd, answers...)
	if got := exitCode(t, err); got != code {
		t.Errorf("exit code %d, want %d\n%s", got, code, tail(string(out), 3000))
	}
	return string(out)
}

// A job in a container is answered while it runs: on its terminal, or in another process. The first
// answer counts.
func TestApprovalWhileRunning(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		answer func(p *project, job string) []testkit.Answer
		shown  string
		runs   int
	}{
		"on the terminal": {func(*project, string) []testkit.Answer { return testkit.Press("y") }, "  | I write it down.", 1},
		"allowed elsewhere": {func(p *project, job string) []testkit.Answer {
			return []testkit.Answer{{After: keys, Before: func() {
				id := p.waiting(job)[0]
				p.perstack("approve", job, id).must(p.t, 0)
				p.perstack("deny", job, id).must(p.t, 1)
			}}}
		}, "The question is closed.", 1},
		"denied elsewhere": {func(p *project, job string) []testkit.Answer {
			return []testkit.Answer{{After: keys, Before: func() {
				id := p.waiting(job)[0]
				p.perstack("deny", job, id, "--reason", "use staging").must(p.t, 0)
				p.perstack("approve", job, id).must(p.t, 1)
			}}}
		}, "denied by the user: use staging", 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := askingProject(t)
			job := p.job()
			screen := onTerminal(t, p.running(job), 0, tt.answer(p, job)...)
			for _, text := range []string{tt.shown, "Why", "it is kept for ever", "Done."} {
				if !strings.Contains(screen, text) {
					t.Errorf("%q is not on the screen:\n%s", text, tail(screen, 3000))
				}
			}
			p.ranTimes(job, tt.runs)
			if answers := journalOf[event.ApprovalAnswered](p, job); len(answers) != 1 || answers[0].Allow != (tt.runs > 0) {
				t.Errorf("recorded %+v", answers)
			}
			p.nothingRuns(job)
		})
	}
}

// Without a terminal, an answer to a delegate that waits is used as long as another one works.
func TestApprovalWhileOthersWork(t *testing.T) {
	t.Parallel()
	p := newProject(t, "", map[string]string{
		"perstack.toml": strings.Replace(permission, "[[rules]]", "delegates = [\"helper\", \"other\"]\n[experts.helper]\ninstruction = \"Help.\"\n[experts.other]\ninstruction = \"Wait.\"\n[[rules]]", 1), effects: "",
	})
	p.serve("[[turn]]\nquery = \"go\"\n" + call(t, "helper", map[string]any{"query": "append"}) + call(t, "other", map[string]any{"query": "wait"}) +
		"[[turn]]\nquery = \"go\"\ntext = \"Done.\"\n" +
		"[[turn]]\nquery = \"append\"\n" + appends(t, "line") + "[[turn]]\nquery = \"append\"\ntext = \"Appended.\"\n" +
		"[[turn]]\nquery = \"wait\"\n" + command(t, "./probed", "await", "go") + "[[turn]]\nquery = \"wait\"\ntext = \"Waited.\"\n")
	job := p.job()
	s := p.start("worker", "go", "--job-id", job)
	s.mustAwait(`"type":"stopRunByApproval"`)
	id := p.waiting(job)[0]
	p.perstack("approve", job, id).must(t, 0)
	p.perstack("approve", job, id).must(t, 1)
	p.write("go", nil, 0o644)
	if code := s.end(); code != 0 {
		t.Fatalf("exit code %d\n%s", code, s.stderr())
	}
	if got := string(p.read(effects)); got != "line\n" {
		t.Errorf("%s has %q", effects, got)
	}
}

// One answer is enough for 20 equal calls, and one for the project for those of later jobs.
func TestApprovalForMany(t *testing.T) {
	t.Parallel()
	p := newProject(t, "", map[string]string{"perstack.toml": permission, effects: ""})
	ten := strings.Repeat(appends(t, "line"), 10)
	p.serve("[[turn]]\n" + ten + "[[turn]]\n" + ten + "[[turn]]\ntext = \"Done.\"\n")
	job := p.job()
	screen := onTerminal(t, p.running(job), 0, testkit.Press("a")...)
	if n := strings.Count(screen, "Allow this change?"); n != 1 {
		t.Errorf("%d questions\n%s", n, tail(screen, 3000))
	}
	p.ranTimes(job, 20)
	if answers := journalOf[event.ApprovalAnswered](p, job); len(answers) != 1 || answers[0].Scope != event.ScopeJob {
		t.Errorf("recorded %+v", answers)
	}

	p.write(effects, nil, 0o644)
	second, third := p.job(), p.job()
	p.run("worker", "go", "--job-id", second).must(t, 4) // it was for the first job
	p.perstack("approve", second, p.waiting(second)[0], "--for", "project", "--resume").must(t, 0)
	p.ranTimes(second, 20)
	p.write(effects, nil, 0o644)
	p.run("worker", "go", "--job-id", third).must(t, 0)
	p.ranTimes(third, 20)
}

// perstack is killed between the answer and the call, while the container stands still. The resumed
// job runs the call once, without another question, and removes the container.
func TestKilledAfterTheAnswer(t *testing.T) {
	t.Parallel()
	p := askingProject(t)
	job := p.job()
	cmd := p.running(job)
	onTerminal(t, cmd, -1, testkit.Answer{After: keys, Before: func() {
		if _, err := daemon.Need(t).ContainerPause(t.Context(), inspect(t, job).find(t, "runtime").ID, client.ContainerPauseOptions{}); err != nil {
			t.Error(err)
		}
		p.perstack("approve", job, p.waiting(job)[0]).must(t, 0)
		if err := cmd.Process.Kill(); err != nil {
			t.Error(err)
		}
	}})
	p.ranTimes(job, 0)
	if answers := journalOf[event.ApprovalAnswered](p, job); len(answers) != 1 || !answers[0].Allow {
		t.Fatalf("recorded %+v", answers)
	}
	p.run("--continue-job", job).must(t, 0)
	p.ranTimes(job, 1)
	p.nothingRuns(job)
	p.perstack("log", job, "--verify").must(t, 0)
}

// The lists of the proxy do not change while a job runs, so no one is asked about a host.
func TestHostsAreNotAskedAbout(t *testing.T) {
	t.Parallel()
	p := newProject(t, "", map[string]string{"perstack.toml": worker + "[[rules]]\nhost = \"unlisted.test\"\ndo = \"ask\"\n"})
	p.serve("[[turn]]\n" + command(t, "./probed", "hold", "unlisted.test", "reached", "reached") + "[[turn]]\ntext = \"Done.\"\n")
	for _, flags := range [][]string{nil, {"--allow-all"}} {
		job := p.job()
		cmd := p.running(job)
		cmd.Args = append(cmd.Args, flags...)
		screen := onTerminal(t, cmd, 0)
		if !strings.Contains(screen, "unlisted.test") || strings.Contains(screen, "Allow a connection") {
			t.Errorf("%v shows\n%s", flags, tail(screen, 3000))
		}
		if asked := journalOf[event.ApprovalRequested](p, job); len(asked) != 0 {
			t.Errorf("%v: asked %+v", flags, asked)
		}
		if refused := journalOf[event.ProxyAccess](p, job); !slices.ContainsFunc(refused, func(a event.ProxyAccess) bool {
			return a.Action == "blocked" && a.Domain == "unlisted.test" && a.Reason == "domain"
		}) {
			t.Errorf("%v: the proxy says %+v", flags, refused)
		}
	}
}

// A hostile program in the container does not get a call past the host: the job ends, the journal has
// neither the call nor its result, and an honest program asks.
func TestGuestDecidesItself(t *testing.T) {
	if testing.Short() {
		t.Skip("it builds perstack several times")
	}
	need(t)
	const (
		approvals, journal, conn = "internal/runtimes/docker/hostlink/approvals.go", "internal/runtimes/docker/hostlink/store.go", "internal/runtimes/docker/hostlink/conn.go"

		decide  = "\tquery := CallQuery{RunID: request.RunID, CallID: request.Call.ID, Tool:"
		ask     = "\tquery := CallQuery{RunID: request.RunID, CallID: request.Question.ID}\n"
		record  = "\tbody, err := event.Marshal(e)\n"
		request = "\tc.mu.Lock()\n\tif c.over {\n"
	)
	for name, m := range map[string]struct {
		file, before, added, said string
		effect                    int // of the call, in the workspace that the container can write to
	}{
		"it allows the call": {approvals, decide, `
			if ctx.Err() == nil {
				return engine.Decision{Do: job.Allow, By: event.ByUser}
			}
		`, "it starts a call that was not allowed", 0},
		"it answers for the user": {approvals, ask, `
			if request.Approval != nil {
				return event.Answer{Allow: true}, nil
			}
		`, "it reports an answer that the user did not give", 0},
		"it asks without a question in the journal": {journal, record, `
			if _, ok := e.Body.(event.ApprovalRequested); ok {
				return store.Record{Event: e}, nil
			}
		`, "it asks the user about a call that does not wait", 0},
		"it carries out the call unseen": {conn, request, `
			up := request(0)
			if up.Decide != nil {
				return Done{Decision: &Decision{Do: "allow"}}, nil
			}
			if up.Append != nil {
				const kind = "\"type\":\"startToolCall\""
				for text := string(up.Append.Event); len(text) >= len(kind); text = text[1:] {
					if text[:len(kind)] == kind {
						return Done{}, nil
					}
				}
			}
		`, "it reports what a call did that has not started", 1},
	} {
		t.Run(name, func(t *testing.T) {
			p := askingProject(t)
			honest := p.env
			p.env = append(slices.Clip(p.env), "PERSTACK_LINUX_BINARY="+mutant.Build(t, m.file, m.before, m.added+m.before))
			job := p.job()
			s := p.start("worker", "go", "--job-id", job)
			for _, id := range p.imagesUntilEnd(s, job) { // no other program uses them
				defer daemon.RemoveImage(t, daemon.Need(t), id)
			}
			if code := s.end(); code != 1 || !strings.Contains(s.stderr(), m.said) {
				t.Errorf("exit code %d: %s", code, s.stderr())
			}
			p.nothingRuns(job)
			if got := strings.Count(string(p.read(effects)), "line\n"); got != m.effect {
				t.Errorf("the call ran %d times", got)
			}
			if starts, ends := journalOf[event.StartToolCall](p, job), journalOf[event.EndToolCall](p, job); len(starts) != 0 || len(ends) != 0 {
				t.Errorf("the journal has %+v and %+v", starts, ends)
			}
			p.env = honest
			p.run("--continue-job", job).must(t, 4)
		})
	}
}

// imagesUntilEnd waits for the end of a job, and returns the images of its containers.
func (p *project) imagesUntilEnd(s *started, job string) (images []string) {
	p.t.Helper()
	api := daemon.Need(p.t)
	for !s.ended() {
		found, err := api.ContainerList(p.t.Context(), client.ContainerListOptions{All: true, Filters: make(client.Filters).Add("label", jobLabel(job))})
		if err != nil {
			p.t.Fatal(err)
		}
		for _, c := range found.Items {
			images = append(images, c.ImageID)
		}
		time.Sleep(10 * time.Millisecond)
	}
	slices.Sort(images)
	return slices.Compact(images)
}
