package manifest

import (
	"strings"
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
	check(t, skillWith("mcpStdioSkill", "command='x'\nsandbox='seccomp'"), `p.toml:6:9: experts.a.skills.s.sandbox: unknown value "seccomp"; use landlock or full`)
	check(t, skillWith("mcpStdioSkill", "command='x'\nsandbox=true"), `p.toml:6:9: experts.a.skills.s.sandbox: must be a string, not a boolean; put it in quotes`)
	check(t, skillWith("mcpStdioSkill", "command='x'\nworkspace='readonly'"), `p.toml:6:11: experts.a.skills.s.workspace: unknown value "readonly"; did you mean "readOnly"?`)
	check(t, skillWith("mcpHttpSkill", "endpoint='https://a.example'\nsandbox='landlock'"), "p.toml:6:1: experts.a.skills.s.sandbox: "+none)
	check(t, skillWith("mcpSseSkill", "endpoint='https://a.example'\nworkspace='none'"), "p.toml:6:1: experts.a.skills.s.workspace: "+none)
	check(t, skillWith("interactiveSkill", "tools.t={inputJsonSchema='{}'}\nsandbox='landlock'"), "p.toml:6:1: experts.a.skills.s.sandbox: "+none)
	check(t, expertWith("sandbox='landlock'"), "p.toml:3:1: experts.a.sandbox: unknown key; it belongs to a skill: move it into [experts.<name>.skills.<skill>], or write [sandbox] with mode below it")
}

// A permission that nothing enforces is an error, unless something gives the skill a
// sandbox; a list of hosts that nothing enforces is a warning.
func TestMissingSandboxes(t *testing.T) {
	const (
		right = `p.toml:6:1: experts.a.skills.s.workspace: it is not enforced: with runtime local the skill has no sandbox; add sandbox = "landlock" beside it, or use a sandbox for all skills or runtime docker`
		hosts = `p.toml:6:1: warning: experts.a.skills.s.allowedDomains: is not enforced by runtime local without sandbox = "landlock" or a sandbox for all skills; runtime docker does`
	)
	off := job.Settings{Isolation: job.Isolation{Sandbox: expert.SandboxOff}}
	for name, tt := range map[string]struct {
		text  string
		flags job.Settings
		want  []string
	}{
		"workspace alone":       {"command='x'\nworkspace='none'", off, []string{right}},
		"even as usual":         {"command='x'\nworkspace='readWrite'", off, []string{right}},
		"by default":            {"command='x'\nworkspace='none'\nallowedDomains=['a.example']", job.Settings{}, nil},
		"with a sandbox":        {"command='x'\nworkspace='none'\nsandbox='landlock'", off, nil},
		"with the flag":         {"command='x'\nworkspace='none'", job.Settings{Isolation: job.Isolation{Sandbox: expert.SandboxAuto}}, nil},
		"in a container":        {"command='x'\nworkspace='none'", job.Settings{Runtime: job.Docker}, nil},
		"hosts alone":           {"command='x'\nallowedDomains=['a.example']", off, []string{hosts}},
		"hosts with a sandbox":  {"command='x'\nallowedDomains=['a.example']\nsandbox='landlock'", off, nil},
		"hosts with the flag":   {"command='x'\nallowedDomains=['a.example']", job.Settings{Isolation: job.Isolation{Sandbox: expert.SandboxAuto}}, nil},
		"hosts of a remote one": {"endpoint='https://a.example'\nallowedDomains=['a.example']", job.Settings{Isolation: job.Isolation{Sandbox: expert.SandboxAuto}}, []string{`p.toml:6:1: warning: experts.a.skills.s.allowedDomains: is not enforced by runtime local; runtime docker does`}},
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
		level   expert.SandboxLevel
		want    bool
	}{
		{server, "local", "", false}, {server, "local", expert.SandboxAuto, true}, {server, job.Docker, expert.SandboxOff, true},
		{base, "local", "", false}, {base, "local", expert.SandboxAuto, true}, {base, job.Docker, expert.SandboxOff, true},
		{far, "local", expert.SandboxAuto, false}, {far, job.Docker, expert.SandboxFull, false}, {asks, "local", "", true},
	} {
		if got := tt.skill.Sandboxed(tt.runtime, tt.level); got != tt.want {
			t.Errorf("%+v with %s, %v: %v", tt.skill, tt.runtime, tt.level, got)
		}
	}
}

