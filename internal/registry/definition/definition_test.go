package definition

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/perstack-go/perstack/expert"
	"github.com/perstack-go/perstack/internal/manifest"
)

// everything is an Expert with every key that can be published.
const everything = `
[experts."@acme/lead"]
version = "2.1.0-rc.1"
minRuntimeVersion = "0.9.0"
description = "Leads"
instruction = """You lead. "Quotes", \\ and ' and ''' stay.
Tabs	too."""
model = "claude-sonnet-4-5"
provider = { providerName = "anthropic" }
delegates = ["@acme/reader", "@acme/writer@1.0.0", "helper@stable"]
tags = ["travel"]
maxSteps = 7
maxTokens = 90000
maxCost = 0.25
maxDuration = "1m30s"
providerTools = ["webSearch"]
providerSkills = [{ type = "builtin", skillId = "pdf" }]
providerToolOptions = { webSearch = { maxUses = 3, allowedDomains = ["example.com"] } }

[experts."@acme/lead".skills."@perstack/base"]
pick = ["readTextFile", "attemptCompletion"]
workspace = "readOnly"
sandbox = "landlock"

[experts."@acme/lead".skills.search]
type = "mcpStdioSkill"
description = "Finds"
rule = "Search first."
command = "npx"
packageName = "@acme/search@1.2.3"
pick = ["find"]
omit = ["drop"]
requiredEnv = ["SEARCH_KEY"]
allowedDomains = ["example.com", "*.example.org"]
lazyInit = true
toolPrefix = true
startTimeout = 5000
callTimeout = 7000

[experts."@acme/lead".skills.remote]
type = "mcpHttpSkill"
endpoint = "https://mcp.example.com/mcp"
requiredEnv = ["TOKEN"]
headers = { X-Token = "Bearer ${TOKEN}" }

[experts."@acme/lead".skills.ask]
type = "interactiveSkill"
[experts."@acme/lead".skills.ask.tools.askUser]
description = "Ask"
inputJsonSchema = '{"type": "object", "properties": {"q": {"type": "string"}}}'
`

func parsed(t *testing.T, text string) *expert.Expert {
	t.Helper()
	c, problems := manifest.Parse("perstack.toml", []byte(text))
	if err := problems.Err(); err != nil {
		t.Fatal(err)
	}
	return c.Experts[0]
}

// What is published is what the file means: the Expert that comes back has the same digest.
func TestRoundTrip(t *testing.T) {
	for name, text := range map[string]string{
		"everything": everything,
		"small":      "[experts.a]\ndescription = \"d\"\ninstruction = \"i\"\n",
	} {
		t.Run(name, func(t *testing.T) {
			want := parsed(t, text)
			d, err := FromExpert(want)
			if err != nil {
				t.Fatal(err)
			}
			again, err := Parse(d.Encode())
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(d.Encode(), again.Encode()); diff != "" {
				t.Error(diff)
			}
			got, err := again.Expert()
			if err != nil {
				t.Fatalf("%v\n%s", err, again.TOML(d.Name))
			}
			if got.Key != want.Name+"@"+want.Version {
				t.Errorf("key %s", got.Key)
			}
			if got.Digest() != want.Digest() {
				t.Errorf("another Expert came back: %s", cmp.Diff(want, got))
			}
		})
	}
}

// The text of a definition is a promise: a digest is for ever.
func TestEncodeStays(t *testing.T) {
	d, err := FromExpert(parsed(t, everything))
	if err != nil {
		t.Fatal(err)
	}
	golden := filepath.Join("testdata", "everything.json")
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(strings.TrimSpace(string(want)), string(d.Encode())); diff != "" {
		t.Error(diff)
	}
	const digest = "sha256:7555bd8863aca251902833694d31452205e3eb5b628985945c2b111f86f738b3"
	if got := Digest(d.Encode()); got != digest {
		t.Errorf("digest %s", got)
	}
}

