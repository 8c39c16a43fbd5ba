package inspect

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/google/go-cmp/cmp"

	"github.com/perstack-go/perstack/expert"
	"github.com/perstack-go/perstack/internal/cli/host"
	"github.com/perstack-go/perstack/internal/env"
	"github.com/perstack-go/perstack/internal/lockfile"
	"github.com/perstack-go/perstack/internal/manifest"
)

const packaged = `
[experts.a]
instruction = "x"
[experts.a.skills.s]
type = "mcpStdioSkill"
command = "npx"
packageName = "mail@1.0.0"
requiredEnv = ["KEY", "KEY", "AGE"]
allowedDomains = ["api.example.com", "b.example"]
[experts.a.skills.far]
type = "mcpHttpSkill"
endpoint = "https://mcp.example/x"
`

func (c *Card) find(name string) Skill {
	for _, s := range c.Experts[0].Skills {
		if s.Name == name {
			return s
		}
	}
	return Skill{}
}

// In a container every skill with processes has a sandbox, and the card shows it.
func TestSandboxes(t *testing.T) {
	card := cardOf(t, "runtime = 'docker'\n"+packaged)
	want := &Sandbox{Workspace: "readWrite", Own: []string{"tmp", "home", "package"}, Listener: "own", Hosts: []string{"api.example.com", "b.example"}, Variables: []string{"AGE", "KEY"}}
	if d := cmp.Diff(want, card.find("s").Sandbox); d != "" {
		t.Errorf("(-want +got)\n%s", d)
	}
	base := &Sandbox{Workspace: "readWrite", Own: []string{"tmp", "home"}, Listener: "own"}
	if d := cmp.Diff(base, card.find(expert.BaseSkill).Sandbox); d != "" {
		t.Errorf("(-want +got)\n%s", d)
	}
	if c := card.find("far").Sandbox; c != nil {
		t.Errorf("a server elsewhere has a sandbox: %+v", c)
	}
	text := card.text()
	for _, line := range []string{
		"sandbox    workspace read-write; own tmp, home, package; reaches, through its own listener, api.example.com, b.example; gets AGE, KEY\n",
		"sandbox    workspace read-write; own tmp, home; reaches no host; gets no variables of yours except those of --env\n",
	} {
		if !strings.Contains(text, line) {
			t.Errorf("no %q in\n%s", line, text)
		}
	}
	if strings.Contains(text, "ignores the proxy") {
		t.Errorf("a finding that does not hold in a container:\n%s", text)
	}
	var out bytes.Buffer
	if err := host.WriteJSON(&out, card); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(out.String(), "null") {
		t.Errorf("a list is null:\n%s", out.String())
	}
	var again Card
	if err := json.Unmarshal(out.Bytes(), &again); err != nil || !cmp.Equal(again.find("s").Sandbox, want) {
		t.Errorf("%v in JSON: %+v", err, again.find("s").Sandbox)
	}
}

// A sandbox has no more of the workspace than its container.
func TestWorkspaceOfSandboxes(t *testing.T) {
	for _, tt := range []struct{ docker, skill, want string }{
		{"", "", "workspace read-write"}, {"", "workspace = 'readOnly'", "workspace read-only"}, {"", "workspace = 'none'", "no workspace"},
		{"docker.readOnlyWorkspace = true\n", "", "workspace read-only"}, {"docker.readOnlyWorkspace = true\n", "workspace = 'none'", "no workspace"},
	} {
		card := cardOf(t, tt.docker+"runtime = 'docker'\n"+strings.Replace(packaged, "requiredEnv", tt.skill+"\nrequiredEnv", 1))
		if line := card.find("s").inside(true); !strings.HasPrefix(line, tt.want+"; ") {
			t.Errorf("%+v: %s", tt, line)
		}
	}
}

