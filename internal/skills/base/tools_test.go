//go:build unix

package base_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/internal/skills/base"
	"github.com/perstack-go/perstack/internal/workspace"
	"github.com/perstack-go/perstack/rawjson"
	"github.com/perstack-go/perstack/skill"
)

// Answers are pinned to the byte: they are a contract with the run loop, the activity
// log and the models. DIR stands for the workspace.
func TestAnswers(t *testing.T) {
	b := newBench(t)
	b.put("crlf.txt", "a\r\nb\r\n")
	b.put("empty.txt", "")
	b.put("latin1.txt", "caf\xe9")
	b.put("bom.txt", "\uFEFFx")
	b.put("bin", "a\x00b")
	b.put("three.txt", "a\nb\nc\n")
	b.put("open.txt", "a\nb\nc")
	b.put("d/x", "1234567")
	stamp := time.Date(2026, 1, 2, 3, 4, 5, 678_000_000, time.UTC)
	if err := os.Chtimes(filepath.Join(b.dir, "d/x"), stamp, stamp); err != nil {
		t.Fatal(err)
	}
	b.link("../../outside/secret.txt", "d/l")
	b.put("i.png", gifFile)
	b.put("d.pdf", pdfFile)
	b.put("e.txt", "one two two")
	tests := []struct{ tool, args, want string }{
		{"attemptCompletion", ``, `{}`},
		{"think", `{"thought":"hm"}`, `{"thoughtHistoryLength":1}`},
		{"think", `{"thought":"","nextThoughtNeeded":false}`, `{"nextThoughtNeeded":false,"thoughtHistoryLength":2}`},
		{"todo", `{}`, `{"todos":[]}`},
		{"todo", `{"newTodos":["a","b"],"completedTodos":[1]}`, `{"todos":[{"id":0,"title":"a","completed":false},{"id":1,"title":"b","completed":true}]}`},
		{"clearTodo", ``, `{"todos":[]}`},
		{"todo", `{"newTodos":["c"]}`, `{"todos":[{"id":0,"title":"c","completed":false}]}`},
		{"readTextFile", `{"path":"./a.txt"}`, `{"path":"./a.txt","content":"alpha\nbeta\n","from":0,"to":3,"totalLines":2}`},
		{"readTextFile", `{"path":"a.txt","from":1,"to":2}`, `{"path":"a.txt","content":"beta","from":1,"to":2,"totalLines":2}`},
		{"readTextFile", `{"path":"a.txt","to":99}`, `{"path":"a.txt","content":"alpha\nbeta\n","from":0,"to":99,"totalLines":2}`},
		{"readTextFile", `{"path":"a.txt","from":9}`, `{"path":"a.txt","content":"","from":9,"to":3,"totalLines":2}`},
		{"readTextFile", `{"path":"three.txt"}`, `{"path":"three.txt","content":"a\nb\nc\n","from":0,"to":4,"totalLines":3}`},
		{"readTextFile", `{"path":"open.txt"}`, `{"path":"open.txt","content":"a\nb\nc","from":0,"to":3,"totalLines":3}`},
		{"readTextFile", `{"path":"crlf.txt"}`, `{"path":"crlf.txt","content":"a\r\nb\r\n","from":0,"to":3,"totalLines":2}`},
		{"readTextFile", `{"path":"empty.txt"}`, `{"path":"empty.txt","content":"","from":0,"to":1,"totalLines":0}`},
		{"readTextFile", `{"path":"latin1.txt"}`, "{\"path\":\"latin1.txt\",\"content\":\"caf\uFFFD\",\"from\":0,\"to\":1,\"totalLines\":1}"},
		{"readTextFile", `{"path":"bom.txt"}`, "{\"path\":\"bom.txt\",\"content\":\"\uFEFFx\",\"from\":0,\"to\":1,\"totalLines\":1}"},
		{"readTextFile", `{"path":"bin"}`, `{"error":"\"bin\" is a binary file: it contains NUL bytes","code":"binary"}`},
		{"readTextFile", `{"path":"none"}`, `{"error":"\"none\" does not exist","code":"not_found"}`},
		{"writeTextFile", `{"path":"n/e/w.txt","text":"é"}`, `{"path":"DIR/n/e/w.txt","bytes":2}`},
		{"appendTextFile", `{"path":"n/e/w.txt","text":"àb"}`, `{"path":"DIR/n/e/w.txt","bytes":3,"size":5}`},
		{"appendTextFile", `{"path":"none","text":"x"}`, `{"error":"\"none\" does not exist","code":"not_found"}`},
		{"editTextFile", `{"path":"./e.txt","oldText":"one","newText":"1"}`, `{"path":"DIR/e.txt","sizeBefore":11,"size":9}`},
		{"editTextFile", `{"path":"e.txt","oldText":"two","newText":"2"}`,
			`{"error":"oldText occurs 2 times in \"e.txt\"; give more of the text around the place you mean","code":"ambiguous","matches":2}`},
		{"editTextFile", `{"path":"e.txt","oldText":"three","newText":"3"}`,
			`{"error":"Could not find exact match of oldText in \"e.txt\"; read the file and copy the text as it is","code":"no_match"}`},
		{"editTextFile", `{"path":"bin","oldText":"a","newText":"b"}`, `{"error":"\"bin\" is a binary file: it contains NUL bytes","code":"binary"}`},
		{"readImageFile", `{"path":"i.png"}`, `{"path":"DIR/i.png","mimeType":"image/gif","size":10}`},
		{"readImageFile", `{"path":"a.txt"}`,
			`{"error":"\"a.txt\" is not supported: what it contains is not an image (PNG, JPEG, GIF or WebP)","code":"unsupported_type"}`},
		{"readPdfFile", `{"path":"d.pdf"}`, `{"path":"DIR/d.pdf","mimeType":"application/pdf","size":9}`},
		{"readPdfFile", `{"path":"a.txt"}`, `{"error":"\"a.txt\" is not supported: what it contains is not a PDF file","code":"unsupported_type"}`},
		{"moveFile", `{"source":"e.txt","destination":"n/f.txt"}`, `{"source":"DIR/e.txt","destination":"DIR/n/f.txt"}`},
		{"deleteFile", `{"path":"n/f.txt"}`, `{"path":"DIR/n/f.txt"}`},
		{"createDirectory", `{"path":"n/m/"}`, `{"path":"DIR/n/m"}`},
		{"deleteDirectory", `{"path":"n/m"}`, `{"path":"DIR/n/m"}`},
		{"deleteDirectory", `{"path":"n","recursive":true}`, `{"path":"DIR/n"}`},
		{"listDirectory", `{"path":"d"}`, `{"path":"DIR/d","items":[{"name":"l","path":"l","type":"file","link":true},` +
			`{"name":"x","path":"x","type":"file","size":7,"modified":"2026-01-02T03:04:05.678Z"}],"total":2}`},
		{"listDirectory", `{"path":"d","limit":1}`, `{"path":"DIR/d","items":[{"name":"l","path":"l","type":"file","link":true}],"total":2,"truncated":true}`},
		{"listDirectory", `{"path":"d","offset":2,"limit":1}`, `{"path":"DIR/d","items":[],"total":2,"offset":2}`},
		{"glob", `{"pattern":"d/*"}`, `{"path":"DIR","files":["d/l","d/x"]}`},
		{"glob", `{"pattern":"*","path":"d","limit":1}`, `{"path":"DIR/d","files":["d/l"],"truncated":true,"reason":"the limit of 1 is reached; narrow the search or raise it"}`},
		{"grep", `{"pattern":"^a","path":"a.txt"}`, `{"files":[{"path":"a.txt","lines":[{"line":0,"text":"alpha"}]}],"matches":1}`},
		{"grep", `{"pattern":"et","glob":"/*.txt","context":1}`, `{"files":[{"path":"a.txt","lines":[{"line":0,"text":"alpha","context":true},{"line":1,"text":"beta"}]}],"matches":1}`},
		{"grep", `{"pattern":"zzz"}`, `{"files":[],"matches":0,"skipped":{"binary":2}}`},
		{"exec", `{"command":"sh","args":["-c","echo out; echo err >&2"]}`, `{"output":"out\nerr\n","exitCode":0,"durationMs":0}`},
		{"exec", `{"command":"sh","args":["-c","echo out; echo err >&2"],"stderr":false}`, `{"output":"out\n","exitCode":0,"durationMs":0}`},
		{"exec", `{"command":"true"}`, `{"output":"(the command succeeded and there is no output to show)","exitCode":0,"durationMs":0}`},
		{"exec", `{"command":"pwd","cwd":"d"}`, `{"output":"DIR/d\n","exitCode":0,"durationMs":0}`},
		{"exec", `{"command":"sh","args":["-c","echo out; echo timeout >&2; exit 3"],"env":{"ENV":"x"}}`,
			`{"error":"command failed with exit code 3","code":"exit_code","exitCode":3,"durationMs":0,"stdout":"out\n","stderr":"timeout\n","droppedEnv":["ENV"]}`},
		{"exec", `{"command":"sh","args":["-c","echo secret >&2; exit 1"],"stderr":false}`, `{"error":"command failed with exit code 1","code":"exit_code","exitCode":1,"durationMs":0}`},
		{"exec", `{"command":"sh","args":["-c","kill -9 $$"]}`, `{"error":"command was ended by SIGKILL","code":"signal","signal":"SIGKILL","durationMs":0}`},
		{"exec", `{"command":"no-such-program"}`, `{"error":"command \"no-such-program\" does not exist: it is not in PATH or not in the directory","code":"command_not_found"}`},
		{"exec", `{"command":"./a.txt"}`, `{"error":"command \"./a.txt\" is not executable","code":"command_not_executable"}`},
		{"exec", `{"command":"cat"}`, `{"output":"(the command succeeded and there is no output to show)","exitCode":0,"durationMs":0}`},
		{"exec", `{"command":"printf","args":["\\377"]}`, "{\"output\":\"\uFFFD\",\"exitCode\":0,\"durationMs\":0}"},
	}
	for _, tt := range tests {
		text, r := b.call(tt.tool, tt.args)
		if got := strings.ReplaceAll(text, b.dir, "DIR"); got != tt.want {
			t.Errorf("%s %s\n got %s\nwant %s", tt.tool, tt.args, got, tt.want)
		}
		if r.IsError != strings.HasPrefix(text, `{"error"`) {
			t.Errorf("%s %s: isError %t", tt.tool, tt.args, r.IsError)
		}
	}
}

