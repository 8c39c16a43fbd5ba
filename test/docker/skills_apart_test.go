//go:build linux

package docker

import (
	"crypto/rand"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/internal/testkit/attack"
	"github.com/perstack-go/perstack/internal/testkit/attack/pack"
	"github.com/perstack-go/perstack/internal/testkit/daemon"
	"github.com/perstack-go/perstack/internal/testkit/node"
	specs "github.com/perstack-go/perstack/job"
)

// A skillsProject is a project whose skills attack one another: a hostile one, guest, and
// others.
type skillsProject struct {
	*project
	tag    string
	canary string // part of all secrets of the one who is attacked
	secret string
	script strings.Builder
	mine   map[string]string // files of the user's
}

// guestHost and homeHost are the hosts that the two may reach.
func (s *skillsProject) guestHost() string { return "guest-" + s.tag + ".open.test" }
func (s *skillsProject) homeHost() string  { return "home-" + s.tag + ".open.test" }

// newSkillsProject makes a project; experts is its perstack.toml, with {guest} and {home} for the
// hosts. The programs are in the workspace.
func newSkillsProject(t *testing.T, settings, experts string, files map[string]string) *skillsProject {
	t.Helper()
	need(t)
	s := &skillsProject{tag: strings.ToLower(rand.Text()[:8]), canary: "CaNaRy" + rand.Text()[:14], mine: map[string]string{}}
	s.secret = "victim-" + s.canary + "-" + rand.Text()
	for name, text := range files {
		s.mine[name] = text
	}
	s.mine["perstack.toml"] = strings.NewReplacer("{guest}", s.guestHost(), "{home}", s.homeHost()).Replace(experts)
	s.project = newProject(t, settings, s.mine)
	s.env = append(s.env, attack.SecretVariable+"="+s.secret, "AWS_SECRET_ACCESS_KEY=aws-"+s.canary, "GITHUB_TOKEN=github-"+s.canary)
	s.put("attackd", daemon.Program(t, "./internal/testkit/attack/attackd"))
	return s
}

// put copies a program into the workspace.
func (s *skillsProject) put(name, program string) {
	s.t.Helper()
	data, err := os.ReadFile(program)
	if err != nil {
		s.t.Fatal(err)
	}
	s.write(name, data, 0o755)
	s.mine[name] = "a program"
}

// npx has packages come from npm: the real servers from the cache, the hostile ones from a
// registry of the test. The lockfile pins them.
func (s *skillsProject) npx() {
	s.t.Helper()
	components := node.Need(s.t)
	registry := node.NewRegistry(s.t)
	pack.Publish(s.t, registry, daemon.Program(s.t, "./internal/testkit/attack/attackd"), daemon.Program(s.t, "./internal/testkit/evil/evilmcp"))
	home := s.t.TempDir()
	if err := os.WriteFile(filepath.Join(home, ".npmrc"), []byte(registry.Settings()), 0o600); err != nil {
		s.t.Fatal(err)
	}
	s.env = append(s.env, components.Beside(os.Getenv("PATH"))...)
	s.env = append(s.env, "HOME="+home, "PERSTACK_CACHE_PATH="+filepath.Join(home, "cache"))
	// The packages copy their programs to the directory for temporary files. They are killed
	// and cannot remove the copies.
	before := s.env
	s.env = append(slices.Clip(before), "TMPDIR="+s.t.TempDir())
	s.perstack("install").must(s.t, 0)
	s.env = before
	s.mine["perstack.lock"] = "pins"
	s.give()
}

// on begins a turn: in an Expert whose instruction has these words, when the last message
// has those.
func (s *skillsProject) on(system, contains string, calls ...string) {
	fmt.Fprintf(&s.script, "[[turn]]\nsystem = %q\ncontains = %q\n%s", system, contains, strings.Join(calls, ""))
}

// say ends a conversation.
func (s *skillsProject) say(system, contains, text string) {
	s.on(system, contains, fmt.Sprintf("text = %q\n", text))
}

// ask is a call with an id, by which its result is found.
func ask(t *testing.T, id, tool string, args any) string {
	t.Helper()
	return fmt.Sprintf("[[turn.call]]\nid = %q\ntool = %q\nargsText = %s\n", id, tool, toml(t, string(encode(t, args))))
}

