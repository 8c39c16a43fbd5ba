//go:build linux

package docker

import (
	"crypto/rand"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/expert"
	"github.com/perstack-go/perstack/internal/testkit"
	"github.com/perstack-go/perstack/internal/testkit/daemon"
	"github.com/perstack-go/perstack/internal/testkit/probe"
	"github.com/perstack-go/perstack/internal/testkit/world"
	"github.com/perstack-go/perstack/internal/testkit/world/outside"
)

// A side is one of the two proxies, with what came of every row for a command and for a
// skill behind it.
type side struct {
	*project
	tag     string
	squid   bool
	events  []event.Event
	configs map[string]probe.Config   // by client
	results map[string][]probe.Result // the same
}

// askers are those who try every way out, by their listeners.
var askers = map[string]string{"command": "prober " + expert.BaseSkill, "skill": "prober twin"}

// TestBothProxies holds Squid against our own proxy. The world is their own: what Squid lets
// through would look like a hole to others who watch theirs.
func TestBothProxies(t *testing.T) {
	t.Parallel()
	need(t)
	w := world.Start(t)
	settings := squidSettings(t)
	t.Run("matrix", func(t *testing.T) { tryBothProxies(t, w, settings) })
	t.Run("reports", func(t *testing.T) {
		holdTunnel(t, w, "", true)
		holdTunnel(t, w, settings, false)
	})
}

// tryBothProxies tries every way out through either proxy, as a command and as a skill, and
// puts them side by side. Where Squid does less, the table says why.
func tryBothProxies(t *testing.T, w *world.World, settings string) {
	t.Helper()
	builtin := newSide(t, w, false, "")
	squid := newSide(t, w, true, settings)
	for _, s := range []*side{builtin, squid} {
		s.try()
		s.checkRows()
		s.checkAllowed()
	}
	checkSeen(t, w, builtin, squid)
	table := sideBySide(builtin, squid)
	t.Log("\n" + table)
	testkit.Golden(t, "proxies.golden", table)
}

// squidSettings has the proxy be Squid.
func squidSettings(t *testing.T) string {
	t.Helper()
	image := daemon.SquidImage(t, daemon.Name(t))
	daemon.RemoveAbove(t, daemon.Need(t), image)
	return fmt.Sprintf("proxy = \"squid\"\nsquidImage = %q\n", image)
}

// holdTunnel holds a tunnel open and looks whether the journal knows of it: our own proxy
// tells of a decision when it makes it, Squid when the tunnel is closed.
func holdTunnel(t *testing.T, w *world.World, settings string, atOnce bool) {
	t.Helper()
	host := "held-" + strings.ToLower(rand.Text()[:8]) + ".open.test"
	p := &project{t: t, world: w}
	p.fill(settings, map[string]string{"perstack.toml": worker + "[experts.worker.skills.\"@perstack/base\"]\ntype = \"mcpStdioSkill\"\ncommand = \"npx\"\npackageName = \"@perstack/base\"\nallowedDomains = [\"" + host + "\"]\n"})
	p.serve("[[turn]]\n" + command(t, "./probed", "hold", host, "held", "go-on") + "[[turn]]\ntext = \"Held.\"\n")
	run := p.start("worker", "go", "--job-id", p.job())
	p.awaitFile(run, "held")
	event := fmt.Sprintf(`"action":"allowed","domain":%q`, host)
	if atOnce {
		run.mustAwait(event)
	} else if strings.Contains(run.stdout(), event) {
		t.Error("Squid tells of a tunnel that is open; say so in the documentation")
	}
	p.write("go-on", nil, 0o644)
	if code := run.end(); code != 0 || strings.Count(run.stdout(), event) != 1 {
		t.Errorf("exit code %d, %d events\n%s", code, strings.Count(run.stdout(), event), run.stderr())
	}
}

func newSide(t *testing.T, w *world.World, squid bool, settings string) *side {
	t.Helper()
	s := &side{tag: strings.ToLower(rand.Text()[:8]), squid: squid, configs: map[string]probe.Config{}, results: map[string][]probe.Result{}}
	lists := map[string]string{}
	for who := range askers {
		lists[who] = string(encode(t, probe.Config{Tag: s.tagOf(who)}.Allowed()))
	}
	s.project = &project{t: t, world: w}
	s.fill(settings, map[string]string{"perstack.toml": `
[experts.prober]
instruction = "You are the prober."
[experts.prober.skills."@perstack/base"]
type = "mcpStdioSkill"
command = "npx"
packageName = "@perstack/base"
allowedDomains = ` + lists["command"] + `
[experts.prober.skills.twin]
type = "mcpStdioSkill"
command = "/workspace/probed"
args = ["mcp", "skill.json"]
allowedDomains = ` + lists["skill"] + "\n"})
	host := listenAsHost(t)
	for who := range askers {
		s.configs[who] = probe.Config{
			Tag: s.tagOf(who), Phase: who, Group: probe.GroupEach, Sandboxes: true, Squid: squid,
			Web: s.world.Web.String(), LLM: s.world.LLMAddr.String(), Trap: s.world.Trap.String(), DNS: s.world.DNS,
			Provider: provider, Other: otherHost(s.tag), Machine: host.addresses, Port: host.port, Out: who + "-results.json",
		}
		s.write(who+".json", encode(t, s.configs[who]), 0o644)
	}
	s.serve("[[turn]]\n" + command(t, "./probed", "run", "command.json") + "[[turn]]\n" + call(t, "probe", map[string]any{}) + "[[turn]]\ntext = \"All tried.\"\n")
	return s
}

