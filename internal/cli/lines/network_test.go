package lines

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/expert"
	"github.com/perstack-go/perstack/internal/egress"
	"github.com/perstack-go/perstack/job"
)

func blocked(domain, reason, listener string) event.Event {
	return event.Event{JobID: "job1", RunID: "r1", Body: event.ProxyAccess{Action: "blocked", Domain: domain, Port: 443, Reason: reason, Listener: listener}}
}

// A refusal is always shown, with its skill and the reason; what is allowed, to users who
// ask for everything. A failed check of the isolation is shown.
func TestSandbox(t *testing.T) {
	of := func(body event.Body) event.Event { return event.Event{JobID: "job1", RunID: "r1", Body: body} }
	events := []event.Event{
		of(event.DockerContainerStatus{Service: "proxy", Status: "healthy", Message: "all listeners listen"}),
		of(event.SandboxCheck{Check: "dns", OK: true, Message: "nobody answers"}),
		of(event.ProxyAccess{Action: "allowed", Domain: "api.example", Port: 443, Listener: "engine"}),
		blocked("evil.example", egress.ReasonDomain, "lead web"),
		blocked("evil.example", egress.ReasonDomain, "engine"),
		of(event.SandboxCheck{Check: "gateway", Message: "10.0.0.1 answers"}),
		of(event.SandboxCheck{Check: "seccomp"}),
		of(event.DockerContainerStatus{Service: "runtime", Status: "unhealthy", Message: "a check failed"}),
		of(event.DockerContainerStatus{Service: "runtime", Status: "error"}),
		of(event.DockerContainerStatus{Service: "runtime", Status: "stopped"}),
	}
	refused := []string{
		"● Network blocked evil.example:443\n  └ skill web of lead: it is not in allowedDomains\n",
		"● Network blocked evil.example:443\n  └ the engine: it is not a host of the provider or of a remote skill\n",
		"● Sandbox gateway failed\n  └ 10.0.0.1 answers\n",
		"● Sandbox seccomp failed\n  └ The check failed.\n",
		"● Container runtime unhealthy\n  └ a check failed\n",
		"● Container runtime error\n",
	}
	all := append([]string{
		"● Container proxy healthy\n  └ all listeners listen\n",
		"● Sandbox dns\n  └ nobody answers\n",
		"● Network allowed api.example:443\n  └ the engine\n",
	}, append(refused, "● Container runtime stopped\n")...)
	few := append([]string{"", "", ""}, append(refused, "")...)
	for verbose, want := range map[bool][]string{false: few, true: all} {
		if diff := cmp.Diff(want, emit(t, Options{Verbose: verbose}, events...)); diff != "" {
			t.Errorf("verbose %v (-want +got):\n%s", verbose, diff)
		}
	}
}

// That skills run in sandboxes is said once, and only if everything is wanted; that they share one, as what it is.
func TestSandboxes(t *testing.T) {
	spec, err := job.Spec{Settings: job.Settings{Isolation: job.Isolation{Sandbox: expert.SandboxLandlock}}}.Recorded()
	if err != nil {
		t.Fatal(err)
	}
	start := event.Event{JobID: "job1", RunID: "r1", ExpertKey: "lead", StepNumber: 1, Body: event.StartRun{Spec: spec}}
	shared := event.Event{JobID: "job1", RunID: "r1", Body: event.SandboxCheck{Check: "sandboxes", OK: true, Message: "not wanted: all skills share one"}}
	told := "● Sandbox each skill runs in a sandbox of its own, and so do commands (level landlock)\n"
	if diff := cmp.Diff([]string{"", "", ""}, emit(t, Options{}, start, start, shared)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{told, ""}, emit(t, Options{Verbose: true}, start, start)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"● Sandbox sandboxes skipped\n  └ all skills share one\n"}, emit(t, Options{Verbose: true}, shared)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// A program that knocks for hours does not fill the screen, and is not forgotten.
func TestRepeatedRefusals(t *testing.T) {
	var events []event.Event
	for range 250 {
		events = append(events, blocked("evil.example", egress.ReasonDomain, "lead web"))
	}
	events = append(events, blocked("other.example", egress.ReasonDomain, "lead web"), blocked("evil.example", egress.ReasonPort, "lead web"), blocked("evil.example", egress.ReasonDomain, "lead "+event.BaseSkill))
	var shown []string
	for _, text := range emit(t, Options{}, events...) {
		if head, _, _ := strings.Cut(text, "\n"); head != "" {
			shown = append(shown, head)
		}
	}
	want := []string{
		"● Network blocked evil.example:443", "● Network blocked evil.example:443, 10 times", "● Network blocked evil.example:443, 100 times",
		"● Network blocked other.example:443", "● Network blocked evil.example:443", "● Network blocked evil.example:443",
	}
	if diff := cmp.Diff(want, shown); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
