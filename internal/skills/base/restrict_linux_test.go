package base_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/expert"
	"github.com/perstack-go/perstack/internal/sandbox/landlock"
	"github.com/perstack-go/perstack/internal/sandbox/policy"
	"github.com/perstack-go/perstack/internal/skills/base"
	"github.com/perstack-go/perstack/internal/testkit"
	"github.com/perstack-go/perstack/internal/workspace"
	"github.com/perstack-go/perstack/rawjson"
)

// locked is a bench whose skill has a sandbox with some right to the workspace, and a
// directory of its own.
func locked(t *testing.T, allow func(c *policy.Policy, dir string), more func(*base.Options)) (b *bench, own string) {
	t.Helper()
	if err := landlock.Available(); err != nil {
		testkit.Missing(t, err.Error())
	}
	b = newBench(t)
	own = t.TempDir()
	c := &policy.Policy{Level: expert.SandboxLandlock, Read: landlock.SystemPaths(), Write: append(landlock.WritableDevices(), own)}
	allow(c, b.dir)
	ws, err := workspace.Open(b.dir, workspace.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { ws.Close() })
	o := base.Options{Workspace: ws, Commands: commands, Environ: os.Environ(), Set: map[string]string{"TMPDIR": own, "HOME": own}, Sandbox: c}
	if more != nil {
		more(&o)
	}
	b.Skill = base.New(o)
	return b, own
}

func mayWrite(c *policy.Policy, dir string) { c.Workspace = policy.Workspace{Path: dir} }
func mayRead(c *policy.Policy, dir string) {
	c.Workspace = policy.Workspace{Path: dir, Right: expert.WorkspaceRead}
}
func mayNothing(c *policy.Policy, dir string) {
	c.Workspace = policy.Workspace{Path: dir, Right: expert.WorkspaceNone}
}

// All tools work on restricted threads as they do without them.
func TestToolsOnRestrictedThreads(t *testing.T) {
	b, _ := locked(t, mayWrite, nil)
	b.put("i.png", pngFile)
	b.put("d.pdf", pdfFile)
	b.put("d/e/x", "x")
	for _, c := range []struct{ tool, args string }{
		{"attemptCompletion", ``}, {"think", `{"thought":"hm"}`}, {"todo", `{"newTodos":["a"]}`}, {"healthCheck", ``},
		{"readTextFile", `{"path":"a.txt"}`}, {"readImageFile", `{"path":"i.png"}`}, {"readPdfFile", `{"path":"d.pdf"}`},
		{"writeTextFile", `{"path":"n/e/w.txt","text":"new"}`}, {"writeTextFile", `{"path":"a.txt","text":"other"}`},
		{"appendTextFile", `{"path":"n/e/w.txt","text":"er"}`}, {"editTextFile", `{"path":"n/e/w.txt","oldText":"newer","newText":"old"}`},
		{"getFileInfo", `{"path":"n/e/w.txt"}`}, {"listDirectory", `{"path":"."}`}, {"glob", `{"pattern":"*.txt"}`}, {"grep", `{"pattern":"a"}`},
		{"moveFile", `{"source":"n/e/w.txt","destination":"d/w.txt"}`}, {"moveFile", `{"source":"n/e","destination":"d/n"}`},
		{"createDirectory", `{"path":"d/f/g"}`}, {"deleteFile", `{"path":"d/w.txt"}`}, {"deleteDirectory", `{"path":"d","recursive":true}`},
		{"exec", `{"command":"sh","args":["-c","cat a.txt; echo x >made"]}`}, {"clearTodo", ``},
	} {
		if text, r := b.call(c.tool, c.args); r.IsError {
			t.Errorf("%s %s: %s", c.tool, c.args, text)
		}
	}
	b.holds("a.txt", "other")
	b.holds("made", "x\n")
	if text, _ := b.call("todo", nil); text != `{"todos":[]}` {
		t.Error(text)
	}
}