func TestNotPublishable(t *testing.T) {
	skill := func(keys string) string {
		return "[experts.a]\ndescription = \"d\"\ninstruction = \"i\"\n[experts.a.skills.s]\n" + keys
	}
	for _, c := range []struct{ name, text, want string }{
		{"program", skill("type = \"mcpStdioSkill\"\ncommand = \"node\"\nargs = [\"x.js\"]\n"), `skills.s.command: "node" is a program of your machine`},
		{"arguments", skill("type = \"mcpStdioSkill\"\ncommand = \"npx\"\nargs = [\"-y\", \"pkg@1.0.0\", \"--flag\"]\n"), "skills.s.args: only a package can be published, without arguments"},
		{"private", skill("type = \"mcpSseSkill\"\nendpoint = \"https://10.0.0.1/sse\"\nallowPrivateEndpoint = true\n"), "skills.s.allowPrivateEndpoint: cannot be published"},
		{"settings", "[experts.a]\ndescription = \"d\"\ninstruction = \"i\"\nprovider = { providerName = \"openai\", setting = { project = \"p\" } }\n", "provider: has settings, which depend on the machine"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := FromExpert(parsed(t, c.text))
			var faults Faults
			if !errors.As(err, &faults) || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v", err)
			}
		})
	}
}

// What a registry sends is checked like a file, and more strictly.
func TestRefused(t *testing.T) {
	base := func() *Definition {
		d, err := FromExpert(parsed(t, everything))
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	for _, c := range []struct {
		name   string
		change func(*Definition)
		want   string
	}{
		{"shell", func(d *Definition) {
			d.Skills["x"] = Skill{Type: expert.StdioSkill, Command: "bash", PackageName: "x"}
		}, `skills.x.command: "bash" cannot be published`},
		{"path", func(d *Definition) {
			d.Skills["x"] = Skill{Type: expert.StdioSkill, Command: "/usr/bin/npx", PackageName: "x"}
		}, "skills.x.command"},
		{"option as package", func(d *Definition) {
			d.Skills["x"] = Skill{Type: expert.StdioSkill, Command: "npx", PackageName: "--call=sh"}
		}, "skills.x.packageName"},
		{"no package", func(d *Definition) { d.Skills["x"] = Skill{Type: expert.StdioSkill, Command: "npx"} }, "skills.x.packageName: is missing"},
		{"unknown type", func(d *Definition) { d.Skills["x"] = Skill{Type: "shellSkill"} }, "skills.x.type"},
		{"no base", func(d *Definition) { delete(d.Skills, expert.BaseSkill) }, "skills: @perstack/base is required"},
		{"loopback", func(d *Definition) {
			d.Skills["x"] = Skill{Type: expert.SSESkill, Endpoint: "http://localhost:1/sse"}
		}, "skills.x.endpoint"},
		{"private address", func(d *Definition) {
			d.Skills["x"] = Skill{Type: expert.SSESkill, Endpoint: "https://169.254.169.254/"}
		}, "skills.x.endpoint"},
		{"loader variable", func(d *Definition) {
			d.Skills["x"] = Skill{Type: expert.StdioSkill, Command: "npx", PackageName: "x", RequiredEnv: []string{"LD_PRELOAD"}}
		}, "skills.x.requiredEnv"},
		{"key of perstack", func(d *Definition) {
			d.Skills["x"] = Skill{Type: expert.StdioSkill, Command: "npx", PackageName: "x", RequiredEnv: []string{"PERSTACK_API_KEY"}}
		}, "belongs to perstack itself"},
		{"keys of an agent", func(d *Definition) {
			d.Skills["x"] = Skill{Type: expert.StdioSkill, Command: "npx", PackageName: "x", RequiredEnv: []string{"SSH_AUTH_SOCK"}}
		}, "SSH_AUTH_SOCK would give the skill the SSH keys"},
		{"variable in a header", func(d *Definition) {
			d.Extensions.Skills["remote"] = SkillExtensions{Headers: map[string]string{"X-A": "${PERSTACK_API_KEY}"}}
		}, "PERSTACK_API_KEY"},
		{"build metadata", func(d *Definition) { d.Version = "1.0.0+a" }, "version:"},
		{"version", func(d *Definition) { d.Version = "1.0.0-01" }, "version:"},
		{"name", func(d *Definition) { d.Name = "a.b" }, "is not a valid expert name"},
		{"description", func(d *Definition) { d.Description = "" }, "description: is missing"},
		{"long instruction", func(d *Definition) { d.Instruction = strings.Repeat("x", 20481) }, "instruction"},
		{"runtime", func(d *Definition) { d.MinRuntimeVersion = "v2.0" }, "minRuntimeVersion"},
		{"range", func(d *Definition) { d.Extensions.RuntimeRange = "<2" }, "extensions.runtimeRange"},
		{"settings of no skill", func(d *Definition) { d.Extensions.Skills["none"] = SkillExtensions{LazyInit: true} }, "extensions.skills.none"},
		{"table in a name", func(d *Definition) { d.Skills["a]\n[experts.b"] = Skill{Type: expert.InteractiveSkill} }, "the name"},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := base()
			c.change(d)
			_, err := d.Expert()
			var faults Faults
			if !errors.As(err, &faults) || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v", err)
			}
		})
	}
}

