package host

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/perstack-go/perstack/expert"
	"github.com/perstack-go/perstack/internal/lockfile"
	"github.com/perstack-go/perstack/internal/manifest"
	"github.com/perstack-go/perstack/internal/sandbox/selftest"
	"github.com/perstack-go/perstack/internal/skills/mcp"
)

// load reads a file with the given text.
func load(t *testing.T, text string) *manifest.Config {
	t.Helper()
	path := filepath.Join(t.TempDir(), "b.toml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	c, problems, err := manifest.Load(path)
	if err != nil || problems.Err() != nil {
		t.Fatal(err, problems)
	}
	return c
}

const untrusted = `
[experts.a]
instruction = "x"
[experts.a.skills.far]
type = "mcpHttpSkill"
endpoint = "https://far.example/v1/KEY-in-path?key=KEY"
requiredEnv = ["OPENAI_API_KEY", "FAR_ID"]
[experts.a.skills.near]
type = "mcpStdioSkill"
command = "near"
args = ["a b"]
requiredEnv = ["GOOGLE_API_KEY", "GEMINI_API_KEY"]
[experts.a.skills.package]
type = "mcpStdioSkill"
command = "npx"
packageName = "@acme/p@1.0.0"
`

// Of an address nothing is shown but where it leads: the rest may be a key.
func TestBehind(t *testing.T) {
	e := load(t, untrusted).Experts[0]
	for name, want := range map[string]string{
		"far": "https://far.example", "near": "near 'a b'", "package": "npx @acme/p@1.0.0",
	} {
		k, _ := e.Skill(name)
		if got := Behind(k); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
	for text, want := range map[string]string{
		"https://me:pass@h.example:8443/p#f": "https://h.example:8443", "http://[::1]:9/": "http://[::1]:9",
		"https://%zz/key": "an address that cannot be read", "key": "an address that cannot be read",
	} {
		if got := Address(text); got != want {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
	}
}

func TestHandedKeys(t *testing.T) {
	got := strings.Join(HandedKeys(load(t, untrusted).Experts[0]), "\n")
	if !strings.HasPrefix(got, `skill "far" (https://far.example) gets your OPENAI_API_KEY`+"\n"+`skill "near" (near 'a b') gets your `) || strings.Contains(got, "KEY-in-path") || strings.Contains(got, "package") {
		t.Errorf("lines:\n%s", got)
	}
}

// A file of another name is protected with its own lockfile, and with the usual files.
func TestFileRules(t *testing.T) {
	c := load(t, untrusted)
	at := func(name string) string { return filepath.Join(c.Dir, name) }
	if got := FileRules(c); !slices.Equal(got, []string{at("b.toml"), at("b.lock"), at("perstack.toml"), at("perstack.lock")}) {
		t.Errorf("rules %q", got)
	}
	c.Path = at("perstack.toml")
	if got := FileRules(c); !slices.Equal(got, Rules(c.Dir)) || len(got) != 2 {
		t.Errorf("rules %q", got)
	}
}

// What libraries advise is told with its flag.
func TestAdvise(t *testing.T) {
	for text, want := range map[string]string{
		"use " + manifest.SandboxAll:                      "use --sandbox=auto",
		"use a newer kernel, or " + selftest.ShareSandbox: "use a newer kernel, or let all skills share one sandbox with --shared-sandbox",
		"x; " + mcp.ChooseImage:                           "x; name an image that has it with --base-image, or with baseImage in [docker]",
	} {
		if got := Advise(text); got != want {
			t.Errorf("%q, want %q", got, want)
		}
		if got := Advise(Advise(text)); got != want { // an error can come by here several times
			t.Errorf("twice: %q, want %q", got, want)
		}
	}
}

// The advice to install names the file that the command was called with.
func TestAddConfig(t *testing.T) {
	for config, want := range map[string]string{
		"":       "x; run: perstack install --update",
		"b.toml": "x; run: perstack install --config b.toml --update",
		"a b":    "x; run: perstack install --config 'a b' --update",
	} {
		text := "x; run: perstack install --update"
		if got := AddConfig(text, config); got != want {
			t.Errorf("%q: %q, want %q", config, got, want)
		}
		if err := AddConfigToError(Usagef("%s", text), config, false); err.Error() != want || ExitCode(err) != ExitUsage {
			t.Errorf("%q: %v, code %d", config, err, ExitCode(err))
		}
	}
	if AddConfigToError(nil, "b.toml", true) != nil {
		t.Error("no error became one")
	}
	// For the runtime docker it says so, once.
	for _, text := range []string{"x; run: perstack install, or else", "x; run: perstack install --runtime docker, or else"} {
		want := "x; run: perstack install --config b.toml --runtime docker, or else"
		if err := AddConfigToError(Usagef("%s", text), "b.toml", true); err.Error() != want {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// Names that are taken are known before a run, if all lists are.
func TestCollisions(t *testing.T) {
	e := load(t, `
[experts.a]
instruction = "x"
[experts.a.skills.ask]
type = "interactiveSkill"
tools.find = {inputJsonSchema = '{"type":"object"}'}
[experts.a.skills.one]
type = "mcpStdioSkill"
command = "one"
[experts.a.skills.two]
type = "mcpStdioSkill"
command = "two"
omit = ["gone"]
`).Experts[0]
	tool := func(name string) lockfile.Tool {
		locked, err := lockfile.ParseTool([]byte(fmt.Sprintf(`{"name":%q,"inputSchema":{"type":"object"}}`, name)))
		if err != nil {
			t.Fatal(err)
		}
		return locked
	}
	lists := map[string]*lockfile.Skill{"one": {Tools: []lockfile.Tool{tool("find"), tool("gone")}}}
	pinned := func(k *expert.Skill) *lockfile.Skill { return lists[k.Name] }
	if got := Collisions(e, pinned); got != nil {
		t.Errorf("with an unknown list: %v", got)
	}
	lists["two"] = &lockfile.Skill{Tools: []lockfile.Tool{tool("exec"), tool("gone")}}
	got := fmt.Sprint(Collisions(e, pinned))
	for _, want := range []string{`skill "two" offers a tool named "exec"`, `skills "one" and "ask" both offer a tool named "find"; give the question another name`} {
		if !strings.Contains(got, want) {
			t.Errorf("%s\nwant %s", got, want)
		}
	}
	if strings.Contains(got, "gone") || strings.Contains(got, "attemptCompletion") {
		t.Errorf("what is left out collides: %s", got)
	}
}
