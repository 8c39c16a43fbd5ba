package lines

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/internal/columns"
	"github.com/perstack-go/perstack/internal/narrate"
	"github.com/perstack-go/perstack/internal/testkit"
	"github.com/perstack-go/perstack/job"
	"github.com/perstack-go/perstack/rawjson"
)

const deep = "src/components/some/very/deep/directory/structure/with/many/levels/file.go"

// lost is what the engine records for a call that was running when perstack died.
const lost = event.UnknownOutcome

// A sight is something that a person sees, and the events that it is derived from.
type sight struct {
	name   string
	events []event.Event
}

func see(name string, bodies ...event.Body) sight {
	s := sight{name: name}
	for _, b := range bodies {
		s.events = append(s.events, at("r", "lead", b))
	}
	return s
}

// did is a call of a tool, with its arguments and its result.
func did(skill, tool, args string, result ...event.Part) sight {
	c := event.ToolCall{ID: "c", SkillName: skill, ToolName: tool, Args: rawjson.Value(args)}
	return see(tool, turn("", "", c), event.EndToolCall{ToolResult: event.ToolResult{ID: "c", SkillName: skill, ToolName: tool, Result: result}})
}

// base is a call of a tool of the base skill; both texts are JSON.
func base(tool string, args, result any) sight {
	return did(event.BaseSkill, tool, marshal(args), text(marshal(result)))
}

func marshal(v any) string {
	data, err := json.Marshal(v, json.Deterministic(true))
	if err != nil {
		panic(err)
	}
	return string(data)
}

type object map[string]any

