package progress

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/perstack-go/perstack/event"
)

func ptr[T any](v T) *T { return &v }

const deep = "src/components/some/very/deep/directory/structure/with/many/levels/file.go"

// lost is what the engine records for a call that was running when perstack died.
const lost = "Error: perstack stopped while this call was running, so its outcome is unknown. Check what it did before you repeat it."

// activities holds every type, and the variants of those that have some.
var activities = []event.Activity{
	{Type: event.ActivityQuery, Text: "Summarise the report\nin three lines"},
	{Type: event.ActivityQuery, Text: "one\ntwo\nthree\nfour\nfive\nsix\n"},
	{Type: event.ActivityRetry, Error: `{"error":"RateLimit","message":"slow down"}`, Message: "slow down"},
	{Type: event.ActivityRetry, Error: "EmptyGeneration"},
	{Type: event.ActivityComplete, Text: "Done.\n\n- one\n- two\n- three\n- four\n- five\n"},
	{Type: event.ActivityComplete, Text: "A sentence that is longer than forty columns breaks between words.\n\n" +
		"  - an item of a list keeps its indentation on the lines that follow\n" +
		"日本語の文章は単語の間に空白がないので、どの文字の間でも折り返すことができます。\n" +
		"see https://example.com/an/address/that/is/longer/than/the/line for more"},
	{Type: event.ActivityRemark, Text: "I will read the plan first, then write the summary, then check that it says what the plan says, and nothing else that anybody might not expect."},
	{Type: event.ActivityAnswer, SkillName: "user", ToolName: "ask", Text: "Tuesday"},
	{Type: event.ActivityError, ErrorName: "Unauthorized", Error: "the key was refused"},
	{Type: event.ActivityError, ErrorName: "SkillError", Error: "skill \"web\" has other tools than the lockfile\n+ rm\n- list\nrun: perstack install --update"},
	{Type: event.ActivityError},
	{Type: event.ActivityStopped, Reason: event.StoppedByMaxSteps},
	{Type: event.ActivityStopped, Reason: event.StoppedByLimit, Message: event.LimitTokens},
	{Type: event.ActivityStopped, Reason: event.StoppedByLimit, Message: event.LimitCost},
	{Type: event.ActivityStopped, Reason: event.StoppedByLimit, Message: event.LimitDuration},
	{Type: event.ActivityStopped, Reason: event.StoppedByLimit, Message: event.LimitDepth},
	{Type: event.ActivityStopped, Reason: event.StoppedByLimit, Message: event.LimitLoop},
	{Type: event.ActivityStopped, Reason: event.StoppedByLimit, Message: event.LimitWorkspace},
	{Type: event.ActivityStopped, Reason: event.StoppedByLimit, Message: "patience"},
	{Type: event.ActivityStopped, Reason: event.StoppedByInterrupt, Message: "received interrupt"},
	{Type: event.ActivityAttemptCompletion},
	{Type: event.ActivityAttemptCompletion, RemainingTodos: []event.TodoItem{{ID: 1, Title: "a"}}},
	{Type: event.ActivityAttemptCompletion, Error: "todo list is broken"},
	{Type: event.ActivityTodo, NewTodos: []string{"a", "b", "c", "d"}, CompletedTodos: []int64{0, 9},
		Todos: []event.TodoItem{{ID: 0, Title: "first", Completed: true}}},
	{Type: event.ActivityTodo},
	{Type: event.ActivityClearTodo},
	{Type: event.ActivityReadTextFile, Path: "notes.md", Content: ptr("# Notes\n\n\tindented\n"), From: ptr(int64(1)), To: ptr(int64(3))},
	{Type: event.ActivityReadTextFile, Path: deep, Content: ptr("1\n2\n3\n4\n5\n6")},
	{Type: event.ActivityReadTextFile, Path: "gone.md", Error: "no such file"},
	{Type: event.ActivityReadImageFile, Path: "a.png"},
	{Type: event.ActivityReadPDFFile, Path: "a.pdf"},
	{Type: event.ActivityWriteTextFile, Path: "out.md", Text: "one\ntwo\n"},
	{Type: event.ActivityAppendTextFile, Path: "out.md", Text: "three"},
	{Type: event.ActivityEditTextFile, Path: "out.md", OldText: "one\ntwo", NewText: "1\n2"},
	{Type: event.ActivityDeleteFile, Path: "old.md"},
	{Type: event.ActivityCreateDirectory, Path: "dir"},
	{Type: event.ActivityDeleteDirectory, Path: "dir", Recursive: ptr(true)},
	{Type: event.ActivityMoveFile, Source: "a.md", Destination: deep},
	{Type: event.ActivityGetFileInfo, Path: "a.md"},
	{Type: event.ActivityListDirectory, Path: ".", Items: []event.DirectoryItem{
		{Name: "docs", Type: "directory"}, {Name: "a", Type: "file"}, {Name: "b"}, {Name: "c"}, {Name: "d"}}},
	{Type: event.ActivityExec, Command: "go", CommandArgs: []string{"test", "./..."}, CWD: "/srv/a", Output: ptr("ok a\n\n \nok b\nok c\nok d\nok e\n")},
	{Type: event.ActivityExec, Command: "make", Stdout: ptr(""), Stderr: ptr(strings.Repeat("x", 120))},
	{Type: event.ActivityExec, Command: "make", Error: "command failed with exit code 2", Stdout: ptr("building\n"),
		Stderr: ptr("one\ntwo\n\nthree\n   \nfour\nmake: *** [all] Error 1\n")},
	{Type: event.ActivityExec, Command: "test", CommandArgs: []string{"-f", "x"}, Error: "command failed with exit code 1", Stdout: ptr("only this\n"), Stderr: ptr(" \n")},
	{Type: event.ActivityExec, Command: "false", Error: "command failed with exit code 1"},
	{Type: event.ActivityExec, Command: "make", CommandArgs: []string{"deploy"}, Error: lost},
	{Type: event.ActivityDelegate, DelegateExpertKey: "@acme/writer", Query: "Write about " + strings.Repeat("w", 80)},
	{Type: event.ActivityDelegationComplete, Count: 1},
	{Type: event.ActivityDelegationComplete, Count: 2},
	{Type: event.ActivityInteractiveTool, SkillName: "user", ToolName: "ask",
		Args: jsontext.Value(`{"question":"Which day?\nPick one.","options":["Mon", "Tue"],"urgent":true}`)},
	{Type: event.ActivityInteractiveTool, ToolName: "confirm", Args: jsontext.Value(`{}`)},
	{Type: event.ActivityProviderTool, ToolName: "web_search", Args: jsontext.Value(`{"type":"web_search_call"}`)},
	{Type: event.ActivityProviderTool},
	{Type: event.ActivityGeneralTool, SkillName: "web", ToolName: "search", Args: jsontext.Value(`{"q": "perstack"}`)},
	{Type: event.ActivityGeneralTool, SkillName: "web", ToolName: "search", Args: jsontext.Value(`{"q":"` + strings.Repeat("long ", 20) + `"}`), Result: []event.Part{
		{Type: event.TextPart, Text: "\none\n\ttwo\n"}, {Type: event.ImageInlinePart, MIMEType: "image/png", EncodedData: "aGlkZGVu"},
		{Type: event.FileURLPart, URL: "https://example.com/a.pdf"}, {Type: event.TextPart, Text: "five\nsix"}}},
	{Type: event.ActivityGeneralTool, SkillName: "web", ToolName: "list", Args: jsontext.Value(`{}`), Result: []event.Part{{Type: event.TextPart, Text: `{"items":[]}`}}},
	{Type: event.ActivityGeneralTool, SkillName: event.BaseSkill, ToolName: "think", Args: jsontext.Value(`{"thought":"The plan\nhas two parts.","nextThoughtNeeded":true}`)},
	{Type: event.ActivityGeneralTool, SkillName: event.BaseSkill, ToolName: "think", Args: jsontext.Value(`{"thought":1}`)},
	{Type: event.ActivityGeneralTool, SkillName: event.BaseSkill, ToolName: "healthCheck", Args: jsontext.Value(`{}`)},
	{Type: event.ActivityGeneralTool, SkillName: "web", ToolName: "post", Args: jsontext.Value(`{"q":"a"}`), Error: lost},
	{Type: event.ActivityGeneralTool, ToolName: "post", Args: jsontext.Value(`{}`), Error: lost},
	{Type: event.ActivityGeneralTool, SkillName: "web", ToolName: "fetch", Args: jsontext.Value(`{"url":"https://example.com/` + strings.Repeat("p", 80) + `"}`), Error: "HTTP 404"},
}

