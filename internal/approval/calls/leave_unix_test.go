//go:build unix

package calls

import (
	"testing"

	"github.com/perstack-go/perstack/engine"
	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/expert"
	"github.com/perstack-go/perstack/job"
	"github.com/perstack-go/perstack/rawjson"
)

// leave decides about a host that a program of a skill wants to reach during a call of exec.
func leave(t *testing.T, d *Decider, skill, host string, grants ...engine.Grant) engine.Decision {
	t.Helper()
	return d.Decide(t.Context(), engine.CallRequest{
		Experts: []string{"lead", "dev"}, Grants: grants, Leaves: &event.Effect{Kind: event.HostEffect, Host: host},
		Plan: d.Spec.Approvals.Plan,
		Call: event.ToolCall{ID: "c1", SkillName: skill, ToolName: "exec", Args: rawjson.Value(`{"command":"curl"}`)},
	})
}

func TestLeave(t *testing.T) {
	const host = "a.example:443"
	curl := job.Rule{Command: []string{"curl", "**"}, Do: job.Allow}
	for name, c := range map[string]struct {
		change func(*job.Spec)
		want   job.Verdict
	}{
		"auto":                    {preset(job.PresetAuto), job.Ask},
		"ask":                     {preset(job.PresetAsk), job.Ask},
		"never":                   {preset(job.PresetNever), job.Deny},
		"read-only":               {preset(job.PresetReadOnly), job.Deny},
		"planning":                {func(s *job.Spec) { s.Approvals.Plan = true }, job.Deny},
		"everything":              {func(s *job.Spec) { s.Approvals.AllowAll = true }, job.Allow},
		"the host is allowed":     {rules(job.Rule{Host: "a.example", Do: job.Allow}), job.Allow},
		"the host is denied":      {rules(job.Rule{Host: "*.example", Do: job.Deny}, job.Rule{Host: "a.example", Do: job.Allow}), job.Deny},
		"the command is allowed":  {rules(curl), job.Ask},
		"the Expert is allowed":   {rules(job.Rule{Expert: "dev", Do: job.Allow}), job.Ask},
		"for another Expert only": {rules(job.Rule{Expert: "lead", Host: "a.example", Do: job.Allow}), job.Ask},
	} {
		d, _ := newDecider(t, c.change)
		if got := leave(t, d, expert.BaseSkill, host); got.Do != c.want {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

// A grant for a host is for one Expert, one skill and one host, and for no call.
func TestLeaveGrants(t *testing.T) {
	const host = "a.example:443"
	d, _ := newDecider(t, preset(job.PresetAsk))
	asked := leave(t, d, expert.BaseSkill, host)
	if asked.Effect.Host != host || asked.Sandbox != string(expert.SandboxFull) || asked.Digest == "" {
		t.Errorf("asked %+v", asked)
	}
	grant := engine.Grant{Digest: asked.Digest, Leaves: true}
	if got := leave(t, d, expert.BaseSkill, host, grant); got.Do != job.Allow || got.By != "an answer for this job" {
		t.Errorf("granted: %+v", got)
	}
	for _, c := range [][2]string{{"web", host}, {expert.BaseSkill, "b.example:443"}, {expert.BaseSkill, "a.example:80"}} {
		if got := leave(t, d, c[0], c[1], grant); got.Do != job.Ask {
			t.Errorf("%s: %+v", c, got)
		}
	}
	if got := decide(t, d, `base exec {"command":"curl"}`, grant, engine.Grant{Skill: expert.BaseSkill, Tool: "exec", Args: rawjson.Value(`{"command":"curl"}`), Leaves: true}); got.Do != job.Ask {
		t.Errorf("the grant for a host allows a call: %+v", got)
	}
	if got := leave(t, d, expert.BaseSkill, host, engine.Grant{Digest: asked.Digest}); got.Do != job.Ask {
		t.Errorf("the grant for a call allows a host: %+v", got)
	}
	d.Granted = func(q engine.GrantRequest) (string, bool) {
		return "stored", q.Expert == "dev" && q.Host == host && q.Call.SkillName == expert.BaseSkill
	}
	if got := leave(t, d, expert.BaseSkill, host); got.Do != job.Allow || got.By != "stored" {
		t.Errorf("stored: %+v", got)
	}
}

// A directory outside of the sandbox is decided about as a whole: a rule about something in it counts,
// if it asks or denies. One that allows is about the directory itself.
func TestLeaveForDirectory(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*job.Spec)
		want   job.Verdict
	}{
		"auto":                      {preset(job.PresetAuto), job.Ask},
		"never":                     {preset(job.PresetNever), job.Deny},
		"read-only":                 {preset(job.PresetReadOnly), job.Deny},
		"planning":                  {func(s *job.Spec) { s.Approvals.Plan = true }, job.Deny},
		"everything":                {func(s *job.Spec) { s.Approvals.AllowAll = true }, job.Allow},
		"allowed":                   {rules(job.Rule{Path: "/srv/data", Do: job.Allow}), job.Allow},
		"allowed with the others":   {rules(job.Rule{Path: "/srv/**", Do: job.Allow}), job.Allow},
		"a file in it is allowed":   {rules(job.Rule{Path: "/srv/data/a.csv", Do: job.Allow}), job.Ask},
		"of the workspace":          {rules(job.Rule{Path: "**", Do: job.Allow}), job.Ask},
		"the command is allowed":    {rules(job.Rule{Command: []string{"cat", "**"}, Do: job.Allow}), job.Ask},
		"hosts are allowed":         {rules(job.Rule{Host: "*", Do: job.Allow}), job.Ask},
		"denied":                    {rules(job.Rule{Path: "/srv/data", Do: job.Deny}, job.Rule{Path: "/srv/**", Do: job.Allow}), job.Deny},
		"a file in it is denied":    {rules(job.Rule{Path: "/srv/data/keys/*", Do: job.Deny}, job.Rule{Path: "/srv/**", Do: job.Allow}), job.Deny},
		"another one is denied":     {rules(job.Rule{Path: "/srv/other/**", Do: job.Deny}), job.Ask},
		"for another Expert only":   {rules(job.Rule{Expert: "lead", Path: "/srv/data", Do: job.Allow}), job.Ask},
		"what is denied everywhere": {rules(job.Rule{Path: "**/keys", Do: job.Deny}), job.Deny},
	} {
		d, _ := newDecider(t, c.change)
		got := d.Decide(t.Context(), engine.CallRequest{
			Experts: []string{"lead", "dev"}, Plan: d.Spec.Approvals.Plan, Leaves: &event.Effect{Kind: event.PathEffect, Path: "/srv/data", Named: "/srv/data/a.csv"},
			Call: event.ToolCall{ID: "c1", SkillName: expert.BaseSkill, ToolName: "exec", Args: rawjson.Value(`{"command":"cat"}`)},
		})
		if got.Do != c.want || got.Do == job.Ask && (got.Effect.Named != "/srv/data/a.csv" || got.Digest == "") {
			t.Errorf("%s: %+v", name, got)
		}
	}
}
