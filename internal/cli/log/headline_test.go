package log

import (
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/perstack-go/perstack/event"
)

func TestHeadline(t *testing.T) {
	for _, tt := range []struct{ skill, tool, args, want string }{
		{event.BaseSkill, "exec", `{"command":"go","args":["test","./..."]}`, "exec go test ./..."},
		{event.BaseSkill, "exec", `{"command":"sh","args":["-c","a\n\u001b[31mb"]}`, "exec sh -c a b"},
		{event.BaseSkill, "exec", `{"command":"` + strings.Repeat("x", 100) + `"}`, "exec " + strings.Repeat("x", 60) + "..."},
		{event.BaseSkill, "readTextFile", `{"path":"a.txt","from":1}`, "readTextFile a.txt"},
		{event.BaseSkill, "moveFile", `{"source":"a","destination":"b"}`, "moveFile a → b"},
		{event.BaseSkill, "think", `{"thought":"hm"}`, "think"},
		{event.BaseSkill, "listDirectory", ``, "listDirectory"},
		{event.BaseSkill, "readTextFile", `{"path":1}`, "readTextFile"},
		{"web", "fetch", `{"path":"/x"}`, "fetch"},
	} {
		if got := headline(event.ToolCall{SkillName: tt.skill, ToolName: tt.tool, Args: jsontext.Value(tt.args)}); got != tt.want {
			t.Errorf("%s %s: %q, want %q", tt.tool, tt.args, got, tt.want)
		}
	}
}
