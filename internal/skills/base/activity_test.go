package base_test

import (
	"testing"

	"github.com/go-json-experiment/json"

	"github.com/perstack-go/perstack/event"
)

// activity returns what a person is shown of a call.
func (b *bench) activity(tool string, args object) event.Activity {
	b.t.Helper()
	_, r := b.call(tool, args)
	raw, err := json.Marshal(args)
	if err != nil {
		b.t.Fatal(err)
	}
	call := event.ToolCall{ID: r.ID, SkillName: event.BaseSkill, ToolName: tool, Args: raw}
	shown := event.FromCheckpoint(event.Checkpoint{}, event.Step{ToolCalls: []event.ToolCall{call}, ToolResults: []event.ToolResult{r}})
	for _, a := range shown {
		if string(a.Type) == tool {
			return a
		}
	}
	b.t.Fatalf("%s is shown as %+v", tool, shown)
	return event.Activity{}
}

// The activity log finds in the answers what it looks for.
func TestAnswersBecomeActivities(t *testing.T) {
	b := newBench(t)
	b.put("i.bin", "GIF89a")
	b.put("d.pdf", "%PDF-1.7")
	for tool, want := range map[string]struct {
		path, mimeType string
		size           int64
	}{
		"readImageFile": {"i.bin", "image/gif", 6},
		"readPdfFile":   {"d.pdf", "application/pdf", 8},
	} {
		a := b.activity(tool, object{"path": want.path})
		if a.Path != want.path || a.MIMEType == nil || *a.MIMEType != want.mimeType || a.Size == nil || *a.Size != want.size || a.Error != "" {
			t.Errorf("%s is shown as %+v", tool, a)
		}
	}
	info := b.activity("getFileInfo", object{"path": "a.txt"}).Info
	if info == nil || !info.Exists || info.Name != "a.txt" || info.Directory != b.dir || info.Type != "file" || info.Size != 11 || info.SizeFormatted != "11.00 B" ||
		info.Extension == nil || *info.Extension != ".txt" || info.MIMEType == nil || *info.MIMEType != "text/plain" || info.Modified == "" {
		t.Errorf("a file is shown as %+v", info)
	}
	if a := b.activity("editTextFile", object{"path": "a.txt", "oldText": "a", "newText": "b"}); a.Error == "" || a.OldText != "a" {
		t.Errorf("a failed edit is shown as %+v", a)
	}
	if a := b.activity("moveFile", object{"source": "a.txt", "destination": "b.txt"}); a.Error != "" || a.Source != "a.txt" || a.Destination != "b.txt" {
		t.Errorf("a move is shown as %+v", a)
	}
}
