//go:build linux

package docker

import (
	"crypto/rand"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/expert"
	"github.com/perstack-go/perstack/internal/testkit/attack"
	"github.com/perstack-go/perstack/internal/testkit/probe"
	"github.com/perstack-go/perstack/internal/testkit/world/outside"
)

// provider is the usual host of the model's service. Only the matrix uses
// it; other tests have hosts of their own.
const provider = "api.anthropic.com"

// marker is a part of every secret of the matrix.
const marker = "cAnArY7f3E91xQ"

// phases are the runs of the matrix. In the last one there are no sandboxes: what holds there
// is the container alone, which must not depend on them.
var phases = []string{"fresh", "resumed", "forked", sharedPhase}

const sharedPhase = "shared"

// groups are the parts of the matrix: who probes, with which listener.
var groups = []struct{ name, listener string }{
	{probe.GroupContainer, "prober " + expert.BaseSkill},
	{probe.GroupSkill, "prober other"},
	{probe.GroupEach, "prober twin"},
	{probe.GroupDried, "dried " + expert.BaseSkill},
}

// A matrix is one job that is started, continued and forked, and probes each time.
type matrix struct {
	*project
	host    *machine
	tag     string
	configs map[string]probe.Config   // by phase and group
	results map[string][]probe.Result // the same
	events  map[string][]event.Event  // by phase
}

// TestEgressMatrix tries every way out, and every way to secrets and permissions, from inside
// a fresh, a resumed and a forked run, and from one without sandboxes: as a command, as skills,
// and as a delegate's command that may reach nothing. Each row asserts on what came of it inside, on the
// proxyAccess events of the journal, and on what the servers outside saw.
func TestEgressMatrix(t *testing.T) {
	m := newMatrix(t)
	job := m.job()
	m.phase("fresh", "prober", "go fresh", "--job-id", job)
	m.phase("resumed", "prober", "go resumed", "--continue-job", job)
	m.phase("forked", "prober", "go forked", "--continue-job", job, "--resume-from", m.firstCheckpoint())
	m.phase(sharedPhase, "prober", "go "+sharedPhase, "--continue-job", job, "--shared-sandbox")

	m.print()
	for _, phase := range phases {
		for _, g := range groups {
			m.checkRows(phase, g.name)
			m.checkEvents(phase, g.name, g.listener)
		}
		m.checkEngineListener(phase)
		m.checkBaseTools(phase)
	}
	m.checkJournal(job)
	var names []string
	for _, g := range groups {
		names = append(names, g.name)
	}
	m.checkOutside(phases, names)
	if came := m.host.visitors(); len(came) > 0 {
		t.Errorf("the host was reached: %v", came)
	}
	tries := 0
	for _, g := range groups {
		tries += len(phases) * len(probe.Rows(m.configs[phases[0]+g.name]))
	}
	attack.Held(t, "N1", tries)
}

