package narrate

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/job"
	"github.com/perstack-go/perstack/rawjson"
)

// startIn is the start of a job with some isolation.
func startIn(t *testing.T, runtime string, reach job.Reach) event.Body {
	t.Helper()
	spec, err := job.Spec{Settings: job.Settings{Runtime: runtime, Isolation: job.Isolation{Reach: reach}}}.Recorded()
	if err != nil {
		t.Fatal(err)
	}
	return event.StartRun{Spec: spec}
}

// blockedRow is the only row of an event, with its remedy.
func blockedRow(t *testing.T, start, body event.Body) string {
	t.Helper()
	rows := script(new(Narrator), start, body)
	if len(rows) != 1 {
		t.Fatalf("%+v: rows %+v", body, rows)
	}
	text := show(rows)[0]
	if r := rows[0].Remedy; r != nil {
		text += fmt.Sprintf(" > domain %q read %q write %q", r.Domain, r.Read, r.Write)
		if r.Table != nil {
			text += fmt.Sprintf(" host %q of %q %q", r.Host, r.Table.Expert, r.Table.Skill)
		}
	}
	return text
}

func TestBlockedConnections(t *testing.T) {
	listed := job.Reach{}
	refused := func(reason, listener, command string) event.ProxyAccess {
		return event.ProxyAccess{Action: "blocked", Domain: "a.example", Port: 443, Reason: reason, Listener: listener, Command: command}
	}
	for _, c := range []struct {
		runtime string
		reach   job.Reach
		body    event.ProxyAccess
		want    string
	}{
		{job.Local, listed, refused("domain", "dev "+event.BaseSkill, "npm"),
			`R Sandbox blocked network a.example:443, command npm > domain "a.example" read "" write "" host "a.example" of "dev" "@perstack/base"`},
		{job.Local, listed, refused("domain", "dev "+event.BaseSkill, ""),
			`R Sandbox blocked network a.example:443, commands of dev > domain "a.example" read "" write "" host "a.example" of "dev" "@perstack/base"`},
		{job.Local, listed, refused("domain", "dev web", ""),
			`R Sandbox blocked network a.example:443, skill web of dev > domain "" read "" write "" host "a.example" of "dev" "web"`},
		{job.Local, listed, refused("method", "dev "+event.BaseSkill, "curl"),
			`R Sandbox blocked network a.example:443, command curl | only CONNECT is answered, plain http does not pass`},
		{job.Local, job.Reach{Network: job.NetworkNone}, refused("domain", "dev "+event.BaseSkill, "npm"),
			`R Sandbox blocked network a.example:443, command npm | the network of sandboxes is turned off`},
		{job.Docker, listed, refused("domain", "dev "+event.BaseSkill, ""),
			`R Network blocked a.example:443 | commands of dev: it is not in allowedDomains`},
	} {
		if d := cmp.Diff(c.want, blockedRow(t, startIn(t, c.runtime, c.reach), c.body)); d != "" {
			t.Errorf("-want +got\n%s", d)
		}
	}
}

func TestHints(t *testing.T) {
	hint := func(kind, path, host, skill, message string) event.SandboxHint {
		return event.SandboxHint{Kind: kind, Path: path, Host: host, SkillName: skill, Command: "tool", Message: message}
	}
	local := startIn(t, job.Local, job.Reach{Read: []string{"/srv/data"}})
	docker := startIn(t, job.Docker, job.Reach{})
	for _, c := range []struct {
		start event.Body
		body  event.SandboxHint
		want  string
	}{
		{local, hint("outside", "/home/ann/datasets/a.csv", "", event.BaseSkill, "/home/ann/datasets/a.csv is outside the sandbox"),
			`R Sandbox /home/ann/datasets/a.csv is outside the sandbox, command tool > domain "" read "/home/ann/datasets" write ""`},
		{local, hint("outside", "/home/ann/datasets", "", event.BaseSkill, "/home/ann/datasets is outside the sandbox"), // never a whole home
			`R Sandbox /home/ann/datasets is outside the sandbox, command tool > domain "" read "/home/ann/datasets" write ""`},
		{local, hint("outside", "/mnt/a/b", "", "web", "/mnt/a/b is outside the sandbox"),
			`R Sandbox /mnt/a/b is outside the sandbox, skill web > domain "" read "/mnt/a/b" write ""`},
		{docker, hint("outside", "/mnt/a/b/c", "", event.BaseSkill, "/mnt/a/b/c is outside the sandbox"),
			`R Sandbox /mnt/a/b/c is outside the sandbox, command tool`},
		{local, hint("hidden", "sub/.env.local", "", event.BaseSkill, "sub/.env.local is hidden from commands"),
			`R Sandbox sub/.env.local is hidden from commands; pass single variables with requiredEnv`},
		{local, hint("hidden", "keys/a.pem", "", event.BaseSkill, "keys/a.pem is hidden from commands"),
			`R Sandbox keys/a.pem is hidden from commands`},
		{local, hint("readonly", "perstack.toml", "", event.BaseSkill, "perstack.toml is read-only in the sandbox"),
			`R Sandbox perstack.toml is read-only in the sandbox, command tool`},
		{local, hint("readonly", "/srv/data/x/y", "", event.BaseSkill, "/srv/data/x/y is read-only in the sandbox"),
			`R Sandbox /srv/data/x/y is read-only in the sandbox, command tool > domain "" read "" write "/srv/data"`},
		{local, hint("readonly", "/srv/database", "", event.BaseSkill, "/srv/database is read-only in the sandbox"),
			`R Sandbox /srv/database is read-only in the sandbox, command tool`},
		{local, hint("gitconfig", ".git/config", "", event.BaseSkill, ".git/config is protected"), `R Sandbox .git/config is protected`},
		{local, hint("network", "", "a.example", event.BaseSkill, "why"), `R Sandbox blocked network a.example, command tool | why`},
		{local, hint("network", "", "", "", "why"), `R Sandbox blocked network (host unknown), command tool | why`},
		{local, hint("of a later version", "", "", event.BaseSkill, "something else"), `R Sandbox something else, command tool`},
	} {
		if d := cmp.Diff(c.want, blockedRow(t, c.start, c.body)); d != "" {
			t.Errorf("-want +got\n%s", d)
		}
	}
}

// What the model hears of the sandbox in a container is shown with its command: there are no events
// about it. With the runtime local, there are.
func TestHintsInContainer(t *testing.T) {
	c := event.ToolCall{ID: "c1", SkillName: event.BaseSkill, ToolName: "exec", Args: rawjson.Value(`{"command":"cat","args":["/mnt/a"]}`)}
	failed := ended(c, `{"error":"command failed with exit code 1","stderr":"cat: /mnt/a: Permission denied\n","hints":["/mnt/a is outside the sandbox"]}`)
	failed.ToolResult.IsError = true
	for runtime, want := range map[string]bool{job.Docker: true, job.Local: false} {
		all := strings.Join(show(script(new(Narrator), startIn(t, runtime, job.Reach{}), turn("", "", c), failed)), "\n")
		if strings.Contains(all, "sandbox: /mnt/a is outside the sandbox") != want {
			t.Errorf("%s: %s", runtime, all)
		}
	}
}