// The kernel refuses, even if the path checks of the workspace failed: on the thread of a file
// tool nothing outside can be opened, read or written, whatever the caller is.
func TestKernelHoldsWithoutWorkspace(t *testing.T) {
	var tried []error
	b, _ := locked(t, mayWrite, func(o *base.Options) {
		// The tool calls it on its thread, which is as near as a test gets.
		outside := filepath.Join(filepath.Dir(o.Workspace.Path()), "outside")
		o.Redact = func(text string) string {
			_, read := os.ReadFile(filepath.Join(outside, "secret.txt"))
			_, list := os.ReadDir(outside)
			_, system := os.ReadFile("/etc/passwd")
			_, process := os.ReadFile("/proc/self/environ")
			tried = append(tried, read, list, system, process, os.WriteFile(filepath.Join(outside, "planted"), nil, 0o600),
				os.Rename(filepath.Join(o.Workspace.Path(), "a.txt"), filepath.Join(outside, "a.txt")))
			_, inside := os.ReadFile(filepath.Join(o.Workspace.Path(), "a.txt"))
			if inside != nil {
				t.Errorf("the workspace itself: %v", inside)
			}
			return text
		}
	})
	if text, r := b.call("readTextFile", `{"path":"a.txt"}`); r.IsError {
		t.Fatal(text)
	}
	if len(tried) == 0 {
		t.Fatal("nothing was tried")
	}
	for i, err := range tried {
		if !errors.Is(err, fs.ErrPermission) && !strings.Contains(err.Error(), "cross-device") {
			t.Errorf("attempt %d: %v", i, err)
		}
	}
	// The thread has ended, and no other is restricted.
	if _, err := os.ReadFile(filepath.Join(b.outside, "secret.txt")); err != nil {
		t.Error(err)
	}
}

// What a skill may do with the workspace holds for its file tools and its commands alike.
func TestRights(t *testing.T) {
	for _, c := range []struct {
		name        string
		allow       func(*policy.Policy, string)
		read, write bool
	}{
		{"readWrite", mayWrite, true, true},
		{"readOnly", mayRead, true, false},
		{"none", mayNothing, false, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			b, own := locked(t, c.allow, nil)
			if c.name == "none" {
				b, own = locked(t, c.allow, func(o *base.Options) { o.Home = o.Set["HOME"] })
			}
			file := filepath.Join(b.dir, "a.txt")
			for _, a := range []struct {
				tool string
				args object
				want bool
			}{
				{"readTextFile", object{"path": "a.txt"}, c.read},
				{"listDirectory", object{"path": "."}, c.read},
				{"glob", object{"pattern": "*"}, c.read},
				{"grep", object{"pattern": "a"}, c.read},
				{"exec", object{"command": "cat", "args": []string{file}}, c.read},
				{"exec", object{"command": "ls", "args": []string{b.dir}}, c.read},
				{"exec", object{"command": "sh", "args": []string{"-c", "echo x >>" + file}}, c.write},
				{"appendTextFile", object{"path": "a.txt", "text": "x"}, c.write},
				{"writeTextFile", object{"path": "new.txt", "text": "x"}, c.write},
				{"createDirectory", object{"path": "new"}, c.write},
				{"exec", object{"command": "sh", "args": []string{"-c", "echo x >$TMPDIR/x && cat $HOME/x"}}, true},
				{"exec", object{"command": "cat", "args": []string{filepath.Join(b.outside, "secret.txt")}}, false},
				{"deleteFile", object{"path": "a.txt"}, c.write},
			} {
				if text, r := b.call(a.tool, a.args); r.IsError == a.want || strings.Contains(text, canary) {
					t.Errorf("%s %v: %s", a.tool, a.args, text)
				}
			}
			if _, err := os.Stat(filepath.Join(own, "x")); err != nil {
				t.Error(err)
			}
		})
	}
}

