package card

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/perstack-go/perstack/expert"
	"github.com/perstack-go/perstack/internal/registry/definition"
)

func base(pick ...string) definition.Skill {
	return definition.Skill{Type: expert.StdioSkill, Command: "npx", PackageName: expert.BaseSkill, Pick: pick}
}

func lead() *definition.Definition {
	return &definition.Definition{
		Name: "@acme/lead", Version: "1.0.0",
		Skills: map[string]definition.Skill{
			expert.BaseSkill: base("readTextFile", "exec"),
			"search":         {Type: expert.StdioSkill, Command: "npx", PackageName: "@acme/search@1.2.3", RequiredEnv: []string{"SEARCH_KEY"}},
			"remote":         {Type: expert.HTTPSkill, Endpoint: "https://mcp.example.com/a?b=c"},
			"ask":            {Type: expert.InteractiveSkill, Tools: map[string]definition.Tool{"askUser": {}}},
		},
		Extensions: definition.Extensions{
			Skills:        map[string]definition.SkillExtensions{"search": {AllowedDomains: []string{"example.com"}, Sandbox: expert.SandboxFull, Workspace: expert.WorkspaceRead}},
			ProviderTools: []string{"webSearch"}, ProviderSkills: []expert.ProviderSkill{{Type: "builtin", SkillID: "pdf"}}, Model: "m", Provider: "anthropic",
			Limits: definition.Limits{MaxSteps: 7, MaxTokens: 9, MaxCostMicros: 250_000, MaxDurationMS: 90_000},
		},
	}
}

func reader() *definition.Definition {
	return &definition.Definition{
		Name: "@acme/reader", Version: "2.0.0",
		Skills: map[string]definition.Skill{expert.BaseSkill: base("readTextFile"), "other": {Type: expert.StdioSkill, Command: "uvx", PackageName: "other"}},
	}
}

func lines(all []Ability) (out []string) {
	for _, a := range all {
		out = append(out, fmt.Sprintf("%s: %s (%s)", a.Kind, a.Text, strings.Join(a.Experts, " ")))
	}
	return out
}

func TestOf(t *testing.T) {
	got := Of([]*definition.Definition{lead(), reader()})
	want := []string{
		"package: npx @acme/search@1.2.3 (@acme/lead)",
		"package: uvx other (@acme/reader)",
		"server: https://mcp.example.com/a?b=c (@acme/lead)",
		"variable: SEARCH_KEY for search (@acme/lead)",
		"host: any host that the sandbox allows, by other (@acme/reader)",
		"host: example.com for search (@acme/lead)",
		"tool: readTextFile (@acme/lead @acme/reader)",
		"tool: run commands (@acme/lead)",
		"providerTool: pdf (@acme/lead)",
		"providerTool: webSearch (@acme/lead)",
		"question: askUser (@acme/lead)",
		"delegate: @acme/reader (@acme/reader)",
		"model: anthropic/m (@acme/lead)",
		"isolation: sandbox full for search (@acme/lead)",
		"isolation: workspace readOnly for search (@acme/lead)",
		"limit: $0.250000 (@acme/lead)",
		"limit: 1m30s (@acme/lead)",
		"limit: 7 steps (@acme/lead)",
		"limit: 9 tokens (@acme/lead)",
	}
	if diff := cmp.Diff(want, lines(got.Abilities)); diff != "" || got.Expert != "@acme/lead@1.0.0" {
		t.Errorf("%s %s", got.Expert, diff)
	}
	for range 20 { // maps have no order
		if again := Of([]*definition.Definition{lead(), reader()}); again.Hash() != got.Hash() {
			t.Fatal("a card has two hashes")
		}
	}
}

// Another text or version is the same card. Everything that an Expert can do more is another.
func TestCompare(t *testing.T) {
	before := Of([]*definition.Definition{lead()})
	same := lead()
	same.Version, same.Instruction = "1.0.1", "Other words."
	if after := Of([]*definition.Definition{same}); after.Hash() != before.Hash() {
		t.Error("another text is another card")
	}
	for name, c := range map[string]struct {
		change       func(*definition.Definition)
		gained, lost string
	}{
		"variable": {func(d *definition.Definition) {
			s := d.Skills["search"]
			s.RequiredEnv = append(slices.Clone(s.RequiredEnv), "AWS_SECRET_ACCESS_KEY")
			d.Skills["search"] = s
		}, "variable: AWS_SECRET_ACCESS_KEY for search (@acme/lead)", ""},
		"package": {func(d *definition.Definition) {
			s := d.Skills["search"]
			s.PackageName = "@acme/search@1.2.4"
			d.Skills["search"] = s
		}, "package: npx @acme/search@1.2.4 (@acme/lead)", "package: npx @acme/search@1.2.3 (@acme/lead)"},
		"hosts": {func(d *definition.Definition) { d.Extensions.Skills = nil },
			"host: any host that the sandbox allows, by search (@acme/lead)",
			"host: example.com for search (@acme/lead)\nisolation: sandbox full for search (@acme/lead)\nisolation: workspace readOnly for search (@acme/lead)"},
		"tools": {func(d *definition.Definition) {
			d.Skills[expert.BaseSkill] = base("readTextFile", "exec", "writeTextFile")
		},
			"tool: writeTextFile (@acme/lead)", ""},
		"limits": {func(d *definition.Definition) { d.Extensions.Limits.MaxSteps = 0 }, "", "limit: 7 steps (@acme/lead)"},
	} {
		d := lead()
		c.change(d)
		after := Of([]*definition.Definition{d})
		gained, lost := Compare(before, after)
		if got := strings.Join(lines(gained), "\n"); got != c.gained {
			t.Errorf("%s: gained %s", name, got)
		}
		if got := strings.Join(lines(lost), "\n"); got != c.lost {
			t.Errorf("%s: lost %s", name, got)
		}
		if after.Hash() == before.Hash() {
			t.Errorf("%s: the same hash", name)
		}
	}
}