func (s *side) tagOf(who string) string { return s.tag + who[:1] }

func (s *side) try() {
	s.t.Helper()
	s.events = s.run("prober", "go", "--job-id", s.job()).must(s.t, 0).events
	for who, c := range s.configs {
		s.results[who] = readJSON[[]probe.Result](s.project, c.Out)
	}
}

func (s *side) result(who, row string) probe.Result {
	for _, r := range s.results[who] {
		if r.Row == row {
			return r
		}
	}
	return probe.Result{Row: row, Outcome: "not tried"}
}

func (s *side) checkRows() {
	s.t.Helper()
	for who, c := range s.configs {
		for _, row := range probe.Rows(c) {
			if got := s.result(who, row.ID); !row.Holds(got) {
				s.t.Errorf("squid %t, %s: %s (%s): %s: want %v, got %s: %s", s.squid, who, row.ID, row.Promise, row.What, row.Want, got.Outcome, got.Detail)
			}
		}
	}
}

// checkAllowed holds the events against the outcomes: a host that was reached is reported
// as allowed at the listener of its client, and no other is.
func (s *side) checkAllowed() {
	s.t.Helper()
	for who, listener := range askers {
		reached, reported := map[string]bool{}, map[string]bool{}
		for _, row := range probe.Rows(s.configs[who]) {
			if got := s.result(who, row.ID); row.Asks != "" && got.Outcome == probe.Reached {
				reached[row.Asks] = true
			}
			if first, _, _ := strings.Cut(row.Event, "\n"); strings.HasPrefix(first, "allowed ") { // also one that was reached once
				reached[strings.TrimPrefix(first, "allowed ")] = true
			}
		}
		blocked := 0
		for _, e := range s.events {
			b, ok := e.Body.(event.ProxyAccess)
			switch {
			case !ok || b.Listener != listener:
			case b.Action == "allowed":
				reported[b.Domain] = true
			default:
				blocked++
			}
		}
		if !maps.Equal(reached, reported) {
			s.t.Errorf("squid %t, %s: reached %v, reported %v", s.squid, who, slices.Sorted(maps.Keys(reached)), slices.Sorted(maps.Keys(reported)))
		}
		if blocked < 100 {
			s.t.Errorf("squid %t, %s: only %d refusals are in the journal", s.squid, who, blocked)
		}
	}
}

// checkSeen checks what the servers saw: no connection to a forbidden address, and no query for
// names that are on no list. Squid also looks up the names of its own machines.
func checkSeen(t *testing.T, w *world.World, sides ...*side) {
	t.Helper()
	may := map[string]bool{}
	for _, s := range sides {
		for _, c := range s.configs {
			for _, row := range probe.Rows(c) {
				may[row.Asks] = true
			}
		}
	}
	for _, e := range w.Seen(t) {
		switch {
		case e.Where == outside.RoleTrap && e.Kind != outside.KindReady && e.Kind != outside.KindSync:
			t.Errorf("a connection to a forbidden address: %+v", e)
		case e.Kind != outside.KindQuery || may[e.Name] || strings.HasSuffix(e.Name, "."+outside.LLMZone):
		case e.Type == "PTR" && strings.HasSuffix(e.Name, ".in-addr.arpa"):
			t.Logf("Squid asks for %s", e.Name)
		default:
			t.Errorf("a question has left: %+v", e)
		}
	}
}

// sideBySide is the table of both, without what differs from run to run.
func sideBySide(builtin, squid *side) string {
	var b strings.Builder
	line := func(sandboxes ...any) {
		fmt.Fprintln(&b, strings.TrimRight(fmt.Sprintf("%-28s %-20s %-9s %-9s %-9s %-9s %s", sandboxes...), " "))
	}
	line("row", "promise", "builtin", "", "squid", "", "why they differ")
	line("", "", "command", "skill", "command", "skill", "")
	rows := probe.Rows(squid.configs["command"])
	differ := 0
	for i, row := range probe.Rows(builtin.configs["command"]) {
		why := rows[i].Why
		got := []string{builtin.result("command", row.ID).Outcome, builtin.result("skill", row.ID).Outcome, squid.result("command", row.ID).Outcome, squid.result("skill", row.ID).Outcome}
		if len(slices.Compact(slices.Clone(got))) > 1 {
			differ++
		}
		line(row.ID, row.Promise, got[0], got[1], got[2], got[3], why)
	}
	fmt.Fprintf(&b, "%d rows, %d differ\n", len(rows), differ)
	return b.String()
}
