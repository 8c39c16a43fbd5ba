package event

import (
	"go/ast"
	"go/parser"
	"go/token"
	"strings"
	"testing"
)

// Each row is a call of a base tool, its result, and the exact JSON that comes of it.
// Members that all activities have are left out of want.
var toolActivityTests = []struct {
	name, tool, args, result string
	want                     string
}{
	{"done", "attemptCompletion", `{}`, `{}`, `{}`},
	{"not done", "attemptCompletion", `{}`, `{"remainingTodos":[{"id":3,"title":"pack","completed":false}]}`,
		`{"remainingTodos":[{"id":3,"title":"pack","completed":false}]}`},
	{"todo", "todo", `{"newTodos":["pack",1],"completedTodos":[0,"x",1.5]}`, `{"todos":[{"title":"go","completed":true},{"id":7},5]}`,
		`{"newTodos":["pack"],"completedTodos":[0],"todos":[{"id":0,"title":"go","completed":true},{"id":7,"title":"","completed":false},{"id":2,"title":"","completed":false}]}`},
	{"todo without anything", "todo", `{}`, `?`, `{"todos":[]}`},
	{"clear", "clearTodo", `{}`, `{"todos":[]}`, `{}`},
	{"read", "readTextFile", `{"path":"a.txt","from":0,"to":2}`, `{"path":"a.txt","content":"x","from":0,"to":2}`,
		`{"path":"a.txt","content":"x","from":0,"to":2}`},
	{"read an empty file", "readTextFile", `{"path":"a.txt"}`, `{"content":""}`, `{"path":"a.txt","content":""}`},
	{"read, mistyped", "readTextFile", `{"path":1,"from":"0","to":1.5}`, `{"content":1}`, `{"path":""}`},
	{"read, failed", "readTextFile", `{"path":"b"}`, `{"error":"Error","message":"b does not exist"}`,
		`{"path":"b","error":"b does not exist"}`},
	{"image", "readImageFile", `{"path":"a.png"}`, `{"path":"/w/a.png","mimeType":"image/png","size":8}`,
		`{"path":"a.png","mimeType":"image/png","size":8}`},
	{"pdf", "readPdfFile", `{"path":"a.pdf"}`, `{"mimeType":null,"size":"8"}`, `{"path":"a.pdf"}`},
	{"write", "writeTextFile", `{"path":"a","text":""}`, `{}`, `{"path":"a","text":""}`},
	{"append", "appendTextFile", `{"path":"a","text":"b"}`, `{}`, `{"path":"a","text":"b"}`},
	{"edit", "editTextFile", `{"path":"a","newText":"n","oldText":"o"}`, `{}`, `{"path":"a","newText":"n","oldText":"o"}`},
	{"delete", "deleteFile", `{"path":"a"}`, `{}`, `{"path":"a"}`},
	{"mkdir", "createDirectory", `{"path":"a"}`, `{}`, `{"path":"a"}`},
	{"rmdir", "deleteDirectory", `{"path":"a","recursive":false}`, `{}`, `{"path":"a","recursive":false}`},
	{"rmdir, mistyped", "deleteDirectory", `{"path":"a","recursive":"yes"}`, `{}`, `{"path":"a"}`},
	{"move", "moveFile", `{"source":"a","destination":"b"}`, `{}`, `{"source":"a","destination":"b"}`},
	{"info", "getFileInfo", `{"path":"a.txt"}`,
		`{"exists":true,"path":"/w/a.txt","name":"a.txt","directory":"/w","extension":".txt","type":"file","mimeType":"text/plain",
		"size":3,"sizeFormatted":"3.00 B","created":"c","modified":"m","accessed":"x","permissions":{}}`,
		`{"path":"a.txt","info":{"exists":true,"name":"a.txt","directory":"/w","extension":".txt","type":"file","mimeType":"text/plain",
		"size":3,"sizeFormatted":"3.00 B","created":"c","modified":"m","accessed":"x"}}`},
	{"info of an odd thing", "getFileInfo", `{"path":"d"}`, `{"exists":false,"extension":null,"type":"socket"}`,
		`{"path":"d","info":{"exists":false,"name":"","directory":"","extension":null,"type":"file","mimeType":null,
		"size":0,"sizeFormatted":"","created":"","modified":"","accessed":""}}`},
	{"info, failed", "getFileInfo", `{"path":"d"}`, `{"error":"Error","message":"gone"}`, `{"path":"d","error":"gone"}`},
	{"list", "listDirectory", `{"path":"."}`, `{"items":[{"name":"s","path":"s","type":"directory","size":4096,"modified":"m"},{"name":"l","type":"link"}]}`,
		`{"path":".","items":[{"name":"s","path":"s","type":"directory","size":4096,"modified":"m"},{"name":"l","path":"","type":"file","size":0,"modified":""}]}`},
	{"list nothing", "listDirectory", `{"path":"."}`, `{"items":[]}`, `{"path":".","items":[]}`},
	{"list, no list", "listDirectory", `{"path":"."}`, `{"items":{}}`, `{"path":"."}`},
	{"exec", "exec", `{"command":"ls","args":["-l"],"cwd":"."}`, `{"output":"x"}`,
		`{"command":"ls","args":["-l"],"cwd":".","output":"x"}`},
	{"exec, failed", "exec", `{"command":"ls","args":"-l"}`, `{"error":"Command failed: ls","stdout":"","stderr":"no"}`,
		`{"command":"ls","args":[],"cwd":"","stdout":"","stderr":"no","error":"Command failed: ls"}`},
}

