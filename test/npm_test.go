//go:build unix

package test

import (
	"bytes"
	"fmt"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/internal/sandbox/landlock"
	"github.com/perstack-go/perstack/internal/testkit"
	"github.com/perstack-go/perstack/internal/testkit/atlevel"
	"github.com/perstack-go/perstack/internal/testkit/attack"
	"github.com/perstack-go/perstack/internal/testkit/node"
)

// A toolCall is what the model asks for.
type toolCall struct{ id, tool, args string }

// A npmProject runs Experts with real MCP servers from npm, without a network.
type npmProject struct {
	node.Components
	dir     string
	home    string
	environ []string
	flags   []string // of perstack run
	machine string   // the level of sandboxes that it offers; empty for what it has
}

// atLevels runs a test with real servers without a sandbox and at the best level.
func atLevels(t *testing.T, test func(t *testing.T, p npmProject)) {
	t.Helper()
	p := newNPMProject(t)
	for _, level := range []string{"off", "full"} { // the second finds the packages of the first
		t.Run(level, func(t *testing.T) {
			if level == "full" {
				needSandbox(t)
			}
			p.dir, p.flags = t.TempDir(), []string{"--sandbox=" + level}
			test(t, p)
		})
	}
}

func newNPMProject(t *testing.T) npmProject {
	t.Helper()
	p := npmProject{Components: node.Need(t), dir: t.TempDir()}
	p.environ = append(os.Environ(), p.Variables(os.Getenv("PATH"))...)
	p.home = t.TempDir()
	p.environ = append(p.environ, "HOME="+p.home, "XDG_CACHE_HOME=", "XDG_STATE_HOME="+filepath.Join(p.home, "state"),
		"PERSTACK_CACHE_PATH="+filepath.Join(p.home, "cache"))
	return p
}

// An outcome is what a run said.
type outcome struct {
	events  []event.Event
	results map[string]event.ToolResult // by the ids of the calls
	stderr  string
	code    int
}

// quietExpert is an Expert of every project, without skills of its own.
const quietExpert = "quiet"

// configure writes the perstack.toml of the project, with the skills of a piece of it.
func (p npmProject) configure(t *testing.T, skills string) {
	t.Helper()
	write(t, filepath.Join(p.dir, "perstack.toml"), `[provider]
providerName = "replay"
[provider.setting]
cassette = "cassette.toml"
[experts.user]
instruction = "Use the tools."
[experts.`+quietExpert+`]
instruction = "Say nothing."
`+skills)
}

// run plays the calls, one turn each, with the skills of a piece of perstack.toml.
func (p npmProject) run(t *testing.T, skills string, turns ...toolCall) outcome {
	t.Helper()
	p.configure(t, skills)
	o := p.play(t, turns...)
	if o.code != 0 {
		t.Fatalf("exit code %d\n%s", o.code, o.stderr)
	}
	return o
}

// play plays the calls in a project that is configured.
func (p npmProject) play(t *testing.T, turns ...toolCall) outcome {
	t.Helper()
	var cassette strings.Builder
	for _, c := range turns {
		fmt.Fprintf(&cassette, "[[turn]]\nexpert = \"user\"\n[[turn.call]]\nid = %q\ntool = %q\nargsText = '''%s'''\n", c.id, c.tool, c.args)
	}
	for _, expert := range []string{"user", quietExpert} {
		fmt.Fprintf(&cassette, "[[turn]]\nexpert = %q\ntext = \"Done.\"\n", expert)
	}
	write(t, filepath.Join(p.dir, "cassette.toml"), cassette.String())
	stdout, stderr, code := p.perstack(t, append([]string{"run", "user", "go"}, p.flags...)...)
	o := outcome{results: make(map[string]event.ToolResult), stderr: stderr, code: code}
	for line := range strings.Lines(stdout) {
		e, err := event.Unmarshal([]byte(strings.TrimSuffix(line, "\n")))
		if err != nil {
			t.Fatal(err)
		}
		o.events = append(o.events, e)
		if resolved, ok := e.Body.(event.ResolveToolResults); ok {
			for _, r := range resolved.ToolResults {
				o.results[r.ID] = r
			}
		}
	}
	return o
}

