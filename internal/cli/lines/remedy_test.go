package lines

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/internal/egress"
	"github.com/perstack-go/perstack/internal/narrate"
	"github.com/perstack-go/perstack/job"
)

// What a sandbox blocked is shown with the lines that allow it, which are never cut: they are copied.
func TestBlocked(t *testing.T) {
	spec, err := job.Spec{Settings: job.Settings{Runtime: job.Local}}.Recorded()
	if err != nil {
		t.Fatal(err)
	}
	of := func(body event.Body) event.Event { return event.Event{JobID: "job1", RunID: "r1", Body: body} }
	hint := func(kind, path, command string) event.Event {
		return of(event.SandboxHint{Kind: kind, Path: path, SkillName: event.BaseSkill, Command: command, Message: path + map[string]string{"outside": " is outside the sandbox", "hidden": " is hidden from commands"}[kind]})
	}
	access := event.ProxyAccess{Action: "blocked", Domain: "registry.example.com", Port: 443, Reason: egress.ReasonDomain, Listener: "dev " + event.BaseSkill, Command: "npm"}
	long := "/srv/" + strings.Repeat("directory/", 30)
	got := emit(t, Options{},
		event.Event{JobID: "job1", RunID: "r1", ExpertKey: "dev", StepNumber: 1, Body: event.StartRun{Spec: spec}},
		of(access),
		hint("outside", "/home/ann/datasets/a.csv", "python3"),
		hint("outside", "/home/ann/my data/x/a.csv", "python3"),
		hint("hidden", ".env", "cat"),
		hint("outside", long+"x", "cat"),
	)
	want := []string{
		"",
		"● Sandbox blocked network registry.example.com:443, command npm\n" +
			"  └ allow:  --allow-domain registry.example.com\n" +
			"    always: allowedDomains = [\"registry.example.com\"] in [experts.dev.skills.\"@perstack/base\"]\n",
		"● Sandbox /home/ann/datasets/a.csv is outside the sandbox, command python3\n  └ allow:  --sandbox-read /home/ann/datasets\n",
		"● Sandbox /home/ann/my data/x/a.csv is outside the sandbox, command python3\n  └ allow:  --sandbox-read '/home/ann/my data/x'\n",
		"● Sandbox .env is hidden from commands; pass single variables with requiredEnv\n",
	}
	if d := cmp.Diff(want, got[:len(want)]); d != "" {
		t.Errorf("-want +got\n%s", d)
	}
	if last := got[len(want)]; !strings.Contains(last, "--sandbox-read "+strings.TrimSuffix(long, "/")+"\n") {
		t.Errorf("cut: %s", last)
	}
}

func TestRemedies(t *testing.T) {
	for want, r := range map[string]*narrate.Remedy{
		"": nil,
		"allow:  --sandbox-read '/a b'|allow:  --sandbox-write /c":                                                   {Read: "/a b", Write: "/c"},
		`always: allowedDomains = ["a.example"] in [experts."@acme/dev".skills.web]`:                                 {Host: "a.example", Table: &narrate.Table{Expert: "@acme/dev", Skill: "web"}},
		`allow:  --allow-domain a.example|always: allowedDomains = ["a.example"] in [experts.dev.skills."my skill"]`: {Domain: "a.example", Host: "a.example", Table: &narrate.Table{Expert: "dev", Skill: "my skill"}},
	} {
		if got := strings.Join(Remedies(r), "|"); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}
