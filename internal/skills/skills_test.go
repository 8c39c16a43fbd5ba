package skills

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/perstack-go/perstack/engine"
	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/expert"
	"github.com/perstack-go/perstack/internal/manifest"
	"github.com/perstack-go/perstack/internal/packages"
	"github.com/perstack-go/perstack/internal/sandbox"
	"github.com/perstack-go/perstack/internal/secret"
	"github.com/perstack-go/perstack/internal/testkit/evil"
	"github.com/perstack-go/perstack/internal/workspace"
	"github.com/perstack-go/perstack/job"
	"github.com/perstack-go/perstack/rawjson"
	"github.com/perstack-go/perstack/skill"
)

// A fixture has what the skills of a test need.
type fixture struct {
	Site
	req engine.SkillRequest // of the next start, without the Expert
	dir string

	mu      sync.Mutex
	told    []event.Body
	stopped chan error // what ended the run
}

func newFixture(t *testing.T) *fixture {
	t.Helper()
	y := &fixture{dir: t.TempDir(), stopped: make(chan error, 16)}
	files, err := workspace.Open(y.dir, workspace.Options{})
	if err != nil {
		t.Fatal(err)
	}
	commands := sandbox.NewSupervisor()
	t.Cleanup(func() {
		if err := commands.Close(); err != nil {
			t.Error(err)
		}
		files.Close()
	})
	y.Site = Site{
		Parts:     testParts(),
		Workspace: files,
		Commands:  commands,
		Packages:  &packages.Store{Dir: t.TempDir(), Commands: commands, Environ: os.Environ()},
		Data:      t.TempDir(),
	}
	y.req = engine.SkillRequest{
		Report: func(b event.Body) {
			y.mu.Lock()
			defer y.mu.Unlock()
			y.told = append(y.told, b)
		},
		Stop: func(err error) { y.stopped <- err },
	}
	return y
}

// testParts are complete parts in which no variable has a value.
func testParts() engine.Parts {
	return engine.Parts{
		Environ:   os.Environ(),
		Variables: func(string) engine.Variable { return engine.Variable{} },
		Secrets:   new(secret.Set),
		Log:       slog.New(slog.DiscardHandler),
		Source:    engine.SystemSource(),
	}
}

// env sets the values of variables that skills require.
func (y *fixture) env(value func(name string) string) {
	y.Parts.Variables = func(name string) engine.Variable { return engine.Variable{Value: value(name)} }
}

// start starts the skills of an Expert.
func (y *fixture) start(ctx context.Context, e *expert.Expert) (*skill.Toolbox, error) {
	req := y.req
	req.Expert = e
	spec := job.Spec{Experts: []*expert.Expert{e}, Workspace: job.Workspace{Dir: y.dir}}
	if err := RecordPrograms(&spec, y.Lock); err != nil {
		return nil, err
	}
	y.Programs = append(y.Programs, spec.Programs...)
	return y.Open(ctx, req)
}

// reports returns the types and skills of what was told.
func (y *fixture) reports() (all []string) {
	y.mu.Lock()
	defer y.mu.Unlock()
	for _, b := range y.told {
		switch b := b.(type) {
		case event.SkillStarting:
			all = append(all, "starting "+b.SkillName)
		case event.SkillConnected:
			all = append(all, "connected "+b.SkillName)
		}
	}
	return all
}

func (y *fixture) open(t *testing.T, e *expert.Expert) *skill.Toolbox {
	t.Helper()
	box, err := y.start(t.Context(), e)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := box.Close(); err != nil {
			t.Error(err)
		}
	})
	if err := box.Ready(t.Context()); err != nil {
		t.Fatal(err)
	}
	return box
}

// load reads an Expert named x. EVIL stands for the path of evilmcp.
func load(t *testing.T, toml string) *expert.Expert {
	t.Helper()
	config, problems := manifest.Parse("perstack.toml", []byte(toml))
	if err := problems.Err(); err != nil {
		t.Fatal(err)
	}
	e, ok := config.Lookup("x")
	if !ok {
		t.Fatal("no Expert x")
	}
	return e
}