// perstack runs the program in the project.
func (p npmProject) perstack(t *testing.T, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	cmd := exec.Command("perstack", args...)
	if p.machine != "" { // with its path, since the project has a PATH of its own
		cmd = exec.Command(atlevel.Name, append([]string{p.machine, cmd.Path}, args...)...)
	}
	cmd.Dir, cmd.Env = p.dir, p.environ
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	code = exitCode(t, cmd.Run())
	return out.String(), errs.String(), code
}

// text returns the text of a result that succeeded or failed, as was expected.
func (o outcome) text(t *testing.T, id string, failed bool) string {
	t.Helper()
	r, ok := o.results[id]
	if !ok {
		t.Fatalf("there is no result of %q", id)
	}
	var all []string
	for _, p := range r.Result {
		all = append(all, p.Text)
	}
	text := strings.Join(all, "\n")
	if r.IsError != failed {
		t.Errorf("%s: failed %t, want %t: %s", id, r.IsError, failed, text)
	}
	return text
}

// expect checks what a result says.
func (o outcome) expect(t *testing.T, id string, failed bool, want ...string) {
	t.Helper()
	text := o.text(t, id, failed)
	for _, w := range want {
		if !strings.Contains(text, w) {
			t.Errorf("%s: %q is not in %s", id, w, text)
		}
	}
}

// bodies returns the events of a type.
func bodies[B event.Body](o outcome) (all []B) {
	for _, e := range o.events {
		if b, ok := e.Body.(B); ok {
			all = append(all, b)
		}
	}
	return all
}

// connected returns what a skill said of itself, with the timings that every skill has.
func (o outcome) connected(t *testing.T, skill string) event.SkillConnected {
	t.Helper()
	for _, c := range bodies[event.SkillConnected](o) {
		if c.SkillName == skill {
			if c.ServerInfo == nil || c.HandshakeDurationMS == nil || c.ToolDiscoveryDurationMS == nil || c.TotalDurationMS == nil {
				t.Errorf("skillConnected says too little: %+v", c)
			}
			return c
		}
	}
	t.Fatalf("%s did not connect", skill)
	return event.SkillConnected{}
}

// everything calls what the server of that name has to show.
var everything = []toolCall{
	{"echo", "echo", `{"message":"it is me"}`},
	{"sum", "get-sum", `{"a":40,"b":2}`},
	{"image", "get-tiny-image", `{}`},
	{"text", "get-resource-reference", `{"resourceType":"Text","resourceId":1}`},
	{"blob", "get-resource-reference", `{"resourceType":"Blob","resourceId":2}`},
	{"links", "get-resource-links", `{"count":2}`},
	{"structured", "get-structured-content", `{"location":"Chicago"}`},
	{"log", "toggle-simulated-logging", `{}`},
	{"long", "trigger-long-running-operation", `{"duration":0.3,"steps":3}`},
	{"bad", "get-resource-reference", `{"resourceType":"Text","resourceId":-1}`},
	{"schema", "get-sum", `{"a":"forty","b":2}`},
	{"environment", "get-env", `{}`},
}

