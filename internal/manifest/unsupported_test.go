package manifest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/perstack-go/perstack/expert"
	"github.com/perstack-go/perstack/job"
)

func TestUnsupported(t *testing.T) {
	c := check(t, full)
	e, _ := c.Lookup("zoe")
	got := lines(c.Unsupported(e, job.Settings{}))
	want := []string{
		`p.toml:23:1: warning: experts.zoe.minRuntimeVersion: "v1.0" is what the original Perstack writes for every Expert, so it is not compared with this version`,
		`p.toml:71:1: experts.zoe.skills.local.allowPrivateEndpoint: cannot be used with runtime docker: in a container, this machine is the container itself; use runtime local, or a server on port 443 of a public host`,
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("(-want +got)\n%s", d)
	}
}

// Delegates run too: what one of them needs keeps the first from starting, and the report
// says whose it is. An Expert that cannot be reached is left alone, and so are published ones, which
// are fetched when they are needed.
func TestUnsupportedByDelegates(t *testing.T) {
	c := check(t, `
[experts.lead]
instruction = "x"
delegates = ["near", "far"]
[experts.near]
instruction = "x"
delegates = [
  "deep",
  "@reg/gone@1.0.0",
]
[experts.deep]
instruction = "x"
minRuntimeVersion = "v9"
delegates = ["lead", "deep@2.0.0"]
providerTools = ["webSearch"]
providerSkills = [{type = "builtin", skillId = "pdf"}]
providerToolOptions = {webFetch = {maxUses = 1}}
[experts.deep.skills."@perstack/base"]
type = "mcpStdioSkill"
allowedDomains = ["x.example"]
[experts.alone]
instruction = "x"
delegates = ["@reg/other"]
`)
	want := []string{
		`p.toml:4:1: experts.lead.delegates.1: delegate "far" is not in this file; define it, or write "far@latest" for a published Expert`,
		`p.toml:13:1: warning: experts.deep.minRuntimeVersion: the Expert needs perstack 9.0.0 or newer, and this is a build before the release 0.1.0, which may lack what it needs`,
		`p.toml:14:1: experts.deep.delegates.1: delegate "deep@2.0.0" is not in this file; it has version 1.0.0 of it`,
		`p.toml:15:1: warning: experts.deep.providerTools: is not used by provider replay, whose answers are prepared`,
		`p.toml:16:1: warning: experts.deep.providerSkills: is not used by provider replay, whose answers are prepared`,
		`p.toml:20:1: warning: experts.deep.skills."@perstack/base".allowedDomains: is not enforced by runtime local without sandbox = "landlock" or a sandbox for all skills; runtime docker does`,
	}
	off := job.Isolation{Sandbox: expert.SandboxOff}
	if d := cmp.Diff(want, lines(c.Unsupported(c.Experts[0], job.Settings{Provider: "replay", Isolation: off}))); d != "" {
		t.Errorf("(-want +got)\n%s", d)
	}
	if d := cmp.Diff(want[:1], lines(c.UnsupportedBy(c.Experts[:1], job.Settings{Provider: "replay"}))); d != "" {
		t.Errorf("without delegates (-want +got)\n%s", d)
	}
}

// Experts of one file that ask each other can be run.
func TestDelegatesOfTheFileAreSupported(t *testing.T) {
	c := check(t, "[experts.a]\ninstruction='x'\ndelegates=['b@1.0.0']\n[experts.b]\ninstruction='x'\ndelegates=['a']")
	if ps := c.Unsupported(c.Experts[0], job.Settings{}); ps != nil {
		t.Errorf("%v", ps)
	}
}

