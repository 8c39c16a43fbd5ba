package test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/expert"
	"github.com/perstack-go/perstack/internal/sandbox/landlock"
	"github.com/perstack-go/perstack/internal/sandbox/probe"
	"github.com/perstack-go/perstack/internal/testkit"
	"github.com/perstack-go/perstack/internal/testkit/attack"
	"github.com/perstack-go/perstack/internal/testkit/containers"
	"github.com/perstack-go/perstack/internal/testkit/evil"
	"github.com/perstack-go/perstack/internal/testkit/llm"
	"github.com/perstack-go/perstack/internal/testkit/realregistry"
	"github.com/perstack-go/perstack/internal/testkit/registrytest"
)

// Scripts about parallel work, or work that is cancelled: in them a race would
// show, so these run the program with the race detector.
var watchedScripts = []string{"delegate_", "fork_", "interactive_", "limit_", "skill_dies", "skill_handover", "skill_lazy", "skill_parallel", "skill_stdio", "skill_timeout"}

// TestScripts runs the scripts. Beside the usual commands they have:
//
//	trace 'startRun@1 …'      the state events on the last standard output are these
//	runs FILE                 the Runs on it, and the state events of each, are those of the file
//	checkpoint NAME STEP      sets $NAME to the id of the checkpoint that ended the step; a third
//	                          word names the Expert
//	extends NEW OLD           the file begins with all that the other has, and has more
//	exitcode N perstack …     the command ends with this exit code
//	json NAME…                the last standard output is one JSON object, and has these members
//	failure KIND [NAME…]      it is one about an error of this kind, and the error has these members
//	llm FILE [PROVIDER]       starts a scripted model server; the variables of the provider, else of
//	                          anthropic, lead to it
//	registry …                starts a registry as perstackd serves it; see scriptRegistries
//	lying-registry …          starts one in memory, which can lie; see lyingRegistries
//
// The program at-level runs another one at a sandbox level, as in "at-level landlock perstack doctor";
// see package atlevel. The program evilmcp, an MCP server in many bad modes, is in the PATH. The condition
// [sandboxes] holds where the kernel can enforce sandboxes, [namespaces] where it offers level full; in
// CI a script that needs one fails where it does not.
func TestScripts(t *testing.T) {
	evilmcp := filepath.Dir(evil.Program(t))
	races, err := exec.LookPath(watched)
	if err != nil {
		t.Fatal(err)
	}
	// With a filter, some scripts do not run, and testscript leaves its directory. The name is short
	// because it becomes part of the paths of sockets.
	dir, err := os.MkdirTemp("", "s")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	t.Setenv("GOTMPDIR", dir)
	registries := &scriptRegistries{t: t, all: map[string]*realregistry.Registry{}}
	lying := &lyingRegistries{t: t, all: map[string]*registrytest.Registry{}}
	testscript.Run(t, testscript.Params{
		Dir:                "testdata/script",
		RequireUniqueNames: true,
		UpdateScripts:      *testkit.Update,
		Condition:          condition,
		Setup: func(env *testscript.Env) error {
			// Outside of the workspace, as for users.
			for name, dir := range map[string]string{"HOME": env.WorkDir + "-home", "TMPDIR": env.WorkDir + "-tmp"} {
				if err := os.Mkdir(dir, 0o700); err != nil {
					return err
				}
				env.Setenv(name, dir)
			}
			env.Setenv("XDG_STATE_HOME", env.WorkDir+"-state")
			env.Setenv("STATE", env.WorkDir+"-state")
			env.Setenv("XDG_CONFIG_HOME", os.Getenv("XDG_CONFIG_HOME")) // of a user who allows everything
			env.Setenv("CONFIG", env.WorkDir+"-config")                 // for one who does not
			path := []string{evilmcp, env.Getenv("PATH")}
			script := strings.TrimPrefix(filepath.Base(env.WorkDir), "script-")
			if slices.ContainsFunc(watchedScripts, func(name string) bool { return strings.HasPrefix(script, name) }) {
				path = slices.Insert(path, 0, filepath.Dir(races)) // before the perstack that is built without
			}
			env.Setenv("PATH", strings.Join(path, string(os.PathListSeparator)))
			return nil
		},
		Cmds: map[string]func(ts *testscript.TestScript, neg bool, args []string){
			"trace":      trace,
			"runs":       runs,
			"extends":    extends,
			"checkpoint": checkpoint,
			"exitcode":   exitcode,
			"json":       oneObject,
			"failure":    failure,
			"held":       held,
			"rechain":    rechain,
			"llm":        startLLM,
			"serve":      serveFiles,
			"containers": (&scriptContainers{t: t, all: map[string]*containers.Registry{}}).run,

			"registry":       registries.run,
			"lying-registry": lying.run,
		},
	})
}

