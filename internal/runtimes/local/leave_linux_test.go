package local_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/expert"
	"github.com/perstack-go/perstack/internal/runtimes/local"
	"github.com/perstack-go/perstack/internal/testkit"
	"github.com/perstack-go/perstack/job"
)

// A porter answers questions about hosts by their first label, for the rest of the job.
type porter struct {
	mu    sync.Mutex
	asked []string
}

func (p *porter) Ask(_ context.Context, q event.Request) (event.Answer, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	a := q.Approval
	p.asked = append(p.asked, fmt.Sprintf("%s %s %s", a.Effect.Host, a.Call.ToolName, a.Call.SkillName))
	return event.Answer{Allow: strings.HasPrefix(a.Effect.Host, "yes."), Scope: event.ScopeJob, Reason: "not there"}, nil
}

// fetching has curl try four hosts, in two calls. A host that was allowed has no address, which
// another answer of the proxy says.
const fetching = `
[[turn]]
[[turn.call]]
tool = "exec"
args = { command = "sh", args = ["-c", "for h in yes.invalid no.invalid listed.invalid 169.254.169.254; do echo $h $(curl -s -o /dev/null -w '%{http_connect}' https://$h/); done"] }
[[turn]]
turn = 2
[[turn.call]]
tool = "exec"
args = { command = "sh", args = ["-c", "for h in yes.invalid no.invalid; do echo again $h $(curl -s -o /dev/null -w '%{http_connect}' https://$h/); done; exit 1"] }
[[turn]]
turn = 3
text = "done"
`

// Programs that try hosts which are not listed: with someone to ask, without, and with rules.
func TestLeaveSandboxForHosts(t *testing.T) {
	testkit.Need(t, "curl")
	if offer := local.Offered(t.Context(), ""); offer.Level != expert.SandboxFull {
		testkit.Missing(t, fmt.Sprint(offer.Why))
	}
	deny := []job.Rules{{Origin: "user", Rules: []job.Rule{{Host: "*.invalid", Do: job.Deny}}}}
	allow := []job.Rules{{Origin: "user", Rules: []job.Rule{{Host: "yes.invalid", Do: job.Allow}, {Tool: "exec", Do: job.Allow}}}}
	asked := []string{"yes.invalid:443 exec @perstack/base", "no.invalid:443 exec @perstack/base"}
	const refused = "yes.invalid 403\nno.invalid 403\nlisted.invalid 502\n169.254.169.254 403\nagain yes.invalid 403\nagain no.invalid 403\n"
	const opened = "yes.invalid 502\nno.invalid 403\nlisted.invalid 502\n169.254.169.254 403\nagain yes.invalid 502\nagain no.invalid 403\n"
	for _, level := range []expert.SandboxLevel{expert.SandboxLandlock, expert.SandboxFull} {
		for _, tt := range []struct {
			name    string
			rules   []job.Rules
			present bool // someone can be asked
			said    string
			asked   []string
		}{
			{"asked", nil, true, opened, asked},
			{"headless", nil, false, refused, nil},
			{"denied by a rule", deny, true, refused, nil},
			{"allowed by a rule", allow, true, opened, asked[1:]},
			{"allowed by a rule, headless", allow, false, opened, nil},
		} {
			t.Run(string(level)+"/"+tt.name, func(t *testing.T) {
				t.Setenv("TMPDIR", t.TempDir())
				var said strings.Builder
				var hints []string
				spec := teamSpec(t, lone+"[experts.lead.skills.'@perstack/base']\nallowedDomains = ['listed.invalid']\n", t.TempDir())
				spec.Isolation.Sandbox = expert.SandboxAuto
				spec.Approvals.Sources = tt.rules
				parts := newParts(t, fetching, func(e event.Event) error {
					if end, ok := e.Body.(event.EndToolCall); ok {
						said.WriteString(event.FirstText(end.ToolResult.Result))
					}
					if b, ok := e.Body.(event.ProxyAccess); ok && b.Reason == "domain" {
						hints = append(hints, b.Domain)
					}
					return nil
				})
				p := &porter{}
				if tt.present {
					parts.Approver = p
				}
				r, err := local.RunOn(t.Context(), level, spec, parts)
				if err != nil || r.Status != event.StatusCompleted {
					t.Fatalf("%+v, %v", r, err)
				}
				for line := range strings.Lines(tt.said) {
					if !strings.Contains(said.String(), strings.TrimSpace(line)) {
						t.Errorf("%q is missing in %s", line, said.String())
					}
				}
				if !slices.Equal(p.asked, tt.asked) {
					t.Errorf("asked about %q", p.asked)
				}
				if !slices.Contains(hints, "no.invalid") {
					t.Errorf("reported as blocked: %q", hints)
				}
				if text := "no.invalid cannot be reached from the sandbox"; !strings.Contains(said.String(), text) {
					t.Errorf("the model is not told: %s", said.String())
				}
			})
		}
	}
}