// What a provider runs itself is used with those that can do it, and refused with others.
func TestUnfittingProviderFeatures(t *testing.T) {
	tools := func(names, more string) *Config {
		return check(t, expertWith("providerTools = ["+names+"]\n"+more))
	}
	const skills, ids = "providerSkills = [{type = 'builtin', skillId = 'pdf'}]", "providerToolOptions = {fileSearch = {vectorStoreIds = ['v']}}"
	for _, c := range []struct {
		config   *Config
		provider string
		want     []string
	}{
		{tools("'webSearch', 'webFetch', 'codeExecution'", skills), "anthropic", nil},
		{tools("'googleMaps', 'webSearch'", ""), "anthropic", []string{
			`p.toml:3:1: experts.a.providerTools.0: provider "anthropic" has no tool "googleMaps"; it has webSearch, webFetch and codeExecution`}},
		{tools("'webSearch', 'fileSearch', 'codeInterpreter', 'imageGeneration'", ids), "openai", nil},
		{tools("'webFetch'", skills), "openai", []string{
			`p.toml:3:1: experts.a.providerTools.0: provider "openai" has no tool "webFetch"; it has webSearch, fileSearch, codeInterpreter and imageGeneration`,
			`p.toml:4:1: experts.a.providerSkills: provider "openai" runs no skills itself; only anthropic does; remove them`}},
		{tools("'googleSearch', 'codeExecution', 'urlContext', 'fileSearch', 'googleMaps'", ids), "google", nil},
		{tools("'enterpriseWebSearch'", ""), "google", []string{
			`p.toml:3:1: experts.a.providerTools.0: provider "google" has no tool "enterpriseWebSearch"; it has googleSearch, codeExecution, urlContext, fileSearch and googleMaps`}},
		{tools("'enterpriseWebSearch', 'googleSearch'", ""), "google-vertex", nil},
		{tools("'webSearchPreview'", ""), "azure-openai", []string{
			`p.toml:3:1: experts.a.providerTools.0: provider "azure-openai" has no tool "webSearchPreview"; it is asked by Chat Completions, which has none; use openai for them`}},
		{tools("'webSearch'", ""), "amazon-bedrock", []string{`p.toml:3:1: experts.a.providerTools.0: provider "amazon-bedrock" has no tool "webSearch"; it has none; remove it`}},
		{tools("'webSearch'", ""), "ollama", []string{`p.toml:3:1: experts.a.providerTools.0: provider "ollama" has no tool "webSearch"; it has none; remove it`}},
		{tools("'webSearch'", ""), "deepseek", []string{`p.toml:3:1: experts.a.providerTools.0: provider "deepseek" has no tool "webSearch"; it has none; remove it`}},
		{tools("'webSearch'", skills), "replay", []string{
			`p.toml:3:1: warning: experts.a.providerTools: is not used by provider replay, whose answers are prepared`,
			`p.toml:4:1: warning: experts.a.providerSkills: is not used by provider replay, whose answers are prepared`}},
	} {
		if d := cmp.Diff(c.want, lines(c.config.Unsupported(c.config.Experts[0], job.Settings{Provider: c.provider}))); d != "" {
			t.Errorf("%s (-want +got)\n%s", c.provider, d)
		}
	}
}

// What comes from a default has no place in the file, and what comes from a flag
// is not blamed on the file.
func TestUnsupportedWithoutPlace(t *testing.T) {
	plain := check(t, expertWith(""))
	named := check(t, "runtime = 'docker'\nprovider.providerName = 'openai'\n"+expertWith(""))
	const all = "anthropic, google, openai, ollama, azure-openai, amazon-bedrock, google-vertex, deepseek, openai-compatible or replay"
	for _, c := range []struct {
		config            *Config
		provider, runtime string
		want              []string
	}{
		{plain, "", "", nil},
		{plain, "anthropic", "", nil},
		{plain, "openai", "", nil},
		{plain, "foo", "", []string{`provider "foo" is unknown; use ` + all}},
		{plain, "opnai", "", []string{`provider "opnai" is unknown; did you mean "openai"?`}},
		{plain, "\x1b[31m", "", []string{`provider "\x1b[31m" is unknown; use ` + all}},
		{plain, "replay", "", nil},
		{named, "replay", "local", nil},
		{named, "openai", "docker", nil},
		{check(t, "runtime = 'gemini'\n"+expertWith("")), "", "", []string{`p.toml:1:1: runtime: runtime "gemini" cannot be used by this version yet; only local and docker can`}},
		{named, "replay", "cursor", []string{`runtime "cursor" cannot be used by this version yet; only local and docker can`}},
		{named, "replay", "dokcer", []string{`runtime "dokcer" is unknown; did you mean "docker"?`}},
	} {
		if d := cmp.Diff(c.want, lines(c.config.Unsupported(c.config.Experts[0], job.Settings{Provider: c.provider, Runtime: c.runtime}))); d != "" {
			t.Errorf("provider %q, runtime %q (-want +got)\n%s", c.provider, c.runtime, d)
		}
	}
}