// checkEverything compares the results with what the server is known to say, over
// whichever transport.
func checkEverything(t *testing.T, o outcome) {
	t.Helper()
	o.expect(t, "echo", false, "it is me")
	o.expect(t, "sum", false, "The sum of 40 and 2 is 42.")

	o.expect(t, "image", false, "Here's the image you requested:")
	image := o.results["image"].Result
	if !slices.ContainsFunc(image, func(p event.Part) bool {
		return p.Type == event.ImageInlinePart && p.MIMEType == "image/png" && strings.HasPrefix(p.EncodedData, "iVBORw0KGgo")
	}) {
		t.Errorf("there is no picture in %+v", image)
	}
	o.expect(t, "text", false, "Returning resource reference for Resource 1", "Resource 1: This is a plaintext resource")
	o.expect(t, "blob", false, "Returning resource reference for Resource 2")
	o.expect(t, "links", false, "demo://resource/")
	o.expect(t, "structured", false, `"temperature":36`, "Light rain")
	o.expect(t, "bad", true, "-1")
	o.expect(t, "schema", true, "a") // ours, before the server is asked

	o.expect(t, "long", false, "Long running operation completed")
	var notes int
	for _, p := range bodies[event.ToolProgress](o) {
		if p.ToolCallID == "long" {
			notes++
		}
	}
	if notes != 3 {
		t.Errorf("%d notes of progress, want 3", notes)
	}
	o.expect(t, "log", false, "Started simulated, random-leveled logging")
	if !slices.ContainsFunc(bodies[event.SkillStderr](o), func(s event.SkillStderr) bool {
		return s.SkillName == "everything" && strings.Contains(strings.ReplaceAll(s.Message, "-", " "), "level message")
	}) {
		t.Errorf("what it logs did not come through: %+v", bodies[event.SkillStderr](o))
	}
	if info := o.connected(t, "everything").ServerInfo; info != nil && !strings.Contains(info.Name, "everything") {
		t.Errorf("the server is %+v", info)
	}
}

// strayKey is in the environment of every run here, and belongs to no skill.
const strayKey = "sk-ant-api03-Zq81xVn4Tb6Lw0Rm9Kd2"

func TestNPMEverythingStdio(t *testing.T) { atLevels(t, npmEverythingStdio) }

func npmEverythingStdio(t *testing.T, p npmProject) {
	t.Helper()
	p.environ = append(p.environ, "ANTHROPIC_API_KEY="+strayKey, "SOME_TOKEN="+strayKey)
	o := p.run(t, `[experts.user.skills.everything]
type = "mcpStdioSkill"
command = "npx"
packageName = "`+node.Everything+"@"+p.Version(t, node.Everything)+`"
`, everything...)
	checkEverything(t, o)
	if text := o.text(t, "environment", false); !strings.Contains(text, "PATH") || strings.Contains(text, strayKey) || strings.Contains(text, "TOKEN") {
		t.Errorf("the environment of the server: %s", text)
	}
	if c := o.connected(t, "everything"); c.SpawnDurationMS == nil || c.ConnectDurationMS == nil {
		t.Errorf("a process has these, too: %+v", c)
	}
	starting := bodies[event.SkillStarting](o)
	if !slices.ContainsFunc(starting, func(s event.SkillStarting) bool { return s.SkillName == "everything" && s.Command == "npx" }) {
		t.Errorf("what is started is not what the user wrote: %+v", starting)
	}
}

// serveEverything starts the server over HTTP, on the loopback.
func (p npmProject) serveEverything(t *testing.T, transport string) (port int) {
	t.Helper()
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	port = free.Addr().(*net.TCPAddr).Port
	free.Close()
	cmd := exec.Command(p.Node(), p.Script(node.Everything), transport)
	cmd.Env = append(slices.Clone(p.environ), fmt.Sprintf("PORT=%d", port))
	var said lines
	cmd.Stderr = &said
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	said.wait(t, "on port")
	return port
}

func TestNPMEverythingRemote(t *testing.T) {
	tests := []struct{ name, transport, skill, path string }{
		{"streamable HTTP", "streamableHttp", "mcpHttpSkill", "/mcp"},
		{"SSE", "sse", "mcpSseSkill", "/sse"},
		{"SSE falls forward to streamable HTTP", "streamableHttp", "mcpSseSkill", "/mcp"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p := newNPMProject(t)
			port := p.serveEverything(t, tt.transport)
			o := p.run(t, fmt.Sprintf(`[experts.user.skills.everything]
type = %q
endpoint = "http://127.0.0.1:%d%s"
allowPrivateEndpoint = true
`, tt.skill, port, tt.path), everything...)
			checkEverything(t, o)
		})
	}
}