// askExec is a call of exec with an id.
func askExec(t *testing.T, id, program string, args ...string) string {
	t.Helper()
	return ask(t, id, "exec", map[string]any{"command": program, "args": args, "timeout": 0})
}

// An object is arguments of a call.
type object = map[string]any

// results are those of all tools, by the ids of the calls.
func (o outcome) results() map[string]event.ToolResult {
	all := map[string]event.ToolResult{}
	for _, e := range o.events {
		if b, ok := e.Body.(event.ResolveToolResults); ok {
			for _, r := range b.ToolResults {
				all[r.ID] = r
			}
		}
	}
	return all
}

// answered decodes what a tool returned.
func answered[T any](t *testing.T, o outcome, id string) T {
	t.Helper()
	var v T
	r, ok := o.results()[id]
	if !ok {
		t.Fatalf("there is no result of %q\n%s\n%s", id, o.stderr, tail(o.stdout, 3000))
	}
	if r.IsError {
		t.Errorf("%s failed: %+v", id, r.Result)
		return v
	}
	for _, part := range r.Result {
		if err := json.Unmarshal([]byte(part.Text), &v); err == nil {
			return v
		}
	}
	t.Errorf("%s is no structure: %.500v", id, r.Result)
	return v
}

// checkAttack holds what came of attacks.
func checkAttack(t *testing.T, who string, got attack.Attacked, targets ...string) {
	t.Helper()
	for _, target := range targets {
		results := got.Results[target]
		if len(results) < 100 {
			t.Errorf("%s: only %d attacks on %s", who, len(results), target)
		}
		denied := 0
		for _, r := range results {
			if !r.Holds() {
				t.Errorf("%s, %s: %s: %s (%s), want %v", who, target, r.Attack, r.Outcome, r.Detail, attack.Wants(r.Attack))
			}
			if r.Outcome == attack.Denied {
				denied++
			}
		}
		t.Logf("%s attacked %s: %d attempts, %d denied by the kernel", who, target, len(results), denied)
	}
}

// checkSearch holds what a search came to.
func checkSearch(t *testing.T, who string, got attack.Searched) {
	t.Helper()
	if len(got.Found) > 0 || len(got.Open) > 0 {
		t.Errorf("%s found secrets of others in %v, and was given %v", who, got.Found, got.Open)
	}
	if got.Files == 0 || got.Denied == 0 || got.Variables == 0 {
		t.Errorf("%s did not look: %+v", who, got)
	}
}

// checkPrepared holds what a victim could do, and how it is afterwards.
func checkPrepared(t *testing.T, who string, got attack.Prepared, secret bool) {
	t.Helper()
	if got.Secret != secret || got.Listens != attack.Denied || got.Socket != attack.Denied || got.Shared != attack.Denied || got.Elsewhere != attack.Denied {
		t.Errorf("%s prepared: %+v", who, got)
	}
}

func checkUntouched(t *testing.T, who string, got attack.Checked) {
	t.Helper()
	got.Said = ""
	if want := (attack.Checked{Files: true, Limits: true, Child: true}); got != want {
		t.Errorf("%s after the attack: %+v", who, got)
	}
}

// checkHosts holds who reached whom.
func checkHosts(t *testing.T, o outcome, wants map[string]bool) {
	t.Helper()
	for id, want := range wants {
		if got := answered[attack.Visit](t, o, id); got.Reached != want {
			t.Errorf("%s: reached %t, want %t: %s", id, got.Reached, want, got.Status)
		}
	}
}

// checkNowhere looks for the canary wherever it could have got to.
func (s *skillsProject) checkNowhere(job string, outs ...outcome) {
	s.t.Helper()
	look := looker{t: s.t, canary: []byte(s.canary)}
	for _, o := range outs {
		look.at("stdout", []byte(o.stdout))
		look.at("stderr", []byte(o.stderr))
	}
	look.atFiles(s.dir, s.mine)
	for _, args := range [][]string{{"log", job, "--json", "--take", "0"}, {"log", job, "--records"}} {
		look.at(strings.Join(args, " "), []byte(s.perstack(args...).must(s.t, 0).stdout))
	}
	if look.files == 0 {
		s.t.Error("looked at no file")
	}
}

