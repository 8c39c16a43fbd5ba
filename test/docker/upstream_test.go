//go:build linux

package docker

import (
	"crypto/rand"
	"encoding/base64"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/expert"
	"github.com/perstack-go/perstack/internal/testkit/world/outside"
)

// TestUpstreamProxy runs where a proxy with a password is the only way out. Everything
// that leaves goes through it, by name; what our own proxy refuses never gets there; and
// only our proxy learns the password.
func TestUpstreamProxy(t *testing.T) {
	t.Parallel()
	tag := strings.ToLower(rand.Text()[:8])
	open, blocked, fronted := "up-"+tag+".open.test", "up-"+tag+".blocked.test", "fronted-"+tag+".open.test"
	mine := map[string]string{"perstack.toml": worker + `
[experts.worker.skills."@perstack/base"]
type = "mcpStdioSkill"
command = "npx"
packageName = "@perstack/base"
allowedDomains = ["` + open + `"]
`}
	p := newProject(t, "", mine)
	p.scouting()
	canary := "CaNaRy" + rand.Text()[:12]
	user, password := "someone", "p@ss:/"+canary+"%"
	relay := p.world.StartRelay(t, user, password)
	llmHost := p.world.LLM(t, p.keyed("[[turn]]\n"+command(t, "./scoutd", "fetch", "report.json", open, blocked, open+"="+fronted)+lingering(t)))
	p.env = append(p.env, "ANTHROPIC_BASE_URL=https://"+llmHost+"/v1", "PERSTACK_PROXY_URL="+relay.URL)
	job := p.job()
	s := p.start("worker", "go", "--job-id", job)
	p.awaitFile(s, "lingers")

	look := looker{t: t, canary: []byte(canary)}
	site := inspect(t, job)
	look.at("inspect", site.raw)
	look.atImage(site.find(t, "runtime").Image)
	look.atProcesses(s.Process.Pid)
	encoded := base64.StdEncoding.EncodeToString([]byte(user + ":" + password))
	if strings.Contains(string(site.raw), encoded) {
		t.Error("inspect has the password, encoded")
	}
	if err := s.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	if code := s.end(); code != 130 {
		t.Fatalf("exit code %d\n%s", code, s.stderr())
	}
	look.at("stdout", []byte(s.stdout()))
	look.at("stderr", []byte(s.stderr()))
	look.at("the journal", p.journal(job))
	look.atFiles(p.dir, mine)
	if !strings.Contains(s.stderr(), "are not checked") {
		t.Errorf("it is not said that addresses are not checked: %s", s.stderr())
	}

	r := p.report("report.json")
	if r.Fetched[open] != "200" {
		t.Errorf("the allowed host: %s", r.Fetched[open])
	}
	if !strings.Contains(r.Fetched[blocked], "Forbidden") {
		t.Errorf("a host that is not allowed: %s", r.Fetched[blocked])
	}
	if got := r.Fetched[open+"="+fronted]; got == "" || got == "200" {
		t.Errorf("another server name: %s", got)
	}
	p.checkAccess(s, "engine", "allowed "+llmHost)
	p.checkAccess(s, "worker "+expert.BaseSkill, "allowed "+open, "blocked domain "+blocked, "blocked servername "+open)

	// What the relay saw: names that are allowed, each with the password, and no more.
	asked := map[string]int{}
	for _, e := range relay.Seen(t) {
		if e.Kind != outside.KindRequest {
			continue
		}
		asked[e.Text]++
		if e.Body != user+":"+password {
			t.Errorf("the relay was shown %q for %s", e.Body, e.Text)
		}
	}
	if asked["CONNECT "+llmHost+":443"] == 0 || asked["CONNECT "+open+":443"] != 2 || len(asked) != 2 {
		t.Errorf("the relay was asked for %v", asked)
	}
	p.checkRelayed(llmHost, open, blocked, fronted)
}