func TestBaseToolActivities(t *testing.T) {
	for _, tt := range toolActivityTests {
		t.Run(tt.name, func(t *testing.T) {
			a := toolActivity(
				ToolCall{ID: "c", SkillName: BaseSkill, ToolName: tt.tool, Args: []byte(tt.args)},
				ToolResult{ID: "c", Result: []Part{{Type: TextPart, Text: tt.result}}})
			if a.Type != ActivityType(tt.tool) {
				t.Fatalf("type %s", a.Type)
			}
			want := strings.Replace(tt.want, "{", `{"type":"`+tt.tool+`","id":"","expertKey":"","runId":"",`, 1)
			want = strings.Replace(want, ",}", "}", 1)
			diffJSON(t, []byte(want), mustMarshal(t, a))
		})
	}
}

func TestGeneralToolActivity(t *testing.T) {
	tests := []struct {
		name   string
		call   ToolCall
		result ToolResult
		want   string
	}{
		{
			"a tool of another skill, though it has a known name",
			ToolCall{SkillName: "evil", ToolName: "readTextFile", Args: []byte(`{"path":"x"}`)},
			ToolResult{Result: []Part{{ID: "p", Type: TextPart, Text: "hi"}}},
			`{"skillName":"evil","toolName":"readTextFile","args":{"path":"x"},"result":[{"id":"p","type":"textPart","text":"hi"}]}`,
		},
		{
			"a base tool without a type, arguments missing",
			ToolCall{SkillName: BaseSkill, ToolName: "healthCheck"},
			ToolResult{},
			`{"skillName":"@perstack/base","toolName":"healthCheck","args":{}}`,
		},
		{
			"a name of an activity that is no tool",
			ToolCall{SkillName: BaseSkill, ToolName: "complete"},
			ToolResult{Result: []Part{}},
			`{"skillName":"@perstack/base","toolName":"complete","args":{},"result":[]}`,
		},
		{
			"the call does not know its skill",
			ToolCall{ToolName: "fetch"},
			ToolResult{SkillName: "web", IsError: true},
			`{"skillName":"web","toolName":"fetch","args":{},"error":"the tool failed without a message"}`,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			want := strings.Replace(tt.want, "{", `{"type":"generalTool","id":"","expertKey":"","runId":"",`, 1)
			diffJSON(t, []byte(want), mustMarshal(t, toolActivity(tt.call, tt.result)))
		})
	}
}

// The runtime puts the file in the place of the text that described it.
func TestInlineFilesKeepTypeAndSize(t *testing.T) {
	for data, size := range map[string]int64{"": 0, "AA==": 1, "AAA=": 2, "AAAA": 3, "AAAAAA": 4} {
		a := toolActivity(ToolCall{SkillName: BaseSkill, ToolName: "readImageFile", Args: []byte(`{"path":"a.png"}`)},
			ToolResult{Result: []Part{{Type: ImageInlinePart, EncodedData: data, MIMEType: "image/png"}}})
		if a.MIMEType == nil || *a.MIMEType != "image/png" || a.Size == nil || *a.Size != size {
			t.Errorf("%q: got %v, %v", data, a.MIMEType, a.Size)
		}
	}
}

func TestErrorText(t *testing.T) {
	tests := []struct {
		text    string
		isError bool
		want    string
	}{
		{`{"error":"Error","message":"gone"}`, false, "gone"},
		{`{"error":"Command failed: x"}`, false, "Command failed: x"},
		{`{"error":1,"message":"gone"}`, false, ""},
		{`{"message":"fine"}`, false, ""},
		{`{"message":"not fine"}`, true, `{"message":"not fine"}`},
		{`Error: gone`, false, "Error: gone"},
		{"  ERROR gone", false, "  ERROR gone"},
		{`Errors were found`, false, ""},
		{`"error: quoted"`, false, ""},
		{`all good`, false, ""},
		{`no route`, true, "no route"},
		{``, false, ""},
		{`{"error":"a","error":"b"}`, false, "b"},
	}
	for _, tt := range tests {
		r := ToolResult{Result: []Part{{Type: TextPart, Text: tt.text}}, IsError: tt.isError}
		if got := r.ErrorText(); got != tt.want {
			t.Errorf("%q, %v: got %q, want %q", tt.text, tt.isError, got, tt.want)
		}
	}
}

// TestEveryActivityTypeHasAShape reads the constants from the source.
func TestEveryActivityTypeHasAShape(t *testing.T) {
	f, err := parser.ParseFile(token.NewFileSet(), "activity.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	count := 0
	ast.Inspect(f, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok || len(spec.Values) != 1 {
			return true
		}
		if typ, ok := spec.Type.(*ast.Ident); !ok || typ.Name != "ActivityType" {
			return true
		}
		count++
		name := strings.Trim(spec.Values[0].(*ast.BasicLit).Value, `"`)
		data := mustMarshal(t, Activity{Type: ActivityType(name)})
		if !strings.Contains(string(data), `"type":"`+name+`"`) {
			t.Errorf("%s encodes as %s", name, data)
		}
		if name != "getFileInfo" && strings.Contains(string(data), "null") {
			t.Errorf("%s writes null: %s", name, data)
		}
		return true
	})
	if count != 28 {
		t.Errorf("found %d activity types", count)
	}
	if _, err := marshal(Activity{Type: "nap"}); err == nil {
		t.Error("an unknown type was encoded")
	}
}

func mustMarshal(t *testing.T, v any) []byte {
	t.Helper()
	data, err := marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return data
}