func newMatrix(t *testing.T) *matrix {
	t.Helper()
	tag := strings.ToLower(rand.Text()[:8])
	config := probe.Config{Tag: tag}
	domains := string(encode(t, config.Allowed()))
	twin := string(encode(t, probe.Config{Tag: twinTag(tag)}.Allowed()))
	limits := probe.Limits{Memory: 512 << 20, PIDs: 100, Tmp: 24 << 20, Cache: 16 << 20}
	secret := func(name string) string { return name + "-" + marker + rand.Text() }
	p := newProject(t, fmt.Sprintf("memory = %d\nmemoryReservation = %d\npids = %d\ntmpSize = %d\ncacheSize = %d\n", limits.Memory, 64<<20, limits.PIDs, limits.Tmp, limits.Cache), map[string]string{
		"perstack.toml": `
[experts.prober]
instruction = "You are the prober."
delegates = ["dried"]
[experts.prober.skills."@perstack/base"]
type = "mcpStdioSkill"
command = "npx"
packageName = "@perstack/base"
allowedDomains = ` + domains + `
[experts.prober.skills.other]
type = "mcpStdioSkill"
command = "/workspace/probed"
args = ["mcp", "skill.json"]
allowedDomains = ["` + otherHost(tag) + `"]
[experts.prober.skills.twin]
type = "mcpStdioSkill"
command = "/workspace/probed"
args = ["mcp", "each.json"]
toolPrefix = true
allowedDomains = ` + twin + `
[experts.dried]
description = "Tries without any domain."
instruction = "You are the dried one."
`,
		".env":                    "SOME_TOKEN=" + secret("dotenv") + "\n",
		".env.local":              "OTHER_TOKEN=" + secret("local") + "\n",
		"deep/er/.env":            "DEEP_TOKEN=" + secret("deep") + "\n",
		"deep/er/.ENV.production": "CASE_TOKEN=" + secret("case") + "\n",
	})
	p.key = "sk-ant-" + marker + rand.Text()
	p.env = append(p.env, "ANTHROPIC_API_KEY="+p.key, "AWS_SECRET_ACCESS_KEY="+secret("aws"), "GITHUB_TOKEN="+secret("github"))
	m := &matrix{project: p, host: listenAsHost(t), tag: tag, configs: map[string]probe.Config{}, results: map[string][]probe.Result{}, events: map[string][]event.Event{}}
	for _, phase := range phases {
		for _, g := range groups {
			own := tag
			if g.name == probe.GroupEach {
				own = twinTag(tag)
			}
			m.configs[phase+g.name] = probe.Config{
				Tag: own, Phase: phase, Group: g.name, Sandboxes: phase != sharedPhase,
				Web: p.world.Web.String(), LLM: p.world.LLMAddr.String(), Trap: p.world.Trap.String(), DNS: p.world.DNS,
				Provider: provider, Other: otherHost(tag), Machine: m.host.addresses, Port: m.host.port,
				Marker: probe.Flip([]byte(marker)), Limits: limits, Out: "results-" + phase + "-" + g.name + ".json",
			}
		}
	}
	p.world.Play(t, provider, p.keyed(matrixScript(t)))
	return m
}

// twinTag is the tag of the skill that tries everything: its names are looked up again.
func twinTag(tag string) string { return tag + "t" }

// otherHost is one that only the skill may reach.
func otherHost(tag string) string { return "other-" + tag + ".open.test" }

// baseTools are calls that the base skill itself has to refuse.
var baseTools = []struct {
	row  string
	tool string
	args map[string]any
}{
	{"B4", "readTextFile", map[string]any{"path": "/etc/shadow"}},
	{"B5", "readTextFile", map[string]any{"path": "/../../../etc/passwd"}},
	{"B6", "readTextFile", map[string]any{"path": "~/.ssh/id_rsa"}},
	{"B7", "exec", map[string]any{"command": "sudo", "args": []string{"whoami"}}},
	{"B8", "exec", map[string]any{"command": "docker", "args": []string{"ps"}}},
	{"E6", "readTextFile", map[string]any{"path": ".env"}},
	{"F2", "listDirectory", map[string]any{"path": "perstack"}},
}

// matrixScript is what the model answers: the same in each phase, told apart by words.
func matrixScript(t *testing.T) string {
	t.Helper()
	var s strings.Builder
	for _, phase := range phases {
		fmt.Fprintf(&s, "[[turn]]\nsystem = \"the prober\"\ncontains = \"go %s\"\n%s%s", phase, command(t, "./probed", "run", "container.json"), call(t, "probe", map[string]any{}))
		for _, b := range baseTools {
			s.WriteString(call(t, b.tool, b.args))
		}
	}
	// A fork begins after results of the fresh run: what is new in it counts first.
	for _, phase := range phases {
		fmt.Fprintf(&s, "[[turn]]\nsystem = \"the prober\"\ncontains = \"by each in %s\"\n%s", phase, call(t, "dried", map[string]any{"query": "dry " + phase}))
		fmt.Fprintf(&s, "[[turn]]\nsystem = \"the prober\"\ncontains = \"by container in %s\"\n%s", phase, call(t, "twin__probe", map[string]any{})) // alone: others go to the limits
		fmt.Fprintf(&s, "[[turn]]\nsystem = \"the dried one\"\ncontains = \"dry %s\"\n%s", phase, command(t, "./probed", "run", "dried.json"))
		fmt.Fprintf(&s, "[[turn]]\nsystem = \"the dried one\"\ncontains = \"phase %s\"\ntext = \"parched %s\"\n", phase, phase)
		fmt.Fprintf(&s, "[[turn]]\nsystem = \"the prober\"\ncontains = \"parched %s\"\ntext = \"All tried.\"\n", phase)
	}
	return s.String()
}