// sights holds every kind of row that a Run has, and the variants of those that have some.
var sights = []sight{
	see("query", event.StartRun{InputMessages: ask("Summarise the report\nin three lines")}),
	see("query", event.StartRun{InputMessages: ask("one\ntwo\nthree\nfour\nfive\nsix\n")}),
	see("retry", event.Retry{Reason: `{"error":"RateLimit","message":"slow down"}`, DelayMS: 500}),
	see("retry", event.Retry{Reason: "EmptyGeneration"}),
	see("result", says("Done.\n\n- one\n- two\n- three\n- four\n- five\n")),
	see("result", says("A sentence that is longer than forty columns breaks between words.\n\n"+
		"  - an item of a list keeps its indentation on the lines that follow\n"+
		"日本語の文章は単語の間に空白がないので、どの文字の間でも折り返すことができます。\n"+
		"see https://example.com/an/address/that/is/longer/than/the/line for more")),
	see("message", turn("", "I will read the plan first, then write the summary, then check that it says what the plan says, and nothing else that anybody might not expect.")),
	see("answer", event.StartRun{Answers: []event.ToolResult{{ID: "q", SkillName: "user", ToolName: "ask", Result: []event.Part{text("Tuesday")}}}}),
	see("failure", event.StopRunByError{Error: event.Failure{Name: "Unauthorized", Message: "the key was refused"}}),
	see("failure", event.StopRunByError{Error: event.Failure{Name: "SkillError", Message: "skill \"web\" has other tools than the lockfile\n+ rm\n- list\nrun: perstack install --update"}}),
	see("failure", event.StopRunByError{Error: event.Failure{IsRetryable: true}}),
	see("stopped", event.StopRunByExceededMaxSteps{}),
	see("stopped", event.StopRunByLimit{Limit: event.LimitTokens}),
	see("stopped", event.StopRunByLimit{Limit: event.LimitCost}),
	see("stopped", event.StopRunByLimit{Limit: event.LimitDuration}),
	see("stopped", event.StopRunByLimit{Limit: event.LimitDepth}),
	see("stopped", event.StopRunByLimit{Limit: event.LimitLoop}),
	see("stopped", event.StopRunByLimit{Limit: event.LimitWorkspace}),
	see("stopped", event.StopRunByLimit{Limit: "patience"}),
	see("stopped", event.StopRunByInterrupt{Reason: "received interrupt"}),
	base("attemptCompletion", object{}, object{}),
	base("attemptCompletion", object{}, object{"remainingTodos": []object{{"id": 1, "title": "a"}}}),
	base("attemptCompletion", object{}, object{"error": "todo list is broken"}),
	base("todo", object{"newTodos": []string{"a", "b", "c", "d"}, "completedTodos": []int{0, 9}}, object{"todos": []object{{"id": 0, "title": "first", "completed": true}}}),
	base("todo", object{}, object{"todos": []object{}}),
	base("clearTodo", object{}, object{}),
	base("readTextFile", object{"path": "notes.md", "from": 1, "to": 3}, object{"content": "# Notes\n\n\tindented\n"}),
	base("readTextFile", object{"path": deep}, object{"content": "1\n2\n3\n4\n5\n6"}),
	base("readTextFile", object{"path": "gone.md"}, object{"error": "no such file"}),
	base("readImageFile", object{"path": "a.png"}, object{}),
	base("readPdfFile", object{"path": "a.pdf"}, object{}),
	base("writeTextFile", object{"path": "out.md", "text": "one\ntwo\n"}, object{}),
	base("appendTextFile", object{"path": "out.md", "text": "three"}, object{}),
	base("editTextFile", object{"path": "out.md", "oldText": "one\ntwo", "newText": "1\n2"}, object{}),
	base("deleteFile", object{"path": "old.md"}, object{}),
	base("createDirectory", object{"path": "dir"}, object{}),
	base("deleteDirectory", object{"path": "dir", "recursive": true}, object{}),
	base("moveFile", object{"source": "a.md", "destination": deep}, object{}),
	base("getFileInfo", object{"path": "a.md"}, object{}),
	base("listDirectory", object{"path": "."}, object{"items": []object{{"name": "docs", "type": "directory"}, {"name": "a", "type": "file"}, {"name": "b"}, {"name": "c"}, {"name": "d"}}}),
	base("exec", object{"command": "go", "args": []string{"test", "./..."}, "cwd": "sub"}, object{"output": "ok a\n\n \nok b\nok c\nok d\nok e\n"}),
	base("exec", object{"command": "sh", "args": []string{"-c", "go test ./... | tail -n 3 && echo 'it works' > result.txt"}, "cwd": "."}, object{"stdout": "", "stderr": strings.Repeat("x", 120)}),
	base("exec", object{"command": "make"}, object{"error": "command failed with exit code 2", "stdout": "building\n", "stderr": "one\ntwo\n\nthree\n   \nfour\nmake: *** [all] Error 1\n"}),
	base("exec", object{"command": "test", "args": []string{"-f", "x", ""}}, object{"error": "command failed with exit code 1", "stdout": "only this\n", "stderr": " \n"}),
	base("exec", object{"command": "false"}, object{"error": "command failed with exit code 1"}),
	did(event.BaseSkill, "exec", `{"command":"make","args":["deploy"]}`, text(lost)),
	see("delegate", turn("", "", event.ToolCall{ID: "d", SkillName: "@acme/writer", ToolName: "writer", Args: rawjson.Value(`{"query":"Write about ` + strings.Repeat("w", 80) + `"}`)}),
		event.CallDelegate{Delegates: []event.DelegateRun{{ToolCallID: "d", RunID: "kid", Expert: event.ExpertRef{Key: "@acme/writer"}}}}),
	see("question", turn("", "", event.ToolCall{ID: "q", SkillName: "user", ToolName: "ask", Args: rawjson.Value(`{"question":"Which day?\nPick one.","options":["Mon", "Tue"],"urgent":true}`)}),
		event.CallInteractiveTool{ToolCallID: "q"}),
	see("question", event.CallInteractiveTool{ToolCall: &event.ToolCall{ID: "q", ToolName: "confirm", Args: rawjson.Value(`{}`)}}),
	see("provider", event.CompleteRun{NewMessage: message(event.ExpertMessage,
		event.Part{Type: event.ProviderPart, ToolName: "web_search", ProviderData: rawjson.Value(`{"type":"web_search_call"}`)}, event.Part{Type: event.ProviderPart})}),
	did("web", "search", `{"q": "perstack"}`),
	did("web", "search", `{"q":"`+strings.Repeat("long ", 20)+`"}`, text("\none\n\ttwo\n"), event.Part{Type: event.ImageInlinePart, MIMEType: "image/png", EncodedData: "aGlkZGVu"},
		event.Part{Type: event.FileURLPart, URL: "https://example.com/a.pdf"}, text("five\nsix")),
	did("web", "list", `{}`, text(`{"items":[]}`)),
	did(event.BaseSkill, "think", `{"thought":"The plan\nhas two parts.","nextThoughtNeeded":true}`),
	did(event.BaseSkill, "think", `{"thought":1}`),
	did(event.BaseSkill, "healthCheck", `{}`),
	did("web", "post", `{"q":"a"}`, text(lost)),
	did("", "post", `{}`, text(lost)),
	did("web", "fetch", `{"url":"https://example.com/`+strings.Repeat("p", 80)+`"}`, text("Error: HTTP 404")),
}

func TestRows(t *testing.T) {
	for name, opts := range map[string]Options{
		"rows.plain.golden":  {},
		"rows.colour.golden": {Color: true},
		"rows.narrow.golden": {Width: 40, Verbose: true},
		"rows.record.golden": {Record: true},
		"rows.whole.golden":  {Record: true, Whole: true, Width: 60},
	} {
		t.Run(name, func(t *testing.T) {
			var out bytes.Buffer
			for _, s := range sights {
				fmt.Fprintf(&out, "-- %s --\n", s.name)
				p := New(&out, opts)
				for _, e := range s.events {
					if err := p.Emit(e); err != nil {
						t.Fatal(err)
					}
				}
			}
			golden(t, name, out.String())
			if !opts.Color && bytes.ContainsRune(out.Bytes(), '\x1b') {
				t.Error("an escape character without colours")
			}
		})
	}
}

// golden compares got with a file in testdata. Escape characters are written as ␛, so
// that the files can be read.
func golden(t *testing.T, name, got string) {
	t.Helper()
	testkit.Golden(t, name, strings.ReplaceAll(got, "\x1b", "␛"))
}