// TestSkillsAttackOneAnother has skills attack each other that are programs of the workspace: of one
// Expert, of a parent and its delegates, and after the job was continued.
func TestSkillsAttackOneAnother(t *testing.T) {
	t.Parallel()
	s := newSkillsProject(t, "", `
[experts.host]
instruction = "You are the host."
delegates = ["victim", "attacker"]
[experts.host.skills.guest]
type = "mcpStdioSkill"
command = "/workspace/attackd"
args = ["serve"]
toolPrefix = true
allowedDomains = ["{guest}"]
[experts.host.skills.home]
type = "mcpStdioSkill"
command = "/workspace/attackd"
args = ["serve"]
toolPrefix = true
requiredEnv = ["VICTIM_SECRET"]
allowedDomains = ["{home}"]
[experts.victim]
description = "Has a secret."
instruction = "You are the victim."
[experts.victim.skills.other]
type = "mcpStdioSkill"
command = "/workspace/attackd"
args = ["serve"]
toolPrefix = true
requiredEnv = ["VICTIM_SECRET"]
allowedDomains = ["{home}"]
[experts.attacker]
description = "Wants a secret."
instruction = "You are the attacker."
[experts.attacker.skills.thief]
type = "mcpStdioSkill"
command = "/workspace/attackd"
args = ["serve"]
toolPrefix = true
allowedDomains = ["{guest}"]
`, map[string]string{})
	hidden := attack.Hide(s.canary)
	phases := []string{"first", "second"}
	for _, phase := range phases {
		target := func(who string) string { return who + "-" + phase + ".json" }
		id := func(what string) string { return "call_" + what + "_" + phase }
		all := []string{target("home"), target("guest")}
		// Each in turn: some wait for what others have done.
		s.on("the host", "go "+phase,
			ask(t, id("prepare"), "home__prepare", object{"target": target("home"), "host": s.homeHost(), "say": "prepared " + phase}),
			ask(t, id("prepareGuest"), "guest__prepare", object{"target": target("guest"), "host": s.guestHost()}))
		s.on("the host", "prepared "+phase,
			ask(t, id("attack"), "guest__attack", object{"targets": []string{target("home")}, "say": "tried " + phase}),
			ask(t, id("search"), "guest__search", object{"hidden": hidden}),
			ask(t, id("guestOwn"), "guest__visit", object{"host": s.guestHost()}),
			ask(t, id("guestOther"), "guest__visit", object{"host": s.homeHost()}),
			ask(t, id("homeOwn"), "home__visit", object{"host": s.homeHost()}),
			ask(t, id("homeOther"), "home__visit", object{"host": s.guestHost()}),
			askExec(t, id("exec"), "./attackd", append([]string{"attack", "exec-" + phase}, all...)...),
			askExec(t, id("execSearch"), "./attackd", "search", "exec-search-"+phase, hidden))
		s.on("the host", "tried "+phase,
			ask(t, id("check"), "home__check", object{"say": "checked " + phase}),
			ask(t, id("checkGuest"), "guest__check", object{}))
		s.on("the host", "checked "+phase,
			ask(t, id("victim"), "victim", object{"query": "prepare " + phase}),
			ask(t, id("attacker"), "attacker", object{"query": "attack now " + phase}))
		s.on("the victim", "prepare "+phase, ask(t, id("prepareOther"), "other__prepare", object{"target": target("other"), "host": s.homeHost(), "say": "waiting " + phase}))
		s.on("the victim", "waiting "+phase, ask(t, id("stay"), "other__stay", object{"until": "done-" + phase}))
		s.on("the attacker", "attack now "+phase, ask(t, id("thief"), "thief__attack", object{"targets": []string{target("other"), target("home")}, "done": "done-" + phase, "say": "broke in " + phase}),
			ask(t, id("thiefSearch"), "thief__search", object{"hidden": hidden}),
			ask(t, id("thiefOwn"), "thief__visit", object{"host": s.guestHost()}),
			ask(t, id("thiefOther"), "thief__visit", object{"host": s.homeHost()}))
		s.say("the attacker", "broke in "+phase, "got nothing "+phase)
		s.say("the host", "got nothing "+phase, "All is well.")
	}
	s.say("the victim", "signals", "Nobody came.")
	s.serve(s.script.String())
	job := s.job()
	outs := []outcome{s.run("host", "go first", "--job-id", job).must(t, 0), s.run("host", "go second", "--continue-job", job).must(t, 0)}
	for i, phase := range phases {
		o := outs[i]
		id := func(what string) string { return "call_" + what + "_" + phase }
		target := func(who string) string { return who + "-" + phase + ".json" }
		checkPrepared(t, "home", answered[attack.Prepared](t, o, id("prepare")), true)
		checkPrepared(t, "guest", answered[attack.Prepared](t, o, id("prepareGuest")), false)
		checkPrepared(t, "other", answered[attack.Prepared](t, o, id("prepareOther")), true)
		checkAttack(t, "guest", answered[attack.Attacked](t, o, id("attack")), target("home"))
		checkAttack(t, "thief", answered[attack.Attacked](t, o, id("thief")), target("other"), target("home"))
		checkAttack(t, "exec", readJSON[attack.Attacked](s.project, "exec-"+phase), target("home"), target("guest"))
		checkSearch(t, "guest", answered[attack.Searched](t, o, id("search")))
		checkSearch(t, "thief", answered[attack.Searched](t, o, id("thiefSearch")))
		checkSearch(t, "exec", readJSON[attack.Searched](s.project, "exec-search-"+phase))
		checkUntouched(t, "home", answered[attack.Checked](t, o, id("check")))
		checkUntouched(t, "guest", answered[attack.Checked](t, o, id("checkGuest")))
		checkUntouched(t, "other", answered[attack.Checked](t, o, id("stay")))
		checkHosts(t, o, map[string]bool{id("guestOwn"): true, id("guestOther"): false, id("homeOwn"): true, id("homeOther"): false, id("thiefOwn"): true, id("thiefOther"): false})
	}
	s.checkNowhere(job, outs...)
}