// A finding of somebody else about the file stands where the key does.
func TestProblemHasAPlace(t *testing.T) {
	for text, want := range map[string]string{
		"[provider]\nproviderName='replay'\n[provider.setting]\ncassette='x'": "p.toml:4:1: provider.setting.cassette: m; h",
		"[provider]\nproviderName='replay'\n[provider.setting]\n":             "p.toml:3:11: provider.setting.cassette: m; h",
		"\n[provider]\nproviderName='replay'":                                 "p.toml:2:2: provider.setting.cassette: m; h",
		"":                                                                    "p.toml: provider.setting.cassette: m; h",
	} {
		if got := check(t, text).Problem("provider.setting.cassette", "m", "h").String(); got != want {
			t.Errorf("%q: got %s, want %s", text, got, want)
		}
	}
}

func TestUnsupportedWarnings(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, FileName)
	text := "provider.providerName = 'replay'\n" + expertWith("[experts.a.skills.\"@perstack/base\"]\ntype='mcpStdioSkill'\nallowedDomains=['x.example']")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	c, ps, err := Load(path)
	if err != nil || ps != nil {
		t.Fatal(ps, err)
	}
	ps = c.Unsupported(c.Experts[0], job.Settings{Isolation: job.Isolation{Sandbox: expert.SandboxOff}})
	want := []string{
		`DIR/perstack.toml:6:1: warning: experts.a.skills."@perstack/base".allowedDomains: is not enforced by runtime local without sandbox = "landlock" or a sandbox for all skills; runtime docker does`,
	}
	if d := cmp.Diff(strings.Join(want, "\n"), strings.ReplaceAll(ps.Error(), dir, "DIR")); d != "" || ps.Err() != nil {
		t.Errorf("error %v (-want +got)\n%s", ps.Err(), d)
	}
}

// A release refuses an Expert that needs a newer one; a build before a release warns.
func TestMinRuntimeVersion(t *testing.T) {
	for text, want := range map[string]struct{ released, between string }{
		"0.1.0":        {},
		"v0.1":         {},
		"0":            {},
		"0.1.0-rc.1":   {},
		"0.1.0+build7": {},
		"0.1.1-rc.1":   {"needs perstack 0.1.1-rc.1 or newer, and this is 0.1.0; install", "warning: experts.a.minRuntimeVersion: the Expert needs perstack 0.1.1-rc.1 or newer, and this is a build before the release 0.1.0"},
		"1":            {"needs perstack 1.0.0 or newer", "warning: experts.a.minRuntimeVersion: the Expert needs perstack 1.0.0"},
		"v1.0":         {"warning: experts.a.minRuntimeVersion: \"v1.0\" is what the original", "warning: experts.a.minRuntimeVersion: \"v1.0\" is what the original"},
		"soon":         {"\"soon\" is not a version; write it like 1.2.0", "is not a version"},
		"1.2.3.4":      {"is not a version", "is not a version"},
	} {
		for _, released := range []bool{true, false} {
			c := check(t, "[experts.a]\ninstruction = 'x'\nminRuntimeVersion = '"+text+"'\n")
			u := &use{config: c, expert: c.Experts[0], number: "0.1.0", released: released}
			u.minRuntimeVersion()
			got, part := strings.Join(lines(u.problems), "\n"), want.between
			if released {
				part = want.released
			}
			if (got == "") != (part == "") || !strings.Contains(got, part) {
				t.Errorf("%s, released %t: got %q, want %q", text, released, got, part)
			}
		}
	}
}
