package narrate

import (
	"fmt"
	"strings"
	"testing"

	"github.com/perstack-go/perstack/event"
)

// A model or a tool may have written anything. A member that is missing or of another type
// counts as absent, and nothing is refused.
func TestMistypedMembers(t *testing.T) {
	for _, tt := range []struct{ tool, args, result, want string }{
		{"readTextFile", `{"path":1,"from":"a","to":2}`, `{"content":["x"]}`, "Read"},
		{"readTextFile", `{"path":"a","from":1.5,"to":2}`, `{"content":null}`, "Read a"},
		{"readTextFile", `{"path":"a","path":"b"}`, `plain text`, "Read b | plain text"},
		{"readTextFile", `no JSON`, `[1]`, "Read | [1]"},
		{"todo", `{"newTodos":["a",1,null],"completedTodos":[0,"x",1.5,1e300]}`, `{"todos":[{"title":"first"},{"id":"?"}]}`, "Todo Added 1 task, Completed 1 task | ○ a | ✓ first"},
		{"todo", `{"newTodos":"a"}`, `{}`, "Todo No changes"},
		{"listDirectory", `{"path":"."}`, `{"items":[1,{"name":"a","type":"directory"},{}]}`, "List . | 📄 \n📁 a\n📄 "},
		{"listDirectory", `{}`, `{"items":{}}`, "List"},
		{"glob", `{"pattern":"*.go"}`, `{"files":["a.go","b/c.go"]}`, "Glob *.go | a.go\nb/c.go"},
		{"grep", `{"pattern":"x+"}`, `{"files":[{"path":"a"},{"path":"b"}],"matches":3}`, "Grep x+ | 3 matching lines in 2 files"},
		{"grep", `{"pattern":"x","filesOnly":true}`, `{"files":[{"path":"a"}],"matches":1}`, "Grep x | 1 file"},
		{"grep", `{"pattern":"x"}`, `{"files":1,"matches":"y"}`, "Grep x | 0 matching lines in 0 files"},
		{"exec", `{"command":["ls"],"args":"x","cwd":7}`, `{"output":5}`, "Run"},
		{"exec", `{"command":"ls","args":["a",2,"b"]}`, `{"stdout":"x"}`, "Run ls a b | x"},
		{"exec", `{"command":"ls"}`, `{"error":{},"message":"m"}`, "Run ls"},
		{"attemptCompletion", `{}`, `{"remainingTodos":"none"}`, "Completion Accepted"},
		{"deleteDirectory", `{"path":"d","recursive":"yes"}`, `{}`, "Delete Dir d | Removed"},
		{"unheardOf", `{"a": 1}`, `x`, `unheardOf {"a":1} | x`},
		{"", `{}`, ``, "tool"},
	} {
		c := event.ToolCall{ID: "c", SkillName: event.BaseSkill, ToolName: tt.tool, Args: []byte(tt.args)}
		got := show([]Row{toolRow(c, resultOf(c, tt.result), "")})[0]
		if got = strings.TrimSpace(got); got != strings.TrimSpace(tt.want) {
			t.Errorf("%s %s: %q, want %q", tt.tool, tt.args, got, tt.want)
		}
	}
}

// What is known of a call before it runs.
func TestDescribe(t *testing.T) {
	for _, tt := range []struct{ skill, tool, args, want string }{
		{event.BaseSkill, "exec", `{"command":"go","args":["test","./..."],"cwd":"sub"}`, "Run [go test ./...] sub "},
		{event.BaseSkill, "moveFile", `{"source":"a","destination":"b"}`, "Move []  a"},
		{event.BaseSkill, "attemptCompletion", `{}`, "Completion []  "},
		{event.BaseSkill, "think", `{"thought":"hm"}`, "Think []  "},
		{"web", "fetch", `{"path":"/x"}`, `fetch []  {"path":"/x"}`},
	} {
		r := Describe(event.ToolCall{ID: "c", SkillName: tt.skill, ToolName: tt.tool, Args: []byte(tt.args)})
		if got := fmt.Sprintf("%s %v %s %s", r.Label, r.Argv, r.Dir, r.Summary); got != tt.want || r.State != Pending || r.Body != nil {
			t.Errorf("%s %s: %q in state %d, want %q", tt.tool, tt.args, got, r.State, tt.want)
		}
	}
}

// The directory of a command is told as it is seen from the workspace.
func TestWithin(t *testing.T) {
	for _, tt := range []struct{ workspace, dir, want string }{
		{"/w", "", ""}, {"/w", ".", ""}, {"/w", "./", ""}, {"/w", "/w", ""}, {"/w", "/w/", ""}, {"/w", "/w/a/../b", "b"}, {"/w", "/web", "/web"},
		{"/w", "a/b", "a/b"}, {"/w", "..", ".."}, {"", "/x", "/x"}, {"/", "/x", "x"},
	} {
		if got := within(tt.workspace, tt.dir); got != tt.want {
			t.Errorf("%q in %q: %q, want %q", tt.dir, tt.workspace, got, tt.want)
		}
	}
}