// readJSON reads a file of the workspace.
func readJSON[T any](p *project, name string) T {
	p.t.Helper()
	var v T
	if err := json.Unmarshal(p.read(name), &v); err != nil {
		p.t.Errorf("%s: %v", name, err)
	}
	return v
}

// TestSharedSandbox gives the sandboxes up: what the attacks of the other tests do not get, they
// get then. That is said, and written down, and has to be said again.
func TestSharedSandbox(t *testing.T) {
	t.Parallel()
	s := newSkillsProject(t, "", `
[experts.host]
instruction = "You are the host."
[experts.host.skills.guest]
type = "mcpStdioSkill"
command = "/workspace/attackd"
args = ["serve"]
toolPrefix = true
[experts.host.skills.home]
type = "mcpStdioSkill"
command = "/workspace/attackd"
args = ["serve"]
toolPrefix = true
requiredEnv = ["VICTIM_SECRET"]
allowedDomains = ["{home}"]
`, map[string]string{})
	for _, phase := range []string{"without", "with"} {
		s.on("the host", "go "+phase, ask(t, "prepare_"+phase, "home__prepare", object{"target": phase + ".json", "host": s.homeHost(), "say": "prepared " + phase}))
		s.on("the host", "prepared "+phase, ask(t, "attack_"+phase, "guest__attack", object{"targets": []string{phase + ".json"}, "say": "tried " + phase}))
		s.say("the host", "tried "+phase, "All is well.")
	}
	s.serve(s.script.String())
	job := s.job()
	without := s.run("host", "go without", "--job-id", job, "--shared-sandbox").must(t, 0)
	with := s.run("host", "go with", "--continue-job", job).must(t, 0)
	checkAttack(t, "guest", answered[attack.Attacked](t, with, "attack_with"), "with.json")

	open := map[string]string{}
	for _, r := range answered[attack.Attacked](t, without, "attack_without").Results["without.json"] {
		open[r.Attack] = r.Outcome
	}
	for _, name := range []string{"read its home", "list its tmp", "signal nothing to victim", "connect to its listener"} {
		if open[name] != attack.Reached {
			t.Errorf("%s: %s without a sandbox", name, open[name])
		}
	}
	for o, want := range map[*outcome]bool{&without: true, &with: false} {
		if strings.Contains(o.stderr, "share one sandbox") != want {
			t.Errorf("shared %t: it says %s", want, o.stderr)
		}
		for _, e := range o.events {
			b, ok := e.Body.(event.StartRun)
			if !ok || len(b.Spec) == 0 {
				continue
			}
			if spec, err := specs.ParseRecorded(b.Spec); err != nil || spec.Isolation.SharedSandbox != want {
				t.Errorf("shared %t: the journal says %s (%v)", want, b.Spec, err)
			}
		}
	}
}