// What getFileInfo says, in the shape that the activity log reads.
func TestGetFileInfo(t *testing.T) {
	b := newBench(t)
	b.put("d/Run.TS", strings.Repeat("x", 1536))
	path := filepath.Join(b.dir, "d/Run.TS")
	stamp := time.Date(2026, 1, 2, 3, 4, 5, 678_000_000, time.UTC)
	if err := errors.Join(os.Chmod(path, 0o755), os.Chtimes(path, stamp, stamp)); err != nil {
		t.Fatal(err)
	}
	got := b.mustDo("getFileInfo", object{"path": "d/Run.TS"})
	created, _ := got["created"].(string)
	if _, err := time.Parse("2006-01-02T15:04:05.000Z", created); err != nil && created != "" { // not every file system tells
		t.Error(err)
	}
	delete(got, "created")
	want := object{
		"exists": true, "path": path, "absolutePath": path, "name": "Run.TS", "directory": filepath.Join(b.dir, "d"), "extension": ".TS",
		"type": "file", "mimeType": "text/typescript", "size": 1536.0, "sizeFormatted": "1.50 KB",
		"modified": "2026-01-02T03:04:05.678Z", "accessed": "2026-01-02T03:04:05.678Z",
		"permissions": object{"readable": true, "writable": true, "executable": true},
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("(-want +got)\n%s", d)
	}
	got = b.mustDo("getFileInfo", object{"path": "d"})
	if got["type"] != "directory" || got["name"] != "d" || got["directory"] != b.dir {
		t.Error(got)
	}
	for _, name := range []string{"extension", "mimeType"} {
		if value, there := got[name]; value != nil || !there {
			t.Errorf("%s of a directory is %v", name, value)
		}
	}
}

