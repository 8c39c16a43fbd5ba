package manifest

import (
	"strings"
	"testing"
)

func digestOf(t *testing.T, text string) string {
	t.Helper()
	c, ps := Parse("p.toml", []byte(text))
	if ps.Err() != nil {
		t.Fatal(ps.Err())
	}
	return c.Experts[0].Digest()
}

const digested = `
[experts.a]
version = "1.0.0"
instruction = "Do it."
tags = ["x"]
[experts.a.skills.one]
type = "mcpStdioSkill"
command = "npx"
packageName = "one"
[experts.a.skills.two]
type = "interactiveSkill"
[experts.a.skills.two.tools.t]
inputJsonSchema = '{"type": "object", "required": ["q"], "maxProperties": 1}'
`

const remote = "type = 'mcpHttpSkill'\nendpoint = 'https://far.example'"

func TestDigestIgnoresLayout(t *testing.T) {
	want := digestOf(t, digested)
	if len(want) != 64 || strings.Trim(want, "0123456789abcdef") != "" {
		t.Fatalf("digest %q is not SHA-256 in hex", want)
	}
	same := `
# The same Expert, written by somebody else; the version is the default.
[experts.a.skills.two]
tools.t = {name = "t", inputJsonSchema = '''{
  "maxProperties": 1, "required": ["q"],
  "type": "obj\u0065ct"
}'''}
type = 'interactiveSkill'
[experts.a]
tags = [
  "x", # a comment
]
instruction = 'Do it.'
[experts.a.skills]
one = {pick = [], packageName = "one", command = "npx", type = "mcpStdioSkill"}
`
	if got := digestOf(t, same); got != want {
		t.Errorf("digest depends on layout: %s, %s", got, want)
	}
}

