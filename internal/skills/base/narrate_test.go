package base_test

import (
	"testing"

	"github.com/go-json-experiment/json"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/internal/narrate"
)

// row returns what a person is shown of a call.
func (b *bench) row(tool string, args object) narrate.Row {
	b.t.Helper()
	_, r := b.call(tool, args)
	raw, err := json.Marshal(args)
	if err != nil {
		b.t.Fatal(err)
	}
	call := event.ToolCall{ID: r.ID, SkillName: event.BaseSkill, ToolName: tool, Args: raw}
	var n narrate.Narrator
	n.Apply(event.Event{RunID: "r", Body: event.CallTools{ToolCalls: []event.ToolCall{call}}})
	r.SkillName, r.ToolName = call.SkillName, tool
	changes := narrate.Rows(n.Apply(event.Event{RunID: "r", Body: event.EndToolCall{ToolResult: r}}))
	if len(changes) != 1 {
		b.t.Fatalf("%s is shown as %+v", tool, changes)
	}
	return changes[0]
}

// The rows that people see find in the answers of the tools what they look for.
func TestAnswersBecomeRows(t *testing.T) {
	b := newBench(t)
	b.put("i.bin", "GIF89a")
	b.put("d.pdf", "%PDF-1.7")
	for _, tt := range []struct {
		tool             string
		args             object
		label, about, is string
		state            narrate.State
	}{
		{"readImageFile", object{"path": "i.bin"}, "Image", "i.bin", "Read", narrate.Done},
		{"readPdfFile", object{"path": "d.pdf"}, "PDF", "d.pdf", "Read", narrate.Done},
		{"readTextFile", object{"path": "a.txt"}, "Read", "a.txt", "alpha\nbeta\n", narrate.Done},
		{"getFileInfo", object{"path": "a.txt"}, "Info", "a.txt", "Fetched", narrate.Done},
		{"todo", object{"newTodos": []string{"x"}}, "Todo", "Added 1 task", "○ x", narrate.Done},
		{"todo", object{"completedTodos": []int{0}}, "Todo", "Completed 1 task", "", narrate.Done},
		{"attemptCompletion", object{}, "Completion Accepted", "", "", narrate.Done},
		{"editTextFile", object{"path": "a.txt", "oldText": "absent", "newText": "b"}, "Edit", "a.txt", "Error: ", narrate.Failed},
		{"moveFile", object{"source": "a.txt", "destination": "b.txt"}, "Move", "a.txt", "→ b.txt", narrate.Done},
	} {
		r := b.row(tt.tool, tt.args)
		is := ""
		if len(r.Body) > 0 {
			is = r.Body[0].Text
		}
		if r.State == narrate.Failed {
			is = is[:min(len(is), len(tt.is))]
		}
		if r.Label != tt.label || r.Summary != tt.about || is != tt.is || r.State != tt.state {
			t.Errorf("%s is shown as %+v", tt.tool, r)
		}
	}
}