// The file system server works in the directory that it is given, and nowhere else.
func TestNPMFilesystem(t *testing.T) { atLevels(t, npmFilesystem) }

func npmFilesystem(t *testing.T, p npmProject) {
	t.Helper()
	dir, err := filepath.EvalSymlinks(p.dir)
	if err != nil {
		t.Fatal(err)
	}
	inside, outside := filepath.Join(dir, "shared"), filepath.Join(dir, "secret.txt")
	write(t, filepath.Join(inside, "a.txt"), "alpha\n")
	write(t, outside, "hidden\n")
	o := p.run(t, fmt.Sprintf(`[experts.user.skills.files]
type = "mcpStdioSkill"
command = "npx"
args = ["-y", %q, %q]
omit = ["write_file"]
`, node.Filesystem+"@"+p.Version(t, node.Filesystem), inside),
		toolCall{"read", "read_text_file", fmt.Sprintf(`{"path":%q}`, filepath.Join(inside, "a.txt"))},
		toolCall{"list", "list_directory", fmt.Sprintf(`{"path":%q}`, inside)},
		toolCall{"out", "read_text_file", fmt.Sprintf(`{"path":%q}`, outside)},
		toolCall{"omitted", "write_file", fmt.Sprintf(`{"path":%q,"content":"x"}`, filepath.Join(inside, "new.txt"))},
	)
	o.expect(t, "read", false, "alpha")
	o.expect(t, "list", false, "a.txt")
	if text := o.text(t, "out", true); strings.Contains(text, "hidden") {
		t.Errorf("it read what is outside: %s", text)
	}
	o.text(t, "omitted", true)
	if _, err := os.Stat(filepath.Join(inside, "new.txt")); err == nil {
		t.Error("a tool that was left out ran")
	}
}

// memory asks for the memory server, with nothing but its name.
const memory = `[experts.user.skills.memory]
type = "mcpStdioSkill"
command = "npx"
packageName = "` + node.Memory + `"
`

var (
	remember = toolCall{"make", "create_entities", `{"entities":[{"name":"Ana","entityType":"person","observations":["likes rain"]}]}`}
	recall   = toolCall{"again", "search_nodes", `{"query":"rain"}`}
)

// T7: the memory server keeps what it is told in a file beside its program. It works without any
// setting, from run to run and with a lockfile; another project and another Expert have a memory
// of their own, and nothing is written into the package cache.
func TestNPMMemory(t *testing.T) {
	for _, level := range []string{"off", "landlock", "full"} {
		t.Run(level, func(t *testing.T) {
			p := newNPMProject(t)
			flags := []string{"--sandbox=" + level}
			p.flags = flags
			if level != "off" {
				needSandbox(t)
				p.machine = level
			}
			o := p.run(t, memory, remember, recall)
			o.expect(t, "make", false, "Ana")
			o.expect(t, "again", false, "likes rain")
			if _, stderr, code := p.perstack(t, append([]string{"install"}, flags...)...); code != 0 {
				t.Fatalf("exit code %d\n%s", code, stderr)
			}
			p.run(t, memory, recall).expect(t, "again", false, "Ana")

			other := p
			other.dir = t.TempDir()
			if text := other.run(t, memory, recall).text(t, "again", false); strings.Contains(text, "Ana") {
				t.Errorf("another project reads %s", text)
			}
			if err := os.Remove(filepath.Join(p.dir, "perstack.lock")); err != nil {
				t.Fatal(err)
			}
			again := strings.ReplaceAll(memory, "skills.memory", "skills.second")
			if text := p.run(t, again, recall).text(t, "again", false); strings.Contains(text, "Ana") {
				t.Errorf("another skill reads %s", text)
			}
			found := 0
			if err := filepath.WalkDir(p.home, func(path string, d fs.DirEntry, err error) error {
				if err == nil && d.Name() == "memory.jsonl" {
					found++
					if !strings.Contains(path, filepath.Join("state", "perstack", "projects")) {
						t.Errorf("the memory is at %s", path)
					}
				}
				return err
			}); err != nil || found != 1 {
				t.Errorf("%d memories, %v", found, err)
			}
		})
	}
	attack.Held(t, "T7", 3)
}