func TestHealthCheck(t *testing.T) {
	b := newBench(t)
	ws, err := workspace.Open(b.dir, workspace.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer ws.Close()
	now := time.Unix(1000, 0)
	s := base.New(base.Options{Workspace: ws, Now: func() time.Time { return now }, PID: 123})
	now = now.Add(42*time.Second + 900*time.Millisecond)
	text, r := callWith(t.Context(), t, s, "healthCheck", nil)
	pattern := `^{"status":"ok","workspace":"` + regexp.QuoteMeta(b.dir) + `","uptime":"42s","memory":{"heapUsed":"\d+MB","heapTotal":"\d+MB"},"pid":123}$`
	if r.IsError || !regexp.MustCompile(pattern).MatchString(text) {
		t.Error(text)
	}
	if got := b.mustDo("healthCheck", nil); got["pid"] != nil || got["uptime"] != "0s" {
		t.Error(got)
	}
}

// A relative program is found in cwd, also when cwd is reached by descriptor.
func TestExecRelativeProgram(t *testing.T) {
	b := newBench(t)
	b.put("bin/tool", "#!/bin/sh\necho \"$0 $1\"\n")
	if err := os.Chmod(filepath.Join(b.dir, "bin/tool"), 0o755); err != nil {
		t.Fatal(err)
	}
	text, _ := b.call("exec", `{"command":"./tool","args":["x"],"cwd":"bin"}`)
	if fields(t, text)["output"] != "./tool x\n" {
		t.Error(text)
	}
}

func TestExecLongOutput(t *testing.T) {
	b := newBench(t)
	text, r := b.call("exec", `{"command":"sh","args":["-c","echo first; i=0; while [ $i -lt 40000 ]; do echo 0123456789; i=$((i+1)); done; echo last"]}`)
	output, _ := fields(t, text)["output"].(string)
	if r.IsError || !strings.HasPrefix(output, "first\n") || !strings.HasSuffix(output, "last\n") || !strings.Contains(output, "bytes left out") ||
		len(output) > 256<<10+100 {
		t.Errorf("output of %d bytes: %.60q … %.60q", len(output), output, output[max(0, len(output)-60):])
	}
}

func TestExecInterrupted(t *testing.T) {
	b := newBench(t)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	ctx = skill.WithProgress(ctx, func(_, note string) {
		if note == "ready" {
			cancel()
		}
	})
	text, r := callWith(ctx, t, b.Skill, "exec", `{"command":"sh","args":["-c","echo ready; exec sleep 3600"]}`)
	if got := fields(t, text); !r.IsError || got["code"] != "interrupted" || got["timedOut"] != nil {
		t.Error(text)
	}
}

func TestExecProgress(t *testing.T) {
	b := newBench(t)
	var mu sync.Mutex
	var notes []string
	ctx := skill.WithProgress(skill.WithCall(t.Context(), "c1"), func(id, note string) {
		mu.Lock()
		defer mu.Unlock()
		if id != "c1" || len(note) > 500 || strings.Contains(note, "\n") {
			t.Errorf("note %q %q", id, note)
		}
		notes = append(notes, note)
	})
	script := fmt.Sprintf("echo one; echo; echo %s; i=0; while [ $i -lt 5000 ]; do echo x; i=$((i+1)); done", strings.Repeat("é", 400))
	callWith(ctx, t, b.Skill, "exec", object{"command": "sh", "args": []string{"-c", script}})
	if len(notes) < 2 || len(notes) > 100 || notes[0] != "one" || notes[1] != strings.Repeat("é", 250) {
		t.Errorf("%d notes: %.100q", len(notes), notes)
	}
}

func TestReadLongFile(t *testing.T) {
	b := newBench(t)
	var all bytes.Buffer
	for i := range 5000 {
		fmt.Fprintf(&all, "line %d\n", i)
	}
	b.put("long.txt", all.String())
	var read strings.Builder
	from := 0
	for {
		text, r := b.call("readTextFile", object{"path": "long.txt", "from": from})
		got := fields(t, text)
		if r.IsError || got["totalLines"] != 5000.0 {
			t.Fatal(text)
		}
		if from > 0 {
			read.WriteByte('\n')
		}
		read.WriteString(got["content"].(string))
		if got["truncated"] != true {
			break
		}
		from = int(got["to"].(float64))
	}
	if read.String() != all.String() || from != 4000 {
		t.Errorf("read %d bytes of %d, last part from %d", read.Len(), all.Len(), from)
	}
}

func TestReadTooLarge(t *testing.T) {
	b := newBench(t)
	b.put("huge.txt", "")
	if err := os.Truncate(filepath.Join(b.dir, "huge.txt"), 64<<20+1); err != nil {
		t.Fatal(err)
	}
	text, r := b.call("readTextFile", object{"path": "huge.txt"})
	if !r.IsError || fields(t, text)["code"] != "too_large" {
		t.Error(text)
	}
}

// What is remembered restores the list and the count; a bad record changes nothing.
func TestMemory(t *testing.T) {
	b := newBench(t)
	b.call("readTextFile", object{"path": "a.txt"})
	if b.Memory() != nil {
		t.Errorf("memory %s before anything was noted", b.Memory())
	}
	b.call("todo", object{"newTodos": []string{"a", "b"}, "completedTodos": []int{0}})
	if want := `{"todos":[{"id":0,"title":"a","completed":true},{"id":1,"title":"b","completed":false}],"thoughts":0}`; string(b.Memory()) != want {
		t.Errorf("memory %s, want %s", b.Memory(), want)
	}
	b.call("think", object{"thought": "x"})
	c := newBench(t)
	if err := c.Recall(b.Memory()); err != nil {
		t.Fatal(err)
	}
	for _, bad := range []string{``, `{`, `[]`, `{"todos":[{"id":1,"title":"x","completed":false}]}`, `{"thoughts":-1}`, `{"other":1}`} {
		if err := c.Recall(rawjson.Value(bad)); err == nil {
			t.Errorf("Recall(%q) succeeded", bad)
		}
	}
	if text, _ := c.call("attemptCompletion", nil); text != `{"remainingTodos":[{"id":1,"title":"b","completed":false}]}` {
		t.Error(text)
	}
	if text, _ := c.call("think", object{"thought": "y"}); text != `{"thoughtHistoryLength":2}` {
		t.Error(text)
	}
	c.call("clearTodo", nil)
	if want := `{"todos":[],"thoughts":2}`; string(c.Memory()) != want {
		t.Errorf("memory %s, want %s", c.Memory(), want)
	}
}

func TestTodoLimits(t *testing.T) {
	b := newBench(t)
	for name, titles := range map[string][]string{"many": make([]string, 1001), "long": {"ok", strings.Repeat("x", 2001)}} {
		text, r := b.call("todo", object{"newTodos": titles})
		if !r.IsError || fields(t, text)["code"] != "too_large" {
			t.Errorf("%s: %s", name, text)
		}
	}
	if text, _ := b.call("todo", nil); text != `{"todos":[]}` {
		t.Errorf("a refused call left %.100s", text)
	}
}

// Calls of one step run side by side.
func TestParallelCalls(t *testing.T) {
	b := newBench(t)
	b.put("log.txt", "")
	b.put("slots.txt", "<0><1><2><3><4><5><6><7>")
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			b.call("todo", object{"newTodos": []string{"x"}})
			b.call("writeTextFile", object{"path": "p/x.txt", "text": strings.Repeat(fmt.Sprint(i), 1000)})
			b.call("appendTextFile", object{"path": "log.txt", "text": fmt.Sprintf("%d\n", i)})
			b.call("editTextFile", object{"path": "slots.txt", "oldText": fmt.Sprintf("<%d>", i), "newText": "done"})
			b.call("think", object{"thought": "x"})
			b.call("exec", object{"command": "true"})
			b.call("listDirectory", nil)
		})
	}
	wg.Wait()
	text, _ := b.call("readTextFile", object{"path": "p/x.txt"})
	if content := fields(t, text)["content"].(string); len(content) != 1000 || strings.Trim(content, content[:1]) != "" {
		t.Errorf("mixed content %.50q", content)
	}
	if text, _ := b.call("todo", nil); strings.Count(text, `"id"`) != 8 {
		t.Error(text)
	}
	// No append and no edit is lost to another.
	b.holds("slots.txt", strings.Repeat("done", 8))
	if got := b.mustDo("readTextFile", object{"path": "log.txt"}); got["totalLines"] != 8.0 {
		t.Error(got)
	}
}