func condition(name string) (bool, error) {
	var err error
	switch name {
	case "sandboxes":
		err = landlock.Available()
	case "namespaces":
		if level, _ := probe.Level(context.Background()); level != expert.SandboxFull {
			err = fmt.Errorf("level full; this machine offers %s", level)
		}
	default:
		return false, fmt.Errorf("there is no condition [%s]", name)
	}
	if err != nil && os.Getenv("CI") != "" {
		return false, fmt.Errorf("missing in CI: %w", err)
	}
	return err == nil, nil
}

// events decodes the last standard output.
func events(ts *testscript.TestScript) []event.Event {
	var all []event.Event
	for line := range bytes.Lines([]byte(ts.ReadFile("stdout"))) {
		e, err := event.Unmarshal(bytes.TrimSuffix(line, []byte("\n")))
		ts.Check(err)
		all = append(all, e)
	}
	return all
}

func trace(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: trace 'type@step …'")
	}
	var got []string
	for _, e := range events(ts) {
		if !e.IsRuntime() && e.IsKept() {
			got = append(got, fmt.Sprintf("%s@%d", e.Type(), e.StepNumber))
		}
	}
	want := strings.Fields(args[0])
	if strings.Join(got, " ") != strings.Join(want, " ") {
		ts.Fatalf("trace\n got %s\nwant %s", strings.Join(got, " "), strings.Join(want, " "))
	}
}

func checkpoint(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 || len(args) > 3 {
		ts.Fatalf("usage: checkpoint NAME STEP [EXPERT]")
	}
	for _, e := range events(ts) {
		var cp *event.Checkpoint
		switch b := e.Body.(type) {
		case event.ContinueToNextStep:
			cp = b.Checkpoint
		case event.CompleteRun:
			cp = b.Checkpoint
		case event.StopRunByInteractiveTool:
			cp = b.Checkpoint
		}
		if cp != nil && fmt.Sprint(cp.StepNumber) == args[1] && (len(args) < 3 || e.ExpertKey == args[2]) {
			ts.Setenv(args[0], cp.ID)
			return
		}
	}
	ts.Fatalf("no checkpoint of step %s on standard output", strings.Join(args[1:], " of "))
}

// startLLM serves a script of internal/testkit/llm until the test script ends.
func startLLM(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 1 || len(args) > 2 {
		ts.Fatalf("usage: llm FILE [PROVIDER]")
	}
	provider := "anthropic"
	if len(args) == 2 {
		provider = args[1]
	}
	script, err := llm.Parse(args[0], []byte(ts.ReadFile(args[0])))
	ts.Check(err)
	server := llm.New(script)
	_, stop := server.Serve()
	ts.Defer(stop)
	// A file with credentials must not be among those that an Expert can read.
	dir, err := os.MkdirTemp("", "llm")
	ts.Check(err)
	ts.Defer(func() { _ = os.RemoveAll(dir) })
	env := llm.Env(provider, server.Root(), dir)
	if env == nil {
		ts.Fatalf("llm: nothing leads to a provider called %q", provider)
	}
	for name, value := range env {
		ts.Setenv(name, value)
	}
}

// held counts an attack that the lines before it have shown to fail.
func held(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: held ID")
	}
	ts.Check(attack.Add(fmt.Sprintf("%s\t%s\t1\t1\n", args[0], ts.Name())))
}

// rechain changes the lines of a journal and links them again, as anybody can who can write it.
func rechain(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 3 {
		ts.Fatalf("usage: rechain JOURNAL REGEXP REPLACEMENT")
	}
	link := regexp.MustCompile(`"prev":"[0-9a-f]{64}"`)
	prev := fmt.Sprintf("%064d", 0)
	var out []byte
	for line := range bytes.Lines([]byte(ts.ReadFile(args[0]))) {
		line = regexp.MustCompile(args[1]).ReplaceAll(bytes.TrimSuffix(line, []byte("\n")), []byte(args[2]))
		line = link.ReplaceAll(line, []byte(`"prev":"`+prev+`"`))
		prev = fmt.Sprintf("%x", sha256.Sum256(line))
		out = append(append(out, line...), '\n')
	}
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), out, 0o600))
}

func exitcode(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exitcode N perstack …")
	}
	err := ts.Exec(args[1], args[2:]...)
	code := 0
	var exit interface{ ExitCode() int }
	if err != nil {
		var ok bool
		if exit, ok = err.(interface{ ExitCode() int }); !ok {
			ts.Fatalf("%v", err)
		}
		code = exit.ExitCode()
	}
	if fmt.Sprint(code) != args[0] {
		ts.Fatalf("exit code %d, want %s", code, args[0])
	}
}
