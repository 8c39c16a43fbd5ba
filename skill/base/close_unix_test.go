//go:build unix

package base_test

import (
	"context"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/internal/sandbox"
	"github.com/perstack-go/perstack/internal/workspace"
	"github.com/perstack-go/perstack/skill"
	"github.com/perstack-go/perstack/skill/base"
)

// The rows of the two attack tables of the base skill's specification that concern
// paths. Each is tried with all tools that take a path; B7 and B14 are about writing.
func TestAttacksOnPaths(t *testing.T) {
	const (
		outside = "path outside allowed directories"
		store   = "perstack directory is not allowed"
	)
	tests := []struct {
		row, path, code, fragment string
	}{
		{"B1", "/etc/passwd", "outside_workspace", outside},
		{"B2", "../../../etc/passwd", "outside_workspace", outside},
		{"B3", "/../../../etc/passwd", "outside_workspace", outside},
		{"B4", "../wsfoo/secret.txt", "outside_workspace", outside},
		{"B5", "perstack", "protected", store},
		{"B5", "PERSTACK", "protected", store},
		{"B5", "Perstack", "protected", store},
		{"B6", "perstack/jobs", "protected", store},
		{"B6", "PERSTACK/JOBS", "protected", store},
		{"B7", "leak.txt", "outside_workspace", "symbolic link"},
		{"B8", "out/secret.txt", "outside_workspace", "symbolic link"},
		{"B11", "~/x", "outside_workspace", outside},
		{"N2", "out", "outside_workspace", "symbolic link"},
		{"N3", "abs", "outside_workspace", "symbolic link"},
		{"N4", "p/jobs/j1", "protected", store},
		{"N4", "p", "protected", store},
		{"N5", "/proc/self/cwd/perstack/jobs/j1", "outside_workspace", outside},
		{"N9", ".env", "protected", "is protected"},
		{"N9", ".ENV", "protected", "is protected"},
		{"N9", "sub/.env.local", "protected", "is protected"},
		{"N9", "hard", "protected", "is protected"},
		{"N15", "a.txt\x00", "invalid_path", "NUL"},
		{"N15", "a.txt/b", "not_a_directory", "is not a directory"},
	}
	b := newBench(t)
	b.link("../outside/secret.txt", "leak.txt")
	b.link("../outside", "out")
	b.link(b.outside, "abs")
	b.link("perstack", "p")
	b.put("sub/.env.local", canary)
	if err := os.Link(filepath.Join(b.dir, ".env"), filepath.Join(b.dir, "hard")); err != nil {
		t.Fatal(err)
	}
	for _, tt := range tests {
		calls := map[string]object{
			"readTextFile":  {"path": tt.path},
			"writeTextFile": {"path": tt.path, "text": "planted"},
			"listDirectory": {"path": tt.path},
			"exec":          {"command": "pwd", "cwd": tt.path},
		}
		for tool, args := range calls {
			t.Run(tt.row+"/"+tool, func(t *testing.T) {
				text, r := b.call(tool, args)
				got := fields(t, text)
				message, _ := got["error"].(string)
				if !r.IsError || got["code"] != tt.code || !strings.Contains(message, tt.fragment) {
					t.Errorf("%s %q: %s; want code %q, message with %q", tool, tt.path, text, tt.code, tt.fragment)
				}
				if strings.Contains(text, canary) || strings.Contains(text, "root:") {
					t.Errorf("%s %q gives away: %s", tool, tt.path, text)
				}
			})
		}
	}
	for _, name := range []string{"../outside/secret.txt", "../wsfoo/secret.txt", "perstack/jobs/j1", ".env", "sub/.env.local"} {
		if data, err := os.ReadFile(filepath.Join(b.dir, name)); err != nil || string(data) != canary {
			t.Errorf("%s was changed: %q, %v", name, data, err)
		}
	}
}

// What is below .git is read and not written: a hook there runs with the user's next git
// command.
func TestGitDirectory(t *testing.T) {
	b := newBench(t)
	b.put(".git/config", "[core]\n")
	b.link(".git", "g")
	for _, path := range []string{".git/config", ".Git/hooks/pre-commit", "g/hooks/pre-commit", "new/.git/config"} {
		text, r := b.call("writeTextFile", object{"path": path, "text": "planted"})
		if !r.IsError || fields(t, text)["code"] != "protected" || !strings.Contains(text, "what is below .git can run code on your machine") {
			t.Errorf("%s: %s", path, text)
		}
	}
	if text, r := b.call("readTextFile", object{"path": "g/config"}); r.IsError || !strings.Contains(text, "[core]") {
		t.Error(text)
	}
}