// phase runs the Expert once and collects what came of it.
func (m *matrix) phase(phase string, args ...string) {
	m.t.Helper()
	for _, g := range groups {
		m.write(g.name+".json", encode(m.t, m.configs[phase+g.name]), 0o644)
	}
	out := m.run(args...)
	if out.code != 0 {
		m.t.Fatalf("%s: exit code %d\n%s\n%s", phase, out.code, out.stderr, tail(out.stdout, 4000))
	}
	m.events[phase] = out.events
	if strings.Contains(out.stdout+out.stderr, marker) {
		m.t.Errorf("%s: what perstack prints has a secret", phase)
	}
	for _, g := range groups {
		data, err := os.ReadFile(filepath.Join(m.dir, m.configs[phase+g.name].Out))
		if err != nil {
			m.t.Errorf("%s: the group %s did not run: %v", phase, g.name, err)
			continue
		}
		var results []probe.Result
		if err := json.Unmarshal(data, &results); err != nil {
			m.t.Fatal(err)
		}
		m.results[phase+g.name] = results
	}
}

// firstCheckpoint is where the fork begins: after the first step.
func (m *matrix) firstCheckpoint() string {
	m.t.Helper()
	for _, e := range m.events["fresh"] {
		if b, ok := e.Body.(event.ContinueToNextStep); ok {
			return b.Checkpoint.ID
		}
	}
	m.t.Fatal("the fresh run has no checkpoint")
	return ""
}

// result finds what came of a row.
func (m *matrix) result(phase, group, row string) probe.Result {
	for _, r := range m.results[phase+group] {
		if r.Row == row {
			return r
		}
	}
	return probe.Result{Row: row, Outcome: "not tried"}
}

// print is the table of all rows.
func (m *matrix) print() {
	var b strings.Builder
	fmt.Fprintf(&b, "\n%-6s %-28s %-22s %-52s %-18s %-18s", "who", "row", "promise", "what", "required in sandboxes", "without")
	for _, phase := range phases {
		fmt.Fprintf(&b, " %-10s", phase)
	}
	b.WriteByte('\n')
	count := 0
	for _, g := range groups {
		without := probe.Rows(m.configs[sharedPhase+g.name])
		for i, row := range probe.Rows(m.configs[phases[0]+g.name]) {
			fmt.Fprintf(&b, "%-6s %-28s %-22s %-52.52s %-18s %-18s", g.name, row.ID, row.Promise, row.What, strings.Join(row.Want, "|"), strings.Join(without[i].Want, "|"))
			for _, phase := range phases {
				got := m.result(phase, g.name, row.ID)
				mark := ""
				if phase == sharedPhase {
					row = without[i]
				}
				if !row.Holds(got) {
					mark = " !!"
				}
				fmt.Fprintf(&b, " %-10s", got.Outcome+mark)
				count++
			}
			b.WriteByte('\n')
		}
	}
	fmt.Fprintf(&b, "%d outcomes\n", count)
	m.t.Log(b.String())
}

func (m *matrix) checkRows(phase, group string) {
	m.t.Helper()
	for _, row := range probe.Rows(m.configs[phase+group]) {
		if got := m.result(phase, group, row.ID); !row.Holds(got) {
			m.t.Errorf("%s: %s (%s): %s: want %s, got %s: %s", phase, row.ID, row.Promise, row.What, strings.Join(row.Want, " or "), got.Outcome, got.Detail)
		}
	}
}

