package base_test

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/internal/sandbox/policy"
	"github.com/perstack-go/perstack/internal/skills/base"
	"github.com/perstack-go/perstack/internal/workspace"
	"github.com/perstack-go/perstack/rawjson"
)

const canary = "CANARY-91c2"

// A bench is a skill in a workspace beside other directories.
type bench struct {
	*base.Skill
	t       testing.TB
	dir     string // the workspace
	outside string // beside it, with secret.txt in it
}

func newBench(t testing.TB) *bench {
	t.Helper()
	top, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	b := &bench{t: t, dir: filepath.Join(top, "ws"), outside: filepath.Join(top, "outside")}
	b.put("../outside/secret.txt", canary)
	b.put("../wsfoo/secret.txt", canary)
	b.put("perstack/jobs/j1/journal.jsonl", canary)
	b.put(".env", canary)
	b.put("a.txt", "alpha\nbeta\n")
	ws, err := workspace.Open(b.dir, workspace.Options{Protected: []string{filepath.Join(b.dir, "perstack"), filepath.Join(b.dir, ".env")}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { ws.Close() })
	b.Skill = newSkill(ws)
	return b
}

// secretNames are variables of the runtime that no other program may see.
func secretNames() []string {
	return []string{"ANTHROPIC_API_KEY", "AWS_SECRET_ACCESS_KEY", "GITHUB_TOKEN", "SSH_AUTH_SOCK"}
}

// newSkill has a clock that stands still.
func newSkill(ws *workspace.Workspace) *base.Skill {
	environ := os.Environ()
	for _, name := range secretNames() {
		environ = append(environ, name+"="+canary)
	}
	return base.New(base.Options{
		Workspace: ws,
		Commands:  commands,
		Sandbox:   policy.Off(policy.JobOff),
		Environ:   environ,
		Now:       func() time.Time { return time.Unix(0, 0) },
	})
}

func (b *bench) put(name, text string) {
	b.t.Helper()
	path := filepath.Join(b.dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		b.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		b.t.Fatal(err)
	}
}

func (b *bench) link(target, name string) {
	b.t.Helper()
	if err := os.Symlink(target, filepath.Join(b.dir, name)); err != nil {
		b.t.Fatal(err)
	}
}

// call runs a tool and returns the text of its answer. args is JSON, or a map.
func (b *bench) call(tool string, args any) (string, event.ToolResult) {
	b.t.Helper()
	return callWith(b.t.Context(), b.t, b.Skill, tool, args)
}

func callWith(ctx context.Context, t testing.TB, s *base.Skill, tool string, args any) (string, event.ToolResult) {
	t.Helper()
	var raw rawjson.Value
	switch a := args.(type) {
	case nil:
	case string:
		raw = rawjson.Value(a)
	default:
		var err error
		if raw, err = json.Marshal(a); err != nil {
			t.Fatal(err)
		}
	}
	r, err := s.Call(ctx, event.ToolCall{ID: "c1", SkillName: event.BaseSkill, ToolName: tool, Args: raw})
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Result) == 0 || r.Result[0].Type != event.TextPart || r.ID != "c1" || r.ToolName != tool || r.SkillName != event.BaseSkill {
		t.Fatalf("result %+v", r)
	}
	if hands := tool == "readImageFile" || tool == "readPdfFile"; (len(r.Result) == 2) != (hands && !r.IsError) || len(r.Result) > 2 {
		t.Fatalf("%s has %d parts", tool, len(r.Result))
	}
	return r.Result[0].Text, r
}

// mustFail calls a tool and checks that it refuses with a code.
func (b *bench) mustFail(tool string, args any, code string) object {
	b.t.Helper()
	text, r := b.call(tool, args)
	got := fields(b.t, text)
	if message, _ := got["error"].(string); !r.IsError || message == "" || got["code"] != code {
		b.t.Errorf("%s %v: %s; want code %q", tool, args, text, code)
	}
	return got
}

// mustDo calls a tool and checks that it succeeds.
func (b *bench) mustDo(tool string, args any) object {
	b.t.Helper()
	text, r := b.call(tool, args)
	if r.IsError {
		b.t.Errorf("%s %v: %s", tool, args, text)
	}
	return fields(b.t, text)
}

// holds checks what is in a file of the workspace.
func (b *bench) holds(name, want string) {
	b.t.Helper()
	if data, err := os.ReadFile(filepath.Join(b.dir, name)); err != nil || string(data) != want {
		b.t.Errorf("%s holds %.100q, %v; want %.100q", name, data, err, want)
	}
}

// lacks checks that nothing has a name in the workspace.
func (b *bench) lacks(name string) {
	b.t.Helper()
	if _, err := os.Lstat(filepath.Join(b.dir, name)); !errors.Is(err, fs.ErrNotExist) {
		b.t.Errorf("%s is there (%v)", name, err)
	}
}

// tree returns everything in the workspace and beside it: what kind of thing each name
// is, and what it holds.
func (b *bench) tree() map[string]string {
	b.t.Helper()
	all := map[string]string{}
	top := filepath.Dir(b.dir)
	err := filepath.WalkDir(top, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		name, _ := filepath.Rel(top, path)
		name = filepath.ToSlash(name)
		all[name] = info.Mode().String()
		switch {
		case d.Type().IsRegular():
			data, err := os.ReadFile(path)
			all[name] += " " + string(data)
			return err
		case d.Type()&fs.ModeSymlink != 0:
			target, err := os.Readlink(path)
			all[name] += " " + target
			return err
		}
		return nil
	})
	if err != nil {
		b.t.Fatal(err)
	}
	return all
}

// fields decodes an answer.
func fields(t testing.TB, text string) map[string]any {
	t.Helper()
	var m map[string]any
	if err := json.Unmarshal([]byte(text), &m); err != nil {
		t.Fatalf("answer %q: %v", text, err)
	}
	return m
}

type object = map[string]any
