package base_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/internal/workspace"
	"github.com/perstack-go/perstack/skill/base"
)

const canary = "CANARY-91c2"

// A bench is a skill in a workspace with neighbours.
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
	b.put("perstack/jobs/j1", canary)
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

// newSkill has a clock that stands still.
func newSkill(ws *workspace.Workspace) *base.Skill {
	return base.New(base.Options{
		Workspace: ws,
		Environ:   append(os.Environ(), "ANTHROPIC_API_KEY="+canary),
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
	var raw jsontext.Value
	switch a := args.(type) {
	case nil:
	case string:
		raw = jsontext.Value(a)
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
	if len(r.Result) != 1 || r.Result[0].Type != event.TextPart || r.ID != "c1" || r.ToolName != tool || r.SkillName != event.BaseSkill {
		t.Fatalf("result %+v", r)
	}
	return r.Result[0].Text, r
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
