package expert

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestUnsupported(t *testing.T) {
	c := check(t, full)
	e, _ := c.Lookup("zoe")
	got := lines(c.Unsupported(e, "", ""))
	const message = "tools and skills of the provider cannot be used by this version yet"
	want := []string{
		`p.toml:4:1: runtime: runtime "docker" cannot be used by this version yet; only "local" can`,
		`p.toml:9:1: perstackBaseSkillCommand: another base skill cannot be started by this version yet; remove it`,
		`p.toml:13:1: provider.providerName: provider "anthropic" cannot be used by this version yet; only "replay" can`,
		`p.toml:17:1: warning: experts.zoe.minRuntimeVersion: is not compared with this version yet`,
		`p.toml:22:1: experts.zoe.delegates: delegates cannot be run by this version yet`,
		`p.toml:24:1: experts.zoe.providerTools: ` + message,
		`p.toml:25:1: experts.zoe.providerSkills: ` + message,
		`p.toml:27:14: experts.zoe.providerToolOptions: ` + message,
		`p.toml:39:21: experts.zoe.skills.search: skills of type mcpStdioSkill cannot be started by this version yet`,
		`p.toml:49:21: experts.zoe.skills.events: skills of type mcpSseSkill cannot be started by this version yet`,
		`p.toml:53:21: experts.zoe.skills.local: skills of type mcpHttpSkill cannot be started by this version yet`,
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("(-want +got)\n%s", d)
	}
}

// What comes from a flag or a default has no place in the file.
func TestUnsupportedWithoutPlace(t *testing.T) {
	c := check(t, expertWith(""))
	want := []string{`p.toml: provider.providerName: provider "anthropic" cannot be used by this version yet; only "replay" can`}
	if d := cmp.Diff(want, lines(c.Unsupported(c.Experts[0], "", ""))); d != "" {
		t.Errorf("(-want +got)\n%s", d)
	}
	c = check(t, "runtime = 'docker'\nprovider.providerName = 'openai'\n"+expertWith(""))
	if ps := c.Unsupported(c.Experts[0], "replay", "local"); ps != nil {
		t.Errorf("flags do not count: %v", ps)
	}
	want = []string{`p.toml: runtime: runtime "cursor" cannot be used by this version yet; only "local" can`}
	if d := cmp.Diff(want, lines(c.Unsupported(c.Experts[0], "replay", "cursor"))); d != "" {
		t.Errorf("(-want +got)\n%s", d)
	}
}

func TestUnsupportedWarnings(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, FileName)
	text := "provider.providerName = 'replay'\n" + expertWith("[experts.a.skills.\"@perstack/base\"]\ntype='mcpStdioSkill'\nallowedDomains=['x.example']")
	for name, s := range map[string]string{path: text, filepath.Join(dir, "perstack.lock"): `version = "1"`} {
		if err := os.WriteFile(name, []byte(s), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	c, ps, err := Load(path)
	if err != nil || ps != nil {
		t.Fatal(ps, err)
	}
	ps = c.Unsupported(c.Experts[0], "", "")
	want := []string{
		"DIR/perstack.lock: warning: the lockfile is not used by this version yet",
		`DIR/perstack.toml:6:1: warning: experts.a.skills."@perstack/base".allowedDomains: is not enforced by runtime local yet`,
	}
	if d := cmp.Diff(strings.Join(want, "\n"), strings.ReplaceAll(ps.Error(), dir, "DIR")); d != "" || ps.Err() != nil {
		t.Errorf("error %v (-want +got)\n%s", ps.Err(), d)
	}
}