func TestReadSandboxTable(t *testing.T) {
	const rest = "\n[experts.a]\ninstruction='x'\n"
	got := check(t, `[sandbox]
mode = "auto"
readable = ["~/datasets", "/srv"]
writable = ["../out"]
caches = []
hide = ["config/keys.json"]
protect = ["tools/"]
network = "none"
memory = "2GiB"
processes = 100
diskGrowth = 1048576
`+rest).Settings.Isolation
	want := job.Isolation{
		Sandbox: expert.SandboxAuto,
		Reach: job.Reach{
			Read: []string{"~/datasets", "/srv"}, Write: []string{"../out"}, Caches: []string{}, Hide: []string{"config/keys.json"}, Protect: []string{"tools"}, Network: job.NetworkNone,
		},
		SandboxLimits: job.SandboxLimits{Memory: 2 << 30, Processes: 100, DiskGrowth: 1 << 20},
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("(-want +got)\n%s", d)
	}
	if got := check(t, rest).Settings.Isolation; !cmp.Equal(got, job.Isolation{}) {
		t.Errorf("%+v", got)
	}
	for text, problem := range map[string]string{
		`mode = "on"`:             `p.toml:2:8: sandbox.mode: unknown value "on"; use auto, full, landlock or off`,
		`mode = true`:             `p.toml:2:8: sandbox.mode: must be a string, not a boolean; put it in quotes`,
		`caches = ["maven"]`:      `p.toml:2:11: sandbox.caches.0: unknown value "maven"; use go, npm, pip or cargo`,
		`network = "all"`:         `p.toml:2:11: sandbox.network: unknown value "all"; use none, listed or host`,
		`memory = "4G"`:           `p.toml:2:10: sandbox.memory: "4G" is not a size; write a whole number with its unit, like "512MiB", "2GiB" or "1GB"`,
		`diskGrowth = "1KiB"`:     `p.toml:2:14: sandbox.diskGrowth: must be between 1MiB and 4TiB`,
		`processes = 1`:           `p.toml:2:13: sandbox.processes: must be between 16 and 4194304; it counts processes and threads`,
		`hide = ["/etc/passwd"]`:  `p.toml:2:9: sandbox.hide.0: "/etc/passwd" is not a path in the workspace; write it relative to the workspace, like config/keys.json`,
		`protect = ["a/../../b"]`: `p.toml:2:12: sandbox.protect.0: "a/../../b" is not a path in the workspace; write it relative to the workspace, like config/keys.json`,
		`protect = ["./"]`:        `p.toml:2:12: sandbox.protect.0: "./" is not a path in the workspace; write it relative to the workspace, like config/keys.json`,
		`readable = [""]`:         `p.toml:2:13: sandbox.readable.0: is empty; write something or remove the key`,
		`sharedSandbox = true`:    `p.toml:2:1: sandbox.sharedSandbox: unknown key; a file cannot lower isolation; only the command line can`,
	} {
		check(t, "[sandbox]\n"+text+rest, problem)
	}
	check(t, "[docker]\nreadable = ['a']"+rest, "p.toml:2:1: docker.readable: unknown key; it is about sandboxes: move it into [sandbox]")
}

// The table of the base skill needs nothing that says which program serves it.
func TestBaseSkillWithoutType(t *testing.T) {
	const base = "[experts.a]\ninstruction='x'\n[experts.a.skills.'@perstack/base']\n"
	s, _ := check(t, base+"allowedDomains=['a.example']\nomit=['exec']\nsandbox='full'\nworkspace='readOnly'").Experts[0].Skill(expert.BaseSkill)
	if !s.BuiltIn || s.Implicit || s.Type != expert.StdioSkill || len(s.AllowedDomains) != 1 || s.Sandbox != expert.SandboxFull || s.StartsPrograms() {
		t.Errorf("%+v", s)
	}
	if s, _ := check(t, base).Experts[0].Skill(expert.BaseSkill); !s.BuiltIn {
		t.Errorf("%+v", s)
	}
	kinds := "use mcpStdioSkill, mcpSseSkill, mcpHttpSkill or interactiveSkill"
	check(t, base+"command='x'", "p.toml:3:19: experts.a.skills.\"@perstack/base\".type: is required; "+kinds)
	check(t, base+"endpoint='https://a.example/'", "p.toml:3:19: experts.a.skills.\"@perstack/base\".type: is required; "+kinds)
	check(t, "perstackBaseSkillCommand=['x']\n"+base+"omit=['exec']")
	check(t, strings.ReplaceAll(base, "@perstack/base", "s")+"omit=['exec']", "p.toml:3:19: experts.a.skills.s.type: is required; "+kinds)
}