// server is the entry of a skill that evilmcp serves.
func server(program, name, more string, args ...string) string {
	quoted := make([]string, len(args))
	for i, a := range args {
		quoted[i] = "'" + a + "'"
	}
	return "[experts.x.skills." + name + "]\ntype = 'mcpStdioSkill'\ncommand = '" + program + "'\nargs = [" + strings.Join(quoted, ", ") + "]\n" + more
}

const head = "[experts.x]\ninstruction = 'Work.'\n"

func names(box *skill.Toolbox) (all []string) {
	for _, t := range box.Tools() {
		all = append(all, t.Name)
	}
	return all
}

func call(t *testing.T, box *skill.Toolbox, tool, args string) event.ToolResult {
	t.Helper()
	r, err := box.Call(t.Context(), event.ToolCall{ID: "c", ToolName: tool, Args: rawjson.Value(args)})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

const question = `[experts.x.skills.user]
type = 'interactiveSkill'
[experts.x.skills.user.tools.ask]
inputJsonSchema = '{"type":"object"}'
`

// The model is shown the base tools first, then those of servers as the file has them,
// then the questions, whatever their order in the file and whichever server started first.
func TestOrder(t *testing.T) {
	program, y := evil.Program(t), newFixture(t)
	e := load(t, head+question+server(program, "late", "toolPrefix = true\npick = ['add']\n", "slow", "--pause", "10us")+
		server(program, "early", "pick = ['echo']\n", "good"))
	got := names(y.open(t, e))
	if tail := got[max(0, len(got)-3):]; got[0] != "attemptCompletion" || !slices.Equal(tail, []string{"late__add", "echo", "ask"}) {
		t.Errorf("tools %q", got)
	}
	for _, want := range []string{"connected " + expert.BaseSkill, "starting late", "connected late", "starting early", "connected early"} {
		if !slices.Contains(y.reports(), want) {
			t.Errorf("reports %q, want %q", y.reports(), want)
		}
	}
}

// C9: a delegate cannot ask the user. It can have delegates.
func TestDelegatedCannotAsk(t *testing.T) {
	y := newFixture(t)
	y.req.Delegated, y.req.Delegates = true, []*expert.Expert{{Key: "y", Name: "y"}}
	if got := names(y.open(t, load(t, head+question))); slices.Contains(got, "ask") || !slices.Contains(got, "y") {
		t.Errorf("tools %q", got)
	}
}

// Other Experts are tools, after those that run here and before the questions, in the
// order of the file. How many bytes the workspace may have is nothing that they are
// watched for.
func TestDelegates(t *testing.T) {
	y := newFixture(t)
	y.req.Delegates = []*expert.Expert{{Key: "@b/second@1.0.0", Name: "@b/second"}, {Key: "first", Name: "first", Description: "Is first.\u2066"}}
	y.Wrap = func(s skill.Skill) skill.Skill {
		if slices.Contains([]string{"@b/second", "first"}, s.Name()) {
			t.Errorf("%s is wrapped", s.Name())
		}
		return s
	}
	box := y.open(t, load(t, head+question))
	got := box.Tools()
	tail := got[max(0, len(got)-3):]
	if tail[0].Name != "second" || tail[0].Kind != skill.Delegate || tail[1].Name != "first" || tail[2].Name != "ask" || tail[2].Kind != skill.Interactive {
		t.Errorf("tools %+v", tail)
	}
	if !strings.HasSuffix(tail[1].Description, "\nIs first.<U+2066>") {
		t.Errorf("described as %q", tail[1].Description)
	}
	if _, owner, ok := box.Lookup("second"); !ok || owner != "@b/second" {
		t.Errorf("the tool belongs to %q, %t", owner, ok)
	}
}

// A server must not take the name of another Expert, and is not taken for one.
func TestDelegateAndServer(t *testing.T) {
	program, y := evil.Program(t), newFixture(t)
	y.req.Delegates = []*expert.Expert{{Key: "@b/echo", Name: "@b/echo"}}
	_, err := y.start(t.Context(), load(t, head+server(program, "s", "", "good")))
	if err == nil || !strings.Contains(err.Error(), `skill "s" and delegate "@b/echo" both offer a tool named "echo"; leave it out with omit`) {
		t.Errorf("error %v", err)
	}
	got := names(y.open(t, load(t, head+server(program, "s", "toolPrefix = true\n", "good"))))
	if !slices.Contains(got, "s__echo") || got[len(got)-1] != "echo" {
		t.Errorf("tools %q", got)
	}
}

// Every Expert has the base skill, also one that a program has put together.
func TestBaseIsAlwaysThere(t *testing.T) {
	y := newFixture(t)
	if got := names(y.open(t, &expert.Expert{Key: "x", Name: "x"})); !slices.Contains(got, "attemptCompletion") {
		t.Errorf("tools %q", got)
	}
}

// C8: the first failure is the one that is told, and nothing is left running. The stuck
// server would be waited for an hour if the failure of the other did not stop it; the
// deadline is only there so that this test would not wait as long.
func TestFirstFailureStopsTheRest(t *testing.T) {
	program, y := evil.Program(t), newFixture(t)
	e := load(t, head+server(program, "fine", "", "hang-close")+server(program, "stuck", "startTimeout = 3600000\n", "hang-initialize")+
		server(program, "broken", "startTimeout = 3600000\n", "die-list"))
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	_, err := y.start(ctx, e)
	if err == nil || !strings.Contains(err.Error(), `skill "broken"`) || !strings.Contains(err.Error(), "exit status 3") {
		t.Fatalf("error %v", err)
	}
	if strings.Contains(err.Error(), `"stuck"`) {
		t.Errorf("error %v blames a server that was stopped", err)
	}
}

// A start that is cancelled reports that, and not that a server failed.
func TestCancelledStart(t *testing.T) {
	program, y := evil.Program(t), newFixture(t)
	ctx, cancel := context.WithCancelCause(t.Context())
	y.req.Report = func(b event.Body) {
		if _, ok := b.(event.SkillStarting); ok {
			cancel(context.DeadlineExceeded)
		}
	}
	e := load(t, head+server(program, "stuck", "", "hang-initialize"))
	if _, err := y.start(ctx, e); !errors.Is(err, context.DeadlineExceeded) || strings.Contains(err.Error(), "stuck") {
		t.Errorf("error %v", err)
	}
}

func TestMissingEnv(t *testing.T) {
	y := newFixture(t)
	y.env(func(name string) string { return map[string]string{"HERE": "x"}[name] })
	e := load(t, head+server("no-such-program", "a", "requiredEnv = ['HERE', 'ONE']\n", "x")+server("no-such-program", "b", "requiredEnv = ['TWO']\n", "x"))
	_, err := y.start(t.Context(), e)
	if err == nil || !strings.Contains(err.Error(), "ONE") || !strings.Contains(err.Error(), "TWO") || strings.Contains(err.Error(), "HERE") {
		t.Errorf("error %v", err)
	}
}

// What decides how programs are loaded is not handed to a server, also if the Expert was
// not read from a file.
func TestProtectedEnv(t *testing.T) {
	for _, name := range []string{"LD_PRELOAD", "node_options", "PATH", "PERSTACK_API_KEY"} {
		y := newFixture(t)
		y.env(func(string) string { return "value" })
		e := &expert.Expert{Key: "x", Name: "x", Skills: []*expert.Skill{{
			Name: "a", Type: expert.StdioSkill, Command: "evilmcp", Args: []string{"good"}, RequiredEnv: []string{name},
		}}}
		if _, err := y.start(t.Context(), e); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: error %v", name, err)
		}
	}
}

func TestCommandLine(t *testing.T) {
	tests := []struct {
		p       expert.Package
		version string
		want    string
	}{
		{expert.Package{Manager: "npx", Name: "@a/b", Args: []string{"--x", "y"}}, "1.2.3", "@a/b@1.2.3 --x y"},
		{expert.Package{Manager: "npx", Name: "b", Tag: "next"}, "2.0.0", "b@2.0.0"},
		{expert.Package{Manager: "npx", Name: "b", Program: "run"}, "2.0.0", "--package b@2.0.0 run"},
		{expert.Package{Manager: "uvx", Name: "b", Program: "run", Args: []string{"x"}}, "", "--from b run x"},
		{expert.Package{Manager: "uvx", Name: "b", Version: "1.0"}, "1.0", "b@1.0"},
	}
	for _, tt := range tests {
		if got := strings.Join(commandLine(tt.p, tt.version), " "); got != tt.want {
			t.Errorf("%+v: %q, want %q", tt.p, got, tt.want)
		}
	}
}
