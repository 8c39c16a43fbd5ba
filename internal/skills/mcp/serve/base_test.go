package serve_test

import (
	"encoding/base64"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/internal/sandbox/policy"
	"github.com/perstack-go/perstack/internal/skills/base"
	"github.com/perstack-go/perstack/internal/workspace"
	"github.com/perstack-go/perstack/rawjson"
	"github.com/perstack-go/perstack/skill"
)

// fixture is a workspace that is the same every time, and the base skill for it.
func fixture(t *testing.T) (string, *base.Skill) {
	t.Helper()
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	past := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for name, content := range map[string]string{
		"notes.txt":    "one\ntwo\r\nthree <&> \u2028 é\n",
		"binary.txt":   "bad \xff bytes\n",
		"dir/old.txt":  "old\n",
		"dir/gone.txt": "gone\n",
		"picture.png":  "\x89PNG\r\n\x1a\n" + "\x00\x00\x00\rIHDR\x00\x00\x00\x01\x00\x00\x00\x01\x08\x00\x00\x00\x00:~\x9bU",
		"paper.pdf":    "%PDF-1.4\n%\xe2\xe3\n1 0 obj\n<<>>\nendobj\ntrailer\n<<>>\n%%EOF\n",
		".env":         "SECRET=1\n",
	} {
		path := filepath.Join(root, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(path, past, past); err != nil {
			t.Fatal(err)
		}
	}
	files, err := workspace.Open(root, workspace.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { files.Close() })
	return root, base.New(base.Options{Workspace: files, Commands: commands, Sandbox: policy.Off(policy.JobOff), Environ: os.Environ(), Now: func() time.Time { return past }, PID: 42})
}

// calls drives every tool, to success and to failure.
var calls = []struct{ tool, args string }{
	{"todo", `{"newTodos":["write","read"]}`},
	{"attemptCompletion", `{}`},
	{"todo", `{"completedTodos":[0,1]}`},
	{"clearTodo", `{}`},
	{"attemptCompletion", `{}`},
	{"think", `{"thought":"hm"}`},
	{"exec", `{"command":"no-such-program"}`},
	{"exec", `{"command":"go","args":["version"],"stdout":false}`},
	{"getFileInfo", `{"path":"notes.txt"}`},
	{"healthCheck", `{}`},
	{"readTextFile", `{"path":"notes.txt"}`},
	{"readTextFile", `{"path":"notes.txt","from":1,"to":2}`},
	{"readTextFile", `{"path":"binary.txt"}`},
	{"readTextFile", `{"path":".env"}`},
	{"readTextFile", `{"path":"../out.txt"}`},
	{"readTextFile", `{"path":"notes.txt","form":1}`},
	{"readTextFile", `{}`},
	{"readImageFile", `{"path":"picture.png"}`},
	{"readImageFile", `{"path":"notes.txt"}`},
	{"readPdfFile", `{"path":"paper.pdf"}`},
	{"writeTextFile", `{"path":"new/file.txt","text":"hello\n"}`},
	{"appendTextFile", `{"path":"new/file.txt","text":"world\n"}`},
	{"editTextFile", `{"path":"new/file.txt","oldText":"world","newText":"$& <b>"}`},
	{"editTextFile", `{"path":"new/file.txt","oldText":"absent","newText":""}`},
	{"readTextFile", `{"path":"new/file.txt"}`},
	{"moveFile", `{"source":"new/file.txt","destination":"moved.txt"}`},
	{"deleteFile", `{"path":"dir/gone.txt"}`},
	{"deleteFile", `{"path":"dir/gone.txt"}`},
	{"createDirectory", `{"path":"made/deep"}`},
	{"listDirectory", `{"path":"made"}`},
	{"glob", `{"pattern":"**/"}`},
	{"grep", `{"pattern":"a","context":1}`},
	{"deleteDirectory", `{"path":"made"}`},
	{"deleteDirectory", `{"path":"made","recursive":true}`},
}

// varying is what differs between two processes that do the same.
var varying = regexp.MustCompile(`"(modified|created|accessed)":"[^"]*"|"heap(Used|Total)":"[^"]*"`)

// A content is what a client gets of a part.
type content struct {
	Kind, Text, MIMEType, Data string
}

func fromParts(parts []event.Part) (all []content) {
	for _, p := range parts {
		kind := map[event.PartType]string{event.TextPart: "text", event.ImageInlinePart: "image", event.FileInlinePart: "resource"}[p.Type]
		all = append(all, content{kind, p.Text, p.MIMEType, p.EncodedData})
	}
	return all
}

func fromContents(contents []mcp.Content) (all []content) {
	encode := base64.StdEncoding.EncodeToString
	for _, c := range contents {
		switch c := c.(type) {
		case *mcp.TextContent:
			all = append(all, content{Kind: "text", Text: c.Text})
		case *mcp.ImageContent:
			all = append(all, content{Kind: "image", MIMEType: c.MIMEType, Data: encode(c.Data)})
		case *mcp.EmbeddedResource:
			all = append(all, content{Kind: "resource", MIMEType: c.Resource.MIMEType, Data: encode(c.Resource.Blob)})
		}
	}
	return all
}

// Every tool gives an MCP client byte for byte what it gives an Expert, and leaves the
// same files behind.
func TestSameResultsAsInProcess(t *testing.T) {
	here, inProcess := fixture(t)
	there, served := fixture(t)
	session := connect(t, start(t.Context(), t, served, skill.Filter{}), nil)
	plain := func(all []content, root string) []content {
		for i := range all {
			all[i].Text = varying.ReplaceAllString(strings.ReplaceAll(all[i].Text, root, "ROOT"), `"$1":"…"`)
		}
		return all
	}
	driven := map[string]bool{}
	for _, c := range calls {
		driven[c.tool] = true
		want, err := inProcess.Call(t.Context(), event.ToolCall{ID: "1", ToolName: c.tool, Args: rawjson.Value(c.args)})
		if err != nil {
			t.Fatal(err)
		}
		got, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: c.tool, Arguments: rawjson.Value(c.args)})
		if err != nil {
			t.Fatalf("%s %s: %v", c.tool, c.args, err)
		}
		if diff := cmp.Diff(plain(fromParts(want.Result), here), plain(fromContents(got.Content), there)); diff != "" || got.IsError != want.IsError {
			t.Errorf("%s %s: failed %t, want %t (-in process +served)\n%s", c.tool, c.args, got.IsError, want.IsError, diff)
		}
	}
	tools, err := inProcess.Tools(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, tool := range tools {
		if !driven[tool.Name] {
			t.Errorf("%s is not driven", tool.Name)
		}
	}
	if diff := cmp.Diff(tree(t, here), tree(t, there)); diff != "" {
		t.Errorf("files (-in process +served)\n%s", diff)
	}
	if err := session.Close(); err != nil {
		t.Error(err)
	}
}

