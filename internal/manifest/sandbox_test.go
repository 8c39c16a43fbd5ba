package manifest

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/perstack-go/perstack/expert"
	"github.com/perstack-go/perstack/job"
)

// What a sandbox may be is said on skills that have processes, and nowhere else.
func TestReadSandbox(t *testing.T) {
	c := check(t, skillWith("mcpStdioSkill", "command='x'\nsandbox='landlock'\nworkspace='none'")+
		"\n[experts.a.skills.\"@perstack/base\"]\ntype='mcpStdioSkill'\nworkspace='readOnly'\nsandbox='landlock'")
	s, _ := c.Experts[0].Skill("s")
	base, _ := c.Experts[0].Skill(expert.BaseSkill)
	if s.Sandbox != expert.SandboxLandlock || s.Workspace != expert.WorkspaceNone || base.Sandbox != expert.SandboxLandlock || base.Workspace != expert.WorkspaceRead || !base.BuiltIn {
		t.Errorf("%+v, %+v", s, base)
	}
	const none = "unknown key; no process runs here for such a skill; only an mcpStdioSkill has a sandbox"
	check(t, skillWith("mcpStdioSkill", "command='x'\nsandbox='seccomp'"), `p.toml:6:9: experts.a.skills.s.sandbox: unknown value "seccomp"; use landlock`)
	check(t, skillWith("mcpStdioSkill", "command='x'\nsandbox=true"), `p.toml:6:9: experts.a.skills.s.sandbox: must be a string, not a boolean; put it in quotes`)
	check(t, skillWith("mcpStdioSkill", "command='x'\nworkspace='readonly'"), `p.toml:6:11: experts.a.skills.s.workspace: unknown value "readonly"; did you mean "readOnly"?`)
	check(t, skillWith("mcpHttpSkill", "endpoint='https://a.example'\nsandbox='landlock'"), "p.toml:6:1: experts.a.skills.s.sandbox: "+none)
	check(t, skillWith("mcpSseSkill", "endpoint='https://a.example'\nworkspace='none'"), "p.toml:6:1: experts.a.skills.s.workspace: "+none)
	check(t, skillWith("interactiveSkill", "tools.t={inputJsonSchema='{}'}\nsandbox='landlock'"), "p.toml:6:1: experts.a.skills.s.sandbox: "+none)
	check(t, expertWith("sandbox='landlock'"), "p.toml:3:1: experts.a.sandbox: unknown key; it belongs to a skill: move it into [experts.<name>.skills.<skill>]")
}

// A permission that nothing enforces is an error, unless something gives the skill a
// sandbox; a list of hosts that nothing enforces is a warning.
func TestMissingSandboxes(t *testing.T) {
	const (
		right = `p.toml:6:1: experts.a.skills.s.workspace: it is not enforced: with runtime local the skill has no sandbox; add sandbox = "landlock" beside it, or use a sandbox for all skills or runtime docker`
		hosts = `p.toml:6:1: warning: experts.a.skills.s.allowedDomains: is not enforced by runtime local without sandbox = "landlock" or a sandbox for all skills; runtime docker does`
	)
	for name, tt := range map[string]struct {
		text  string
		flags job.Settings
		want  []string
	}{
		"workspace alone":       {"command='x'\nworkspace='none'", job.Settings{}, []string{right}},
		"even as usual":         {"command='x'\nworkspace='readWrite'", job.Settings{}, []string{right}},
		"with a sandbox":        {"command='x'\nworkspace='none'\nsandbox='landlock'", job.Settings{}, nil},
		"with the flag":         {"command='x'\nworkspace='none'", job.Settings{Isolation: job.Isolation{Sandbox: true}}, nil},
		"in a container":        {"command='x'\nworkspace='none'", job.Settings{Runtime: job.Docker}, nil},
		"hosts alone":           {"command='x'\nallowedDomains=['a.example']", job.Settings{}, []string{hosts}},
		"hosts with a sandbox":  {"command='x'\nallowedDomains=['a.example']\nsandbox='landlock'", job.Settings{}, nil},
		"hosts with the flag":   {"command='x'\nallowedDomains=['a.example']", job.Settings{Isolation: job.Isolation{Sandbox: true}}, nil},
		"hosts of a remote one": {"endpoint='https://a.example'\nallowedDomains=['a.example']", job.Settings{Isolation: job.Isolation{Sandbox: true}}, []string{`p.toml:6:1: warning: experts.a.skills.s.allowedDomains: is not enforced by runtime local; runtime docker does`}},
		"a sandbox in one":      {"command='x'\nsandbox='landlock'", job.Settings{Runtime: job.Docker}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			kind := "mcpStdioSkill"
			if tt.text[0] == 'e' {
				kind = "mcpHttpSkill"
			}
			c := check(t, skillWith(kind, tt.text))
			tt.flags.Provider = "replay"
			if d := cmp.Diff(tt.want, lines(c.Unsupported(c.Experts[0], tt.flags))); d != "" {
				t.Errorf("(-want +got)\n%s", d)
			}
		})
	}
}

// A sandbox is part of what an Expert means, and no reason to install anything again.
func TestSandboxesAndDigests(t *testing.T) {
	open := check(t, skillWith("mcpStdioSkill", "command='x'")).Experts[0]
	locked := check(t, skillWith("mcpStdioSkill", "command='x'\nsandbox='landlock'\nworkspace='none'")).Experts[0]
	other := check(t, skillWith("mcpStdioSkill", "command='x'\nsandbox='landlock'")).Experts[0]
	if open.Digest() == locked.Digest() || locked.Digest() == other.Digest() || open.Digest() == other.Digest() {
		t.Error("a definition with another sandbox has the same digest")
	}
	if open.Servers()[0].Connection() != locked.Servers()[0].Connection() {
		t.Error("a sandbox makes the lock stale")
	}
}

func TestInSandbox(t *testing.T) {
	server, base, far := &expert.Skill{Type: expert.StdioSkill}, &expert.Skill{Name: expert.BaseSkill, Type: expert.StdioSkill, BuiltIn: true}, &expert.Skill{Type: expert.HTTPSkill}
	asks := &expert.Skill{Type: expert.StdioSkill, Sandbox: expert.SandboxLandlock}
	for _, tt := range []struct {
		skill   *expert.Skill
		runtime string
		all     bool
		want    bool
	}{
		{server, "local", false, false}, {server, "local", true, true}, {server, job.Docker, false, true},
		{base, "local", false, false}, {base, "local", true, true}, {base, job.Docker, false, true},
		{far, "local", true, false}, {far, job.Docker, true, false}, {asks, "local", false, true},
	} {
		if got := tt.skill.Sandboxed(tt.runtime, tt.all); got != tt.want {
			t.Errorf("%+v with %s, %v: %v", tt.skill, tt.runtime, tt.all, got)
		}
	}
}