// checkEvents compares the events of a listener with the rows, one for one: each attempt is
// reported, and nothing else is.
func (m *matrix) checkEvents(phase, group, listener string) {
	m.t.Helper()
	var events []event.ProxyAccess
	for _, e := range m.events[phase] {
		if b, ok := e.Body.(event.ProxyAccess); ok && b.Listener == listener {
			events = append(events, b)
		}
	}
	rows := probe.Rows(m.configs[phase+group])
	// The more specific row is matched first.
	slices.SortStableFunc(rows, func(a, b probe.Row) int { return len(strings.Fields(b.Event)) - len(strings.Fields(a.Event)) })
	for _, row := range rows {
		if row.Event == "" {
			continue
		}
		for line := range strings.SplitSeq(row.Event, "\n") {
			if host, ok := strings.CutPrefix(line, "any "); ok { // it was one or the other
				if line = "blocked"; m.result(phase, group, row.ID).Outcome == probe.Reached {
					line = "allowed " + host
				}
			}
			// Attempts without the token can also be those of other groups.
			at := slices.IndexFunc(events, func(e event.ProxyAccess) bool { return isEvent(e, line) && e.Reason != "token" })
			if at < 0 {
				at = slices.IndexFunc(events, func(e event.ProxyAccess) bool { return isEvent(e, line) })
			}
			if at < 0 {
				m.t.Errorf("%s: %s: the journal has no event %q", phase, row.ID, line)
				continue
			}
			events = slices.Delete(events, at, at+1)
		}
	}
	foreign := 0
	for _, e := range events {
		if isEvent(e, "blocked token") {
			foreign++ // the row listeners of others, which tries every listener
			continue
		}
		m.t.Errorf("%s: an event of %s that no row explains: %+v", phase, listener, e)
	}
	if want := foreignTries(phase, group); foreign != want {
		m.t.Errorf("%s: %s was tried %d times by others, want %d", phase, listener, foreign, want)
	}
}

// foreignTries is how often others have tried the listener of a group: in sandboxes they do not
// get so far.
func foreignTries(phase, group string) int {
	switch {
	case phase != sharedPhase:
		return 0
	case group == probe.GroupContainer || group == probe.GroupEach: // not its own
		return probe.TriesPerListener
	}
	return 2 * probe.TriesPerListener
}

// checkEngineListener looks at the listener of the engine: it was used for the provider and for
// nothing else, and others have tried it in vain.
func (m *matrix) checkEngineListener(phase string) {
	m.t.Helper()
	allowed, foreign := 0, 0
	for _, e := range m.events[phase] {
		b, ok := e.Body.(event.ProxyAccess)
		switch {
		case !ok || b.Listener != "engine":
		case isEvent(b, "allowed "+provider):
			allowed++
		case isEvent(b, "blocked token"):
			foreign++
		default:
			m.t.Errorf("%s: the engine's listener: %+v", phase, b)
		}
	}
	if want := foreignTries(phase, "engine"); allowed == 0 || foreign != want {
		m.t.Errorf("%s: the engine's listener was used %d times, and tried by others %d times, want %d", phase, allowed, foreign, want)
	}
}

// isEvent reports whether an event is as a row says; see [probe.Row].
func isEvent(e event.ProxyAccess, want string) bool {
	words := strings.Fields(want)
	if words[0] != e.Action {
		return false
	}
	words = words[1:]
	if e.Action == "blocked" && len(words) > 0 {
		if words[0] != e.Reason {
			return false
		}
		words = words[1:]
	}
	if len(words) == 0 {
		return true
	}
	port := 443
	if len(words) == 2 {
		port, _ = strconv.Atoi(words[1])
	}
	return words[0] == e.Domain && port == e.Port
}