// A command without access to the workspace starts in its home directory and cannot choose another.
func TestStartsInItsHomeDirectory(t *testing.T) {
	b, own := locked(t, mayNothing, func(o *base.Options) { o.Home = o.Set["HOME"] })
	if text, _ := b.call("exec", `{"command":"pwd"}`); fields(t, text)["output"] != own+"\n" {
		t.Error(text)
	}
	if text, r := b.call("exec", `{"command":"pwd","cwd":"d"}`); !r.IsError || fields(t, text)["code"] != "invalid_arguments" {
		t.Error(text)
	}
}

// Where a command has its directories is not for the caller of a tool to say.
func TestOwnDirectoriesAreFixed(t *testing.T) {
	b, own := locked(t, mayWrite, nil)
	text, _ := b.call("exec", `{"command":"sh","args":["-c","echo $HOME $TMPDIR"],"env":{"HOME":"/root","TMPDIR":"/tmp"}}`)
	if got := fields(t, text); got["output"] != own+" "+own+"\n" {
		t.Error(text)
	}
}

// A panic on a restricted thread reaches the caller, which survives it.
func TestPanicOnRestrictedThread(t *testing.T) {
	b, _ := locked(t, mayWrite, func(o *base.Options) { o.Redact = func(string) string { panic("broken inside") } })
	defer func() {
		if p := recover(); p == nil || !strings.Contains(p.(string), "broken inside") || !strings.Contains(p.(string), "restrict_linux_test.go") {
			t.Errorf("recovered %v", p)
		}
	}()
	b.call("readTextFile", `{"path":"a.txt"}`)
	t.Error("nothing was thrown")
}

// A thread that cannot be restricted does no work.
func TestNoRestrictionNoWork(t *testing.T) {
	b, _ := locked(t, mayWrite, func(o *base.Options) {
		if err := os.Rename(o.Workspace.Path(), o.Workspace.Path()+"-moved"); err != nil {
			t.Fatal(err)
		}
	})
	if text, r := b.call("readTextFile", `{"path":"a.txt"}`); !r.IsError || strings.Contains(text, "alpha") {
		t.Error(text)
	}
}

// A command that multiplies is ended, and the model is told why.
func TestTooManyProcesses(t *testing.T) {
	b, _ := locked(t, mayWrite, func(o *base.Options) { o.Sandbox.Limits.Tasks = 60 })
	text, r := b.call("exec", `{"command":"sh","args":["-c","i=0; while [ $i -lt 100 ]; do sleep 3600 & i=$((i+1)); done; wait"],"timeout":0}`)
	if got := fields(t, text); !r.IsError || got["code"] != "limit" || !strings.Contains(text, "processes") {
		t.Error(text)
	}
}

// What a foreign base skill names is read with the right of its own sandbox: it cannot have
// perstack read for it what it may not read itself.
func TestForeignOnRestrictedThread(t *testing.T) {
	for name, test := range map[string]struct {
		allow func(c *policy.Policy, dir string)
		reads bool
	}{"may read": {mayRead, true}, "may not": {mayNothing, false}} {
		t.Run(name, func(t *testing.T) {
			b, _ := locked(t, test.allow, nil)
			b.put("a.png", pngFile)
			files, err := workspace.Open(b.dir, workspace.Options{})
			if err != nil {
				t.Fatal(err)
			}
			defer files.Close()
			c := &policy.Policy{Level: expert.SandboxLandlock, Read: landlock.SystemPaths()}
			test.allow(c, b.dir)
			inner := says{event.ToolResult{Result: []event.Part{{Type: event.TextPart, Text: described(t, "a.png")}}}}
			r, err := base.Foreign(inner, files, c).Call(t.Context(), event.ToolCall{ID: "c", ToolName: "readImageFile", Args: rawjson.Value(`{"path":"a.png"}`)})
			if err != nil || r.IsError == test.reads {
				t.Errorf("%v, %+v", err, r)
			}
		})
	}
}