// needSandbox ends a test that needs a kernel with sandboxes.
func needSandbox(t *testing.T) {
	t.Helper()
	if err := landlock.Available(); err != nil {
		testkit.Missing(t, err.Error())
	}
}

func TestNPMSequentialThinking(t *testing.T) { atLevels(t, npmSequentialThinking) }

func npmSequentialThinking(t *testing.T, p npmProject) {
	t.Helper()
	o := p.run(t, `[experts.user.skills.thinking]
type = "mcpStdioSkill"
command = "npx"
packageName = "`+node.Thinking+`"
toolPrefix = true
`,
		toolCall{"one", "thinking__sequentialthinking", `{"thought":"first","thoughtNumber":1,"totalThoughts":2,"nextThoughtNeeded":true}`},
		toolCall{"two", "thinking__sequentialthinking", `{"thought":"second","thoughtNumber":2,"totalThoughts":2,"nextThoughtNeeded":false}`},
		toolCall{"schema", "thinking__sequentialthinking", `{"thought":"third","thoughtNumber":0,"totalThoughts":2,"nextThoughtNeeded":false}`},
	)
	o.expect(t, "one", false, `"thoughtNumber": 1`, `"thoughtHistoryLength": 1`)
	o.expect(t, "two", false, `"thoughtHistoryLength": 2`) // the same process
	o.text(t, "schema", true)
	// What it prints for people is on standard error, and comes as events.
	if !slices.ContainsFunc(bodies[event.SkillStderr](o), func(s event.SkillStderr) bool { return strings.Contains(s.Message, "first") }) {
		t.Errorf("its standard error: %+v", bodies[event.SkillStderr](o))
	}
}

// What is installed is what runs: the version and the integrity that npm knows are in the
// lockfile, the run starts the server for its first call, and a machine that never saw
// the package gets the same one.
func TestNPMInstall(t *testing.T) {
	p := newNPMProject(t)
	skills := `[experts.user.skills.everything]
type = "mcpStdioSkill"
command = "npx"
packageName = "` + node.Everything + `"
pick = ["echo"]
`
	echo := toolCall{"echo", "echo", `{"message":"it is me"}`}
	p.run(t, skills, echo) // writes the project
	if _, stderr, code := p.perstack(t, "install"); code != 0 {
		t.Fatalf("exit code %d\n%s", code, stderr)
	}
	data, err := os.ReadFile(filepath.Join(p.dir, "perstack.lock"))
	if err != nil {
		t.Fatal(err)
	}
	lock := string(data)
	for _, want := range []string{node.Everything, "sha512-", "get-tiny-image"} { // pick does not narrow it
		if !strings.Contains(lock, want) {
			t.Errorf("%s is not in perstack.lock", want)
		}
	}
	if strings.Contains(lock, p.Registry()) || strings.Contains(lock, `"resolved"`) { // another machine has another
		t.Error("perstack.lock says where the package came from")
	}
	if stdout, stderr, code := p.perstack(t, "install", "--check"); code != 0 {
		t.Errorf("--check: exit code %d\n%s%s", code, stdout, stderr)
	}

	p.environ = append(p.environ, "PERSTACK_CACHE_PATH="+filepath.Join(t.TempDir(), "another"))
	o := p.run(t, skills, echo)
	o.expect(t, "echo", false, "it is me")
	place := func(is func(event.Event) bool) int { return slices.IndexFunc(o.events, is) }
	asked := place(func(e event.Event) bool { return e.Type() == "startGeneration" })
	started := place(func(e event.Event) bool {
		s, ok := e.Body.(event.SkillStarting)
		return ok && s.SkillName == "everything"
	})
	if asked < 0 || started < asked {
		t.Errorf("the server started at %d, the model was asked at %d", started, asked)
	}
}