// checkBaseTools finds the calls that the base skill has to refuse.
func (m *matrix) checkBaseTools(phase string) {
	m.t.Helper()
	var results []event.ToolResult
	for _, e := range m.events[phase] {
		if b, ok := e.Body.(event.ResolveToolResults); ok && e.ExpertKey == "prober" {
			results = append(results, b.ToolResults...)
		}
	}
	if len(results) < 2+len(baseTools) {
		m.t.Errorf("%s: only %d results of tools", phase, len(results))
		return
	}
	for i, b := range baseTools {
		text := string(encode(m.t, results[2+i].Result))
		if !strings.Contains(text, "error") || strings.Contains(text, "root:") || strings.Contains(text, "jobs") {
			m.t.Errorf("%s: %s: %s %v: %s", phase, b.row, b.tool, b.args, text)
		}
	}
}

// checkJournal compares the history with what was shown.
func (m *matrix) checkJournal(job string) {
	m.t.Helper()
	m.perstack("log", job, "--verify").must(m.t, 0)
	log := m.perstack("log", job, "--json", "--take", "0").must(m.t, 0)
	kept, shown := 0, 0
	for _, e := range log.events {
		if _, ok := e.Body.(event.ProxyAccess); ok {
			kept++
		}
	}
	for _, phase := range phases {
		for _, e := range m.events[phase] {
			if _, ok := e.Body.(event.ProxyAccess); ok {
				shown++
			}
		}
	}
	if kept != shown || kept == 0 {
		m.t.Errorf("%d proxyAccess events are in the journal, %d were shown", kept, shown)
	}
	if strings.Contains(log.stdout, marker) {
		m.t.Error("the journal has a secret")
	}
}

// foreign reports a name that another test asks for: all names of this one that are below
// .test have its tag.
func (m *matrix) foreign(name string) bool {
	return strings.HasSuffix(name, ".test") && !strings.Contains(name, m.tag)
}

// checkOutside compares what the servers saw with what was allowed. Names that other
// tests of this package ask for have other tags.
func (m *matrix) checkOutside(phases, groups []string) {
	m.t.Helper()
	may := map[string]bool{provider: true}
	pages := map[string]int{} // how often each host may have been asked for a page
	for _, phase := range phases {
		for _, group := range groups {
			for _, row := range probe.Rows(m.configs[phase+group]) {
				if row.Asks == "" {
					continue
				}
				may[row.Asks] = true
				if strings.HasPrefix(row.Event, "allowed") || strings.HasPrefix(row.Event, "any") && m.result(phase, group, row.ID).Outcome == probe.Reached {
					pages[row.Asks]++
				}
			}
		}
	}
	for _, e := range m.world.Seen(m.t) {
		switch {
		case e.Kind == outside.KindReady:
		case e.Kind == outside.KindSync:
			if e.Pings > 0 && e.Where == outside.RoleTrap {
				m.t.Errorf("%d pings have arrived", e.Pings)
			}
		case e.Where == outside.RoleTrap:
			m.t.Errorf("a connection to a forbidden address: %+v", e)
		case e.Kind == outside.KindQuery:
			if !may[e.Name] && !m.foreign(e.Name) {
				m.t.Errorf("a question has left: %+v", e)
			}
		case e.Port != 443:
			m.t.Errorf("another port than 443: %+v", e)
		case e.Kind == outside.KindHello && !may[e.Name] && !m.foreign(e.Name):
			m.t.Errorf("a hello with a name that is not allowed: %+v", e)
		case e.Where == outside.RoleWeb && e.Kind == outside.KindRequest && !m.foreign(e.Name):
			pages[e.Name]--
			if strings.Contains(e.Text+e.Body, marker) {
				m.t.Errorf("a secret has left: %+v", e)
			}
		case e.Where == outside.RoleLLM && e.Kind == outside.KindRequest:
			if !e.Key || strings.Contains(e.Body, marker) {
				m.t.Errorf("a request to the model without a key, or with a secret in its words: %.300v", e)
			}
		}
	}
	for host, n := range pages {
		if n != 0 {
			m.t.Errorf("%s: %d pages more were fetched inside than were served outside", host, n)
		}
	}
}