// A cancelled call does nothing.
func TestInterrupted(t *testing.T) {
	b := newBench(t)
	b.put("i.png", pngFile)
	b.put("d.pdf", pdfFile)
	b.put("d/x", "")
	before := b.tree()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for tool, args := range map[string]object{
		"exec":            {"command": "true"},
		"getFileInfo":     {"path": "a.txt"},
		"readTextFile":    {"path": "a.txt"},
		"readImageFile":   {"path": "i.png"},
		"readPdfFile":     {"path": "d.pdf"},
		"writeTextFile":   {"path": "a.txt", "text": "late"},
		"appendTextFile":  {"path": "a.txt", "text": "late"},
		"editTextFile":    {"path": "a.txt", "oldText": "alpha", "newText": "late"},
		"moveFile":        {"source": "a.txt", "destination": "late.txt"},
		"deleteFile":      {"path": "a.txt"},
		"listDirectory":   nil,
		"glob":            {"pattern": "*"},
		"grep":            {"pattern": "a"},
		"createDirectory": {"path": "late"},
		"deleteDirectory": {"path": "d", "recursive": true},
	} {
		text, r := callWith(ctx, t, b.Skill, tool, args)
		if !r.IsError || fields(t, text)["code"] != "interrupted" {
			t.Errorf("%s: %s", tool, text)
		}
	}
	b.unchanged(before)
}

func TestUnknownTool(t *testing.T) {
	if _, err := base.New(base.Options{}).Call(t.Context(), event.ToolCall{ToolName: "deleteEverything"}); err == nil {
		t.Error("no error")
	}
}

// The absolute path of a file is no pattern, except where the workspace has directories of the same
// names.
func TestGlobAbsolute(t *testing.T) {
	b := newBench(t)
	pattern := object{"pattern": b.dir + "/*.txt"}
	b.mustFail("glob", pattern, "invalid_arguments")
	b.put(b.dir+"/inside.txt", "")
	if got := b.globbed(pattern); got != b.dir[1:]+"/inside.txt" {
		t.Errorf("found %q", got)
	}
}