// tree returns the files below a directory with their content.
func tree(t *testing.T, root string) map[string]string {
	t.Helper()
	files := map[string]string{}
	err := filepath.WalkDir(root, func(path string, entry os.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		name, _ := filepath.Rel(root, path)
		files[filepath.ToSlash(name)] = string(data)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// The list is the skill's own: order, names, texts and schemas.
func TestListIsTheSkillsOwn(t *testing.T) {
	_, s := fixture(t)
	want, err := s.Tools(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	all := converse(t, s, `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`)
	var list struct {
		Tools []struct {
			Name        string        `json:"name"`
			Title       string        `json:"title"`
			Description string        `json:"description"`
			InputSchema rawjson.Value `json:"inputSchema"`
			Annotations struct {
				ReadOnly    bool  `json:"readOnlyHint"`
				Idempotent  bool  `json:"idempotentHint"`
				Destructive *bool `json:"destructiveHint"`
			} `json:"annotations"`
		} `json:"tools"`
	}
	if err := json.Unmarshal(all[0].Result, &list); err != nil || len(list.Tools) != len(want) {
		t.Fatalf("%d tools, want %d; %v", len(list.Tools), len(want), err)
	}
	for i, got := range list.Tools {
		w := want[i]
		if got.Name != w.Name || got.Title != w.Title || got.Description != w.Description {
			t.Errorf("tool %d: %s %q %q, want %s %q %q", i, got.Name, got.Title, got.Description, w.Name, w.Title, w.Description)
		}
		const dialect = `{"$schema":"http://json-schema.org/draft-07/schema#",`
		if err := (*jsontext.Value)(&w.InputSchema).Compact(); err != nil {
			t.Fatal(err)
		}
		if schema := string(got.InputSchema); schema != dialect+string(w.InputSchema[1:]) {
			t.Errorf("%s: schema %s, want that of the skill with its dialect", w.Name, schema)
		}
		a := got.Annotations
		if a.ReadOnly != w.ReadOnly || a.Idempotent != w.Repeatable || (a.Destructive != nil && !*a.Destructive) != w.ReadOnly {
			t.Errorf("%s: annotations %+v", w.Name, a)
		}
	}
}