func TestActivities(t *testing.T) {
	for name, opts := range map[string]Options{
		"activities.plain.golden":  {},
		"activities.colour.golden": {Color: true},
		"activities.narrow.golden": {Width: 40, Lines: 2, Verbose: true},
	} {
		t.Run(name, func(t *testing.T) {
			p := New(nil, opts)
			for _, a := range activities {
				fmt.Fprintf(&p.out, "-- %s --\n", a.Type)
				p.draw(place{}, p.activity(a))
			}
			golden(t, name, p.out.String())
			if !opts.Color && bytes.ContainsRune(p.out.Bytes(), '\x1b') {
				t.Error("an escape character without colours")
			}
		})
	}
}

// In a pipe there is no width, and still no line of a megabyte; only what ends the run
// is whole.
func TestLongLineInPipe(t *testing.T) {
	long := strings.Repeat("x", 300_000)
	for _, test := range []struct {
		a     event.Activity
		bound int // columns of the longest line
	}{
		{event.Activity{Type: event.ActivityReadTextFile, Path: long, Content: &long}, 2*unknownWidth + gutter},
		{event.Activity{Type: event.ActivityWriteTextFile, Path: "a", Text: long}, unknownWidth + gutter},
		{event.Activity{Type: event.ActivityDeleteFile, Path: "a", Error: long}, unknownWidth + gutter},
		{event.Activity{Type: event.ActivityError, Error: long}, unknownWidth + gutter},
		{event.Activity{Type: event.ActivityGeneralTool, ToolName: "t", Args: jsontext.Value(`"` + long + `"`), Result: []event.Part{{Type: event.TextPart, Text: long}}}, unknownWidth + gutter},
		{event.Activity{Type: event.ActivityRemark, Text: long}, defaultLines*unknownWidth + gutter},
	} {
		p := New(nil, Options{})
		p.draw(place{}, p.activity(test.a))
		for l := range strings.Lines(p.out.String()) {
			if n := columns(strings.TrimSuffix(l, "\n")); n > test.bound {
				t.Errorf("%s: a line of %d columns, want at most %d", test.a.Type, n, test.bound)
			}
		}
	}
	p := New(nil, Options{})
	p.draw(place{}, p.activity(event.Activity{Type: event.ActivityComplete, Text: long}))
	if !strings.Contains(p.out.String(), long) {
		t.Error("the answer was cut")
	}
}

func TestShortPath(t *testing.T) {
	for _, test := range []struct{ path, want string }{
		{"a/b/c.go", "a/b/c.go"},
		{deep, ".../levels/file.go"},
		{strings.Repeat("long", 20) + "/file.go", strings.Repeat("long", 20) + "/file.go"},
		{"a/" + strings.Repeat("long", 20) + "/file.go", ".../file.go"},
		{`C:\` + strings.ReplaceAll(deep, "/", `\`), ".../levels/file.go"},
	} {
		if got := shortPath(test.path, pathCut); got != test.want {
			t.Errorf("shortPath(%q) = %q, want %q", test.path, got, test.want)
		}
	}
}

func TestCut(t *testing.T) {
	for _, test := range []struct {
		text string
		n    int
		want string
	}{
		{"", 3, ""},
		{"abc", 3, "abc"},
		{"abcd", 3, "abc..."},
		{"äöüß", 3, "äöü..."},
	} {
		if got := cut(test.text, test.n); got != test.want {
			t.Errorf("cut(%q, %d) = %q, want %q", test.text, test.n, got, test.want)
		}
	}
}