func TestParseRefuses(t *testing.T) {
	d, err := FromExpert(parsed(t, everything))
	if err != nil {
		t.Fatal(err)
	}
	text := string(d.Encode())
	for _, c := range []struct{ name, text, want string }{
		{"blank", " " + text, "canonical"},
		{"escape", strings.Replace(text, "You lead", `\u0059ou lead`, 1), "canonical"},
		{"empty list", strings.Replace(text, `"omit":["drop"]`, `"omit":[]`, 1), "canonical"},
		{"unknown member", strings.Replace(text, `{"delegates"`, `{"args":["x"],"delegates"`, 1), "unknown"},
		{"twice", strings.Replace(text, `"delegates"`, `"delegates":[],"delegates"`, 1), "duplicate"},
		{"float", strings.Replace(text, `"maxSteps":7`, `"maxSteps":7.5`, 1), "integer"},
		{"large", strings.Replace(text, `"maxSteps":7`, `"maxSteps":9007199254740992`, 1), "integer"},
		{"nul", strings.Replace(text, "You lead", `You\u0000lead`, 1), "NUL"},
		{"utf-8", strings.Replace(text, "You lead", "You \xff", 1), "UTF-8"},
		{"schema", strings.Replace(text, Schema, "perstack.expert/2", 1), "schema"},
		{"deep", strings.Replace(text, `"description":"Leads"`, `"description":`+strings.Repeat("[", 40)+strings.Repeat("]", 40), 1), "nested"},
		{"after", text + "{}", "cannot be read"},
		{"size", text + strings.Repeat(" ", MaxSize), "bytes"},
		{"nothing", "", "cannot be read"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if _, err := Parse([]byte(c.text)); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v", err)
			}
		})
	}
}

func TestVersions(t *testing.T) {
	for version, want := range map[string]bool{
		"1.0.0": true, "0.0.1": true, "1.0.0-beta.1": true, "10.20.30": true,
		"1.0": false, "v1.0.0": false, "01.0.0": false, "1.0.0-01": false, "1.0.0-..": false, "1.0.0-a_b": false, "1.0.0+b": false, "": false, "latest": false,
		"1.0.0-" + strings.Repeat("a", 300): false,
	} {
		if got := IsVersion(version); got != want {
			t.Errorf("IsVersion(%q) = %v", version, got)
		}
	}
	if CompareVersions("1.0.0-rc.1", "1.0.0") >= 0 || CompareVersions("1.10.0", "1.9.0") <= 0 {
		t.Error("versions are not in the order of Semantic Versioning")
	}
	if !IsDigest(Digest(nil)) || IsDigest("sha256:00") || IsDigest(strings.ToUpper(Digest(nil))) || IsDigest(strings.TrimPrefix(Digest(nil), "sha256:")) {
		t.Error("digests")
	}
}

// Whatever a registry sends: it is refused, or the Expert says what the text says.
func FuzzParse(f *testing.F) {
	for _, text := range []string{everything, "[experts.a]\ndescription = \"d\"\ninstruction = \"i\"\n"} {
		c, _ := manifest.Parse("perstack.toml", []byte(text))
		d, err := FromExpert(c.Experts[0])
		if err != nil {
			f.Fatal(err)
		}
		f.Add(d.Encode())
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		d, err := Parse(text)
		if err != nil {
			return
		}
		e, err := d.Expert()
		if err != nil {
			return
		}
		if e.Instruction != d.Instruction || e.Description != d.Description || len(e.Skills) != len(d.Skills) {
			t.Errorf("another Expert: %+v", e)
		}
		for name, s := range d.Skills {
			got, ok := e.Skill(name)
			if !ok || got.Rule != s.Rule || got.Endpoint != s.Endpoint || !cmp.Equal(got.RequiredEnv, s.RequiredEnv) && len(s.RequiredEnv) > 0 {
				t.Errorf("skill %q is another: %+v", name, got)
			}
		}
	})
}