// In a pipe there is no width, and still no line of a megabyte; only what ends the run
// is whole.
func TestLongLineInPipe(t *testing.T) {
	long := strings.Repeat("x", 300_000)
	for _, test := range []struct {
		s     sight
		bound int // columns of the longest line
	}{
		{base("readTextFile", object{"path": long}, object{"content": long}), 2*unknownWidth + gutter},
		{base("writeTextFile", object{"path": "a", "text": long}, object{}), unknownWidth + gutter},
		{base("deleteFile", object{"path": "a"}, object{"error": long}), unknownWidth + gutter},
		{see("failure", event.StopRunByError{Error: event.Failure{Message: long}}), unknownWidth + gutter},
		{did("s", "t", `"`+long+`"`, text(long)), 2*unknownWidth + gutter},
		{see("message", turn("", long)), bodyCut*unknownWidth + gutter},
		{base("exec", object{"command": long}, object{}), maxCommand + 100},
		{see("skill", event.SkillStderr{SkillName: long, Message: long}), unknownWidth},
		{see("names", event.StartRun{DelegatedBy: parent("x", "y")}, event.Retry{Reason: long}), 2*unknownWidth + gutter},
	} {
		for _, out := range emit(t, Options{}, test.s.events...) {
			for l := range strings.Lines(out) {
				if n := columns.Of(strings.TrimSuffix(l, "\n")); n > test.bound {
					t.Errorf("%s: a line of %d columns, want at most %d", test.s.name, n, test.bound)
				}
			}
		}
	}
	if out := emit(t, Options{}, at("r", "x", says(long)))[0]; !strings.Contains(out, long) {
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
		if got := Cut(test.text, test.n); got != test.want {
			t.Errorf("Cut(%q, %d) = %q, want %q", test.text, test.n, got, test.want)
		}
	}
}

// A command is shown as one could type it: every argument is told apart, and what cannot be
// seen is written as an escape. It is never cut in the middle.
func TestCommands(t *testing.T) {
	for _, tt := range []struct {
		args  object
		width int
		want  string
	}{
		{object{"command": "go", "args": []string{"test", "./..."}}, 0, "Run go test ./..."},
		{object{"command": "rm", "args": []string{"-r", "old drafts"}, "cwd": "docs"}, 0, "Run rm -r 'old drafts' (in docs)"},
		{object{"command": "ls", "args": []string{""}, "cwd": "."}, 0, "Run ls ''"},
		{object{"command": "ls", "cwd": "./a/../b/"}, 0, "Run ls (in b)"},
		{object{"command": "sh", "args": []string{"-c", "a | b > 'c d'"}}, 0, `Run sh -c 'a | b > '\''c d'\'''`},
		{object{"command": "echo", "args": []string{"one\ntwo\t\x1b[2J'\u202e"}}, 0, `Run echo $'one\ntwo\t\033[2J\'\342\200\256'`},
		{object{"command": "cp", "args": []string{"a-rather-long-name", "another-long-name", "dir"}}, 30, "Run cp a-rather-long-name\n      another-long-name dir"},
	} {
		out := strings.Join(emit(t, Options{Width: tt.width}, base("exec", tt.args, object{}).events...), "")
		if want := "● " + tt.want + "\n"; !strings.HasSuffix(out, want) {
			t.Errorf("%v printed %q, want %q", tt.args, out, want)
		}
	}
	spec, err := job.Spec{Workspace: job.Workspace{Dir: "/srv/project"}}.Recorded()
	if err != nil {
		t.Fatal(err)
	}
	start := at("r", "lead", event.StartRun{Spec: spec})
	for cwd, want := range map[string]string{"/srv/project": "ls\n", "/srv/project/a/b": "ls (in a/b)\n", "/srv/projects": "ls (in /srv/projects)\n"} {
		out := emit(t, Options{}, append([]event.Event{start}, base("exec", object{"command": "ls", "cwd": cwd}, object{}).events...)...)
		if !strings.HasSuffix(out[2], want) {
			t.Errorf("in %s: %q, want %q", cwd, out[2], want)
		}
	}
}

// A headline is one line, whatever the call is.
func TestHeadline(t *testing.T) {
	for _, tt := range []struct{ skill, tool, args, want string }{
		{event.BaseSkill, "exec", `{"command":"go","args":["test","./..."],"cwd":"sub"}`, "Run go test ./... (in sub)"},
		{event.BaseSkill, "exec", `{"command":"sh","args":["-c","a\n\u001b[31mb"]}`, `Run sh -c $'a\n\033[31mb'`},
		{event.BaseSkill, "readTextFile", `{"path":"a\n\u001b[2J.txt","from":1}`, "Read a .txt"},
		{event.BaseSkill, "listDirectory", ``, "List"},
		{"web", "fetch", `{"path":"/x"}`, `fetch {"path":"/x"}`},
	} {
		c := event.ToolCall{SkillName: tt.skill, ToolName: tt.tool, Args: rawjson.Value(tt.args)}
		if got := Headline(narrate.Describe(c)); got != tt.want {
			t.Errorf("%s %s: %q, want %q", tt.tool, tt.args, got, tt.want)
		}
	}
}