func TestB10LinkInside(t *testing.T) {
	b := newBench(t)
	b.link("a.txt", "l")
	if text, r := b.call("readTextFile", object{"path": "l"}); r.IsError || !strings.Contains(text, "alpha") {
		t.Error(text)
	}
	if text, r := b.call("writeTextFile", object{"path": "l", "text": "new"}); r.IsError || !strings.Contains(text, "a.txt") {
		t.Error(text)
	}
	if data, _ := os.ReadFile(filepath.Join(b.dir, "a.txt")); string(data) != "new" {
		t.Errorf("target %q", data)
	}
}

func TestB12MissingParent(t *testing.T) {
	b := newBench(t)
	if text, r := b.call("readTextFile", object{"path": "nonexistent/dir/file.txt"}); !r.IsError || !strings.Contains(text, "does not exist") {
		t.Error(text)
	}
	if text, r := b.call("writeTextFile", object{"path": "nonexistent/dir/file.txt", "text": "x"}); r.IsError {
		t.Error(text)
	}
}

func TestB13Root(t *testing.T) {
	b := newBench(t)
	for _, path := range []string{"", ".", b.dir} {
		if text, r := b.call("listDirectory", object{"path": path}); r.IsError || fields(t, text)["path"] != b.dir {
			t.Error(text)
		}
	}
}

func TestB14ReadOnly(t *testing.T) {
	b := newBench(t)
	if err := os.Chmod(filepath.Join(b.dir, "a.txt"), 0o444); err != nil {
		t.Fatal(err)
	}
	text, r := b.call("writeTextFile", object{"path": "a.txt", "text": "x"})
	if !r.IsError || fields(t, text)["code"] != "not_writable" || !strings.Contains(text, "is not writable") {
		t.Error(text)
	}
	if data, _ := os.ReadFile(filepath.Join(b.dir, "a.txt")); string(data) != "alpha\nbeta\n" {
		t.Errorf("file %q", data)
	}
}

func TestB16WrongKind(t *testing.T) {
	b := newBench(t)
	b.put("d/x", "")
	for tool, args := range map[string]object{
		"listDirectory": {"path": "a.txt"},
		"exec":          {"command": "pwd", "cwd": "a.txt"},
		"readTextFile":  {"path": "d"},
		"writeTextFile": {"path": "d", "text": ""},
	} {
		text, r := b.call(tool, args)
		if code := fields(t, text)["code"]; !r.IsError || code != "not_a_directory" && code != "is_a_directory" {
			t.Errorf("%s: %s", tool, text)
		}
	}
}

func TestB22Timeout(t *testing.T) {
	b := newBench(t)
	text, r := b.call("exec", object{"command": "sh", "args": []string{"-c", "echo begun; sleep 3600"}, "timeout": 300})
	got := fields(t, text)
	if !r.IsError || got["code"] != "timeout" || got["timedOut"] != true || !strings.Contains(text, "timed out after 300ms") {
		t.Error(text)
	}
}

func TestB23Metacharacters(t *testing.T) {
	b := newBench(t)
	text, r := b.call("exec", object{"command": "printf", "args": []string{"%s\n", "$HOME; `id` | * > x"}})
	if r.IsError || fields(t, text)["output"] != "$HOME; `id` | * > x\n" {
		t.Error(text)
	}
}

// B24 and N7: protected variables are dropped and reported; B31: no secret arrives.
func TestB24N7Environment(t *testing.T) {
	b := newBench(t)
	text, r := b.call("exec", object{"command": "env", "env": object{
		"PATH": "/evil", "LD_PRELOAD": "/evil", "LD_AUDIT": "/evil", "BASH_ENV": "/evil", "HTTP_PROXY": "/evil",
		"npm_config_registry": "/evil", "PERSTACK_PROXY_URL": "/evil", "FOO": "bar",
	}})
	got := fields(t, text)
	if r.IsError || strings.Contains(got["output"].(string), "/evil") || !strings.Contains(got["output"].(string), "FOO=bar") {
		t.Error(text)
	}
	if dropped, _ := got["droppedEnv"].([]any); len(dropped) != 7 {
		t.Errorf("dropped %v", dropped)
	}
	if strings.Contains(text, canary) {
		t.Error("a secret of the runtime reached a command")
	}
}

func TestB25OpenTodos(t *testing.T) {
	b := newBench(t)
	b.call("todo", object{"newTodos": []string{"one", "two"}, "completedTodos": []int{0}})
	text, r := b.call("attemptCompletion", nil)
	if r.IsError || text != `{"remainingTodos":[{"id":1,"title":"two","completed":false}]}` {
		t.Error(text)
	}
	b.call("todo", object{"completedTodos": []int{1}})
	if text, _ := b.call("attemptCompletion", nil); text != `{}` {
		t.Error(text)
	}
}