func TestDigestSeesEveryChange(t *testing.T) {
	seen := map[string]string{digestOf(t, digested): "the original"}
	for _, change := range []struct{ old, new string }{
		{`[experts.a]`, `[experts.a]` + "\ndescription = 'd'"},
		{`[experts.a]`, `[experts.a]` + "\ndelegates = ['b']"},
		{`[experts.a]`, `[experts.a]` + "\nminRuntimeVersion = 'v1'"},
		{`[experts.a]`, `[experts.a]` + "\nproviderTools = ['webSearch']"},
		{`[experts.a]`, `[experts.a]` + "\nproviderSkills = [{type='builtin', skillId='pdf'}]"},
		{`[experts.a]`, `[experts.a]` + "\nproviderToolOptions = {webFetch = {maxUses = 2}}"},
		{`[experts.a]`, `[experts.a]` + "\nmaxSteps = 2"},
		{`[experts.a]`, `[experts.a]` + "\nmaxSteps = 3"},
		{`[experts.a]`, `[experts.a]` + "\nmaxTokens = 2"},
		{`[experts.a]`, `[experts.a]` + "\nmaxCost = 2"},
		{`[experts.a]`, `[experts.a]` + "\nmaxCost = 2.5"},
		{`[experts.a]`, `[experts.a]` + "\nmaxDuration = '2ms'"},
		{`[experts.a]`, `[experts.a]` + "\nmaxDuration = '2s'"},
		{`[experts.a]`, `[experts.a]` + "\nmodel = 'm'"},
		{`[experts.a]`, `[experts.a]` + "\nmodel = 'm'\nprovider = {providerName = 'openai'}"},
		{`[experts.a]`, `[experts.a]` + "\nmodel = 'm'\nprovider = {providerName = 'openai', setting = {baseUrl = 'https://one.example/v1'}}"},
		{`[experts.a]`, `[experts.a]` + "\nmodel = 'm'\nprovider = {providerName = 'openai', setting = {baseUrl = 'https://two.example/v1'}}"},
		{`[experts.a]`, `[experts.a]` + "\nmodel = 'm'\nprovider = {providerName = 'openai', setting = {project = 'p'}}"},
		{`[experts.a]`, `[experts.a]` + "\nmodel = 'm'\nprovider = {providerName = 'azure-openai'}"},
		{`[experts.a]`, `[experts.a]` + "\nmodel = 'm'\nprovider = {providerName = 'azure-openai', setting = {resourceName = 'r'}}"},
		{`[experts.a]`, `[experts.a]` + "\nmodel = 'm'\nprovider = {providerName = 'amazon-bedrock'}"},
		{`[experts.a]`, `[experts.a]` + "\nmodel = 'm'\nprovider = {providerName = 'amazon-bedrock', setting = {region = 'us-east-1'}}"},
		{`[experts.a]`, `[experts.a]` + "\nmodel = 'm'\nprovider = {providerName = 'google-vertex'}"},
		{`[experts.a]`, `[experts.a]` + "\nmodel = 'm'\nprovider = {providerName = 'google-vertex', setting = {location = 'l'}}"},
		{`version = "1.0.0"`, `version = "1.0.1"`},
		{`"Do it."`, `"Do it!"`},
		{`["x"]`, `["x", "y"]`},
		{`packageName = "one"`, `packageName = "one@1.0.0"`},
		{`packageName = "one"`, `args = ["one"]`},
		{`packageName = "one"`, `packageName = "one"` + "\nrule = 'r'"},
		{`packageName = "one"`, `packageName = "one"` + "\npick = ['p']"},
		{`packageName = "one"`, `packageName = "one"` + "\nomit = ['p']"},
		{`packageName = "one"`, `packageName = "one"` + "\nlazyInit = true"},
		{`packageName = "one"`, `packageName = "one"` + "\nrequiredEnv = ['K']"},
		{`packageName = "one"`, `packageName = "one"` + "\nallowedDomains = ['k.example']"},
		{`packageName = "one"`, `packageName = "one"` + "\ntoolPrefix = true"},
		{`packageName = "one"`, `packageName = "one"` + "\nstartTimeout = 1"},
		{`packageName = "one"`, `packageName = "one"` + "\nstartTimeout = 2"},
		{`packageName = "one"`, `packageName = "one"` + "\ncallTimeout = 1"},
		{`"npx"` + "\n" + `packageName = "one"`, `"one"`}, // a program without arguments
		{`[experts.a]`, "perstackBaseSkillCommand = ['x']\n[experts.a]"},
		{`[experts.a]`, "perstackBaseSkillCommand = ['x', 'y']\n[experts.a]"},
		{`[experts.a]`, `[experts.a.skills.far]` + "\n" + remote + "\n[experts.a]"},
		{`[experts.a]`, `[experts.a.skills.far]` + "\n" + remote + "\nallowPrivateEndpoint = true\n[experts.a]"},
		{`[experts.a]`, `[experts.a.skills.far]` + "\n" + remote + "\nheaders = {X = '1'}\n[experts.a]"},
		{`[experts.a]`, `[experts.a.skills.far]` + "\n" + remote + "\nheaders = {X = '2'}\n[experts.a]"},
		{`[experts.a]`, `[experts.a.skills.far]` + "\n" + remote + "\nheaders = {Y = '1'}\n[experts.a]"},
		{`skills.one`, `skills.uno`},
		{`"npx"`, `"uvx"`},
		{`["q"]`, `["r"]`},
		{`1}'`, `9007199254740993}'`},
		{`1}'`, `9007199254740992}'`}, // equal to the one above as a float
	} {
		text := strings.Replace(digested, change.old, change.new, 1)
		d := digestOf(t, text)
		if before, ok := seen[d]; ok {
			t.Errorf("%q has the digest of %q", change.new, before)
		}
		seen[d] = change.new
	}
}

// A limit written in another way is the same limit, and limits of the job, prices and
// what bounds delegation are no part of an Expert.
func TestDigestOfLimits(t *testing.T) {
	with := func(keys string) string {
		return digestOf(t, strings.Replace(digested, "[experts.a]", "[experts.a]\n"+keys, 1))
	}
	if with("maxCost = 2\nmaxDuration = '90m'\nmaxTokens = 1_000") != with("maxTokens = 1000\nmaxDuration = '1h30m'\nmaxCost = 2.0") {
		t.Error("the digest depends on how limits are written")
	}
	job := "maxSteps = 5\nmaxTokens = 5\nmaxCost = 5\nmaxDuration = '5s'\nmaxDepth = 2\nmaxParallel = 2\nprices.m = {input = 1, output = 1}\n"
	if digestOf(t, job+digested) != digestOf(t, digested) {
		t.Error("the digest of an Expert has the limits of the job")
	}
}

// The digests of files from before a key existed stay what they were: they are written
// in lockfiles.
func TestDigestIsStable(t *testing.T) {
	const want = "a49818af6e57a7d721f5b9e3c33bcf59fc3ade77d3b70e41798a512213f754f9"
	if got := digestOf(t, digested); got != want {
		t.Errorf("the digest is %s, and was %s", got, want)
	}
}