// Without a container, the card says which skills have sandboxes, and what those do not hold back.
func TestLocalSandboxes(t *testing.T) {
	usual := cardOf(t, packaged)
	if usual.find("s").Sandbox == nil || usual.find(expert.BaseSkill).Sandbox == nil || strings.Contains(usual.text(), "ignores the proxy") {
		t.Errorf("without a word about sandboxes: %+v", usual.Experts[0].Skills)
	}
	packaged := "[sandbox]\nmode = 'off'\n" + packaged
	open := cardOf(t, packaged)
	if open.find("s").Sandbox != nil || open.find(expert.BaseSkill).Sandbox != nil {
		t.Errorf("%+v", open.Experts[0].Skills)
	}
	if text := open.text(); !strings.Contains(text, `allowedDomains: is not enforced by runtime local without sandbox = "landlock" or --sandbox=auto`) || strings.Contains(text, "ignores the proxy") {
		t.Errorf("without a sandbox:\n%s", text)
	}
	held := cardOf(t, strings.Replace(packaged, "requiredEnv", "sandbox = 'landlock'\nrequiredEnv", 1))
	if held.find("s").Sandbox == nil || held.find(expert.BaseSkill).Sandbox != nil {
		t.Errorf("%+v", held.Experts[0].Skills)
	}
	text := held.text()
	if strings.Contains(text, "not enforced") || strings.Count(text, "at level landlock, a program that ignores the proxy can reach one port of any host; level full and runtime docker prevent this") != 1 {
		t.Errorf("with a sandbox:\n%s", text)
	}
	none := cardOf(t, strings.Replace(packaged, `allowedDomains = ["api.example.com", "b.example"]`, "sandbox = 'landlock'", 1)).text()
	if !strings.Contains(none, "hosts      none\n") || strings.Contains(none, "may reach any host") {
		t.Errorf("a sandbox without hosts:\n%s", none)
	}
	// Only a container has a flag that hands variables to commands.
	base := strings.Replace(packaged, "[experts.a.skills.s]", "[experts.a.skills.'@perstack/base']\ntype = 'mcpStdioSkill'\ncommand = 'npx'\npackageName = '@perstack/base'\nsandbox = 'landlock'\n[experts.a.skills.s]", 1)
	if text := cardOf(t, base).text(); !strings.Contains(text, "gets no variables of yours\n") || strings.Contains(text, "--env") {
		t.Errorf("the base skill in a sandbox:\n%s", text)
	}
	// A permission that nothing enforces is a warning: no run will start.
	if text := cardOf(t, strings.Replace(packaged, "requiredEnv", "workspace = 'none'\nrequiredEnv", 1)).text(); !strings.Contains(text, "warning: a: experts.a.skills.s.workspace: it is not enforced") {
		t.Errorf("a right without a sandbox:\n%s", text)
	}
}

// Images that runs stand on are on the card, with their pins, or with the warning that
// they have none.
func TestImages(t *testing.T) {
	digest := "sha256:" + strings.Repeat("ab", 32)
	const head = "runtime = 'docker'\n[docker]\noffline = true\nmirrors = ['m.example']\n"
	card := cardOf(t, head+packaged)
	text := card.text()
	for _, want := range []string{
		"the image node:24-bookworm-slim, which is not pinned, nothing is fetched\n",
		"warning: the image node:24-bookworm-slim is not pinned: no run will start; run: perstack install\n",
		"warning: a, skill s: the package mail@1.0.0 is not pinned: no run will start, since only pinned ones are put into an image; its tools are unknown; run: perstack install\n",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	if d := card.Docker; d.NodeImage != "node:24-bookworm-slim" || !d.Offline || d.Proxy != "builtin" || len(d.Mirrors) != 1 || !cmp.Equal(d.Images, []Image{{Name: "node:24-bookworm-slim"}}) {
		t.Errorf("%+v", d)
	}
	text = cardOf(t, "runtime = 'docker'\n[docker]\nmirrors = ['m.example']\nproxy = 'squid'\nsquidImage = 'squid:6@"+digest+"'\n[experts.a]\ninstruction = 'x'").text()
	if !strings.Contains(text, "the image squid:6@"+digest+", images from m.example, connections through Squid\n") || strings.Contains(text, "node") ||
		!strings.Contains(text, "warning: a program of the image squid:6@"+digest+" decides what leaves the container, whatever the lists say; run it with --proxy squid if you trust the image, else with --proxy builtin\n") {
		t.Errorf("Squid:\n%s", text)
	}

	dir := t.TempDir()
	c, problems := manifest.Parse(filepath.Join(dir, "perstack.toml"), []byte(head+packaged))
	if problems != nil {
		t.Fatal(problems)
	}
	c.Path, c.Dir = filepath.Join(dir, "perstack.toml"), dir
	lock := &lockfile.Lock{ConfigPath: "perstack.toml", Images: []lockfile.Image{{Name: "node:24-bookworm-slim", Pinned: digest}}}
	if err := lock.Write(c.LockFile()); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(c.LockFile()); err != nil {
		t.Fatal(err)
	}
	text = newCard(c, c.Experts[0], lock, nil, env.Env{}, t.TempDir(), "").text()
	if !strings.Contains(text, "the image "+digest+", nothing is fetched\n") || strings.Contains(text, "bookworm-slim is not pinned") {
		t.Errorf("pinned:\n%s", text)
	}
}