func TestB26UnknownTodos(t *testing.T) {
	b := newBench(t)
	b.call("todo", object{"newTodos": []string{"one"}})
	text, r := b.call("todo", `{"completedTodos":[7,-1,0.5,1e300,-0.5,1e-300,99999999999999999999]}`)
	if r.IsError || text != `{"todos":[{"id":0,"title":"one","completed":false}]}` {
		t.Error(text)
	}
}

// N10: a pipe does not hang a tool, however often it is tried.
func TestN10Pipe(t *testing.T) {
	b := newBench(t)
	if err := syscall.Mkfifo(filepath.Join(b.dir, "pipe"), 0o666); err != nil {
		t.Fatal(err)
	}
	for range 4 {
		if text, r := b.call("readTextFile", object{"path": "pipe"}); !r.IsError || fields(t, text)["code"] != "not_regular" {
			t.Error(text)
		}
	}
	if text, r := b.call("listDirectory", nil); r.IsError || !strings.Contains(text, "pipe") {
		t.Error(text)
	}
}

// N12: what a command leaves in the background is gone when the call returns.
func TestN12Background(t *testing.T) {
	b := newBench(t)
	text, r := b.call("exec", object{"command": "sh", "args": []string{"-c", "(trap '' TERM HUP; exec sleep 3600) & echo $!"}, "timeout": 0})
	pid, err := strconv.Atoi(strings.TrimSpace(fields(t, text)["output"].(string)))
	if r.IsError || err != nil {
		t.Fatal(text)
	}
	for range 100_000 {
		stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
		if syscall.Kill(pid, 0) != nil || err == nil && strings.Contains(string(stat), ") Z ") {
			return
		}
	}
	t.Errorf("process %d survived", pid)
}

// N16: todos belong to one skill, which belongs to one conversation.
func TestN16Isolated(t *testing.T) {
	b := newBench(t)
	ws, err := workspace.Open(b.dir, workspace.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer ws.Close()
	b.call("todo", object{"newTodos": []string{"mine"}})
	if text, _ := callWith(t.Context(), t, newSkill(ws), "attemptCompletion", nil); text != `{}` {
		t.Errorf("another conversation sees %s", text)
	}
	if text, _ := callWith(t.Context(), t, newSkill(ws), "todo", nil); text != `{"todos":[]}` {
		t.Errorf("another conversation sees %s", text)
	}
}

// A call that nobody waits for any more does nothing.
func TestInterrupted(t *testing.T) {
	b := newBench(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for tool, args := range map[string]object{
		"listDirectory": nil,
		"readTextFile":  {"path": "a.txt"},
		"writeTextFile": {"path": "a.txt", "text": "late"},
		"exec":          {"command": "true"},
	} {
		text, r := callWith(ctx, t, b.Skill, tool, args)
		if !r.IsError || fields(t, text)["code"] != "interrupted" {
			t.Errorf("%s: %s", tool, text)
		}
	}
	if text, r := b.call("readTextFile", object{"path": "a.txt"}); r.IsError || !strings.Contains(text, "alpha") {
		t.Error(text)
	}
}

// A Tracker ends a command that is running. What it wrote so far is in the answer.
func TestTracker(t *testing.T) {
	b := newBench(t)
	ws, err := workspace.Open(b.dir, workspace.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer ws.Close()
	tracker := new(sandbox.Tracker)
	s := base.New(base.Options{Workspace: ws, Environ: os.Environ(), Tracker: tracker})
	ctx := skill.WithProgress(t.Context(), func(_, note string) {
		if note == "ready" {
			tracker.KillAll()
		}
	})
	text, r := callWith(ctx, t, s, "exec", object{"command": "sh", "args": []string{"-c", "trap '' TERM; echo why >&2; while :; do echo ready; sleep 0.05; done"}})
	got := fields(t, text)
	if !r.IsError || got["signal"] != "SIGKILL" || !strings.HasPrefix(text, `{"error":"command was ended by SIGKILL"`) || !strings.HasPrefix(got["stdout"].(string), "ready\n") || got["stderr"] != "why\n" {
		t.Error(text)
	}
}

func TestUnknownTool(t *testing.T) {
	if _, err := base.New(base.Options{}).Call(t.Context(), event.ToolCall{ToolName: "deleteEverything"}); err == nil {
		t.Error("no error")
	}
}