// checkAccess holds the proxyAccess events of a listener, without repetitions, against what
// they must be; see isEvent.
func (p *project) checkAccess(s *started, listener string, want ...string) {
	p.t.Helper()
	seen := map[string]bool{}
	for _, e := range p.events([]byte(s.stdout())) {
		b, ok := e.Body.(event.ProxyAccess)
		if !ok || b.Listener != listener {
			continue
		}
		at := slices.IndexFunc(want, func(line string) bool { return isEvent(b, line) })
		if at < 0 {
			p.t.Errorf("an event of %s that nothing explains: %+v", listener, b)
			continue
		}
		seen[want[at]] = true
	}
	for _, line := range want {
		if !seen[line] {
			p.t.Errorf("%s: there is no event %q", listener, line)
		}
	}
}

// checkRelayed holds what all other servers saw: they were reached through the relay, and
// only the name of the relay was looked up.
func (p *project) checkRelayed(llmHost, open, blocked, fronted string) {
	p.t.Helper()
	own, pages := []string{llmHost, open, blocked, fronted}, 0
	for _, e := range p.world.Seen(p.t) {
		switch {
		case !slices.Contains(own, e.Name):
		case e.Kind == outside.KindQuery:
			p.t.Errorf("the name was looked up: %+v", e)
		case e.Name == blocked || e.Name == fronted:
			p.t.Errorf("it was reached: %+v", e)
		case !strings.HasPrefix(e.From, p.world.Relay.String()+":"):
			p.t.Errorf("not through the relay: %.300v", e)
		case e.Kind == outside.KindRequest:
			pages++
		}
	}
	if pages < 2 {
		p.t.Errorf("only %d pages were served", pages)
	}
}

// TestUpstreamProxyIsTheUsers refuses a proxy that a project names, or that no container
// could reach, before anything is made. The password is not repeated.
func TestUpstreamProxyIsTheUsers(t *testing.T) {
	t.Parallel()
	const secret = "Pa55w0rdQzXw81"
	for name, c := range map[string]struct {
		file, env string
		says      string
	}{
		"env file":      {file: "http://me:" + secret + "@listener.relay.test:3128", says: ".env"},
		"loopback":      {env: "http://me:" + secret + "@127.0.0.1:3128", says: "on this machine"},
		"loopback name": {env: "http://me:" + secret + "@localhost:3128", says: "on this machine"},
		"loopback IPv6": {env: "http://me:" + secret + "@[::1]:3128", says: "on this machine"},
		"another kind":  {env: "socks5://me:" + secret + "@listener.relay.test:1080", says: "socks5"},
		"not a URL":     {env: "me:" + secret + "@listener.relay.test", says: "not a URL"},
		"no port":       {env: "http://me:" + secret + "@listener.relay.test", says: "without a valid port"},
		"a path":        {env: "http://me:" + secret + "@listener.relay.test:3128/way", says: "not given as http://host:port"},
		"colon in user": {env: "http://m%3Ae:" + secret + "@listener.relay.test:3128", says: "must not have a colon"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			files := map[string]string{"perstack.toml": worker}
			if c.file != "" {
				files[".env"] = "PERSTACK_PROXY_URL=" + c.file + "\n"
			}
			p := newProject(t, "", files)
			p.serve("[[turn]]\ntext = \"never\"\n")
			if c.env != "" {
				p.env = append(p.env, "PERSTACK_PROXY_URL="+c.env)
			}
			job := p.job()
			out := p.run("worker", "go", "--job-id", job)
			if out.code != 2 || !strings.Contains(out.stderr, "PERSTACK_PROXY_URL") || !strings.Contains(out.stderr, c.says) {
				t.Errorf("exit code %d, want 2, and %q\n%s", out.code, c.says, out.stderr)
			}
			if strings.Contains(out.stdout+out.stderr, secret) {
				t.Errorf("the password is repeated: %s", out.stderr)
			}
			if len(out.events) > 0 || len(p.journal(job)) > 0 {
				t.Errorf("something began: %s", out.stdout)
			}
			p.checkNothingLeft()
		})
	}
}
