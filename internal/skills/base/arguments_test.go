package base_test

import (
	"strings"
	"testing"
)

func TestArguments(t *testing.T) {
	b := newBench(t)
	tests := []struct {
		tool, args string
		want       string // fragment of the error; empty if the call is good
	}{
		{"attemptCompletion", ``, ""},
		{"attemptCompletion", `null`, ""},
		{"attemptCompletion", `{}`, ""},
		{"attemptCompletion", `{"result":"x"}`, `"result" is not an argument`},
		{"attemptCompletion", `[]`, "expected a JSON object"},
		{"attemptCompletion", `{`, "not valid JSON"},
		{"attemptCompletion", `{} {}`, "not valid JSON"},
		{"think", `{}`, `"thought" is required`},
		{"think", `{"thought":null}`, `"thought" is required`},
		{"think", `{"thought":1}`, `"thought" must be a string`},
		{"think", `{"thought":"x","nextThoughtNeeded":"yes"}`, `"nextThoughtNeeded" must be a boolean`},
		{"think", `{"thought":"x","nextThoughtNeeded":null}`, ""},
		{"think", `{"Thought":"x"}`, `"Thought" is not an argument`},
		{"think", `{"thought":"x","thought":"y"}`, `"thought" is given twice`},
		{"todo", `{"newTodos":"x"}`, `"newTodos" must be an array`},
		{"todo", `{"newTodos":[1]}`, `"newTodos/0" must be a string`},
		{"todo", `{"newTodos":[null]}`, `"newTodos/0" must be a string`},
		{"todo", `{"newTodos":null,"completedTodos":null}`, ""},
		{"todo", `{"completedTodos":["0"]}`, `"completedTodos/0" must be a number`},
		{"todo", `{"completedTodos":[null]}`, `"completedTodos/0" must be a number`},
		{"readTextFile", `{}`, `"path" is required`},
		{"readTextFile", `{"path":"a.txt","from":-1}`, `"from" must not be negative`},
		{"readTextFile", `{"path":"a.txt","to":1.5}`, `"to" must be an integer`},
		{"readTextFile", `{"path":"a.txt","to":"1"}`, `"to" must be an integer`},
		{"readTextFile", `{"path":"a.txt","from":99999999999999999999}`, `"from" must be an integer`},
		{"readTextFile", `{"path":"a.txt","from":null}`, ""},
		{"writeTextFile", `{"path":"x"}`, `"text" is required`},
		{"writeTextFile", `{"text":"x"}`, `"path" is required`},
		{"getFileInfo", ``, `"path" is required`},
		{"getFileInfo", `{"path":null}`, `"path" is required`},
		{"getFileInfo", `{"path":"a.txt","follow":true}`, `"follow" is not an argument`},
		{"healthCheck", ``, ""},
		{"healthCheck", `null`, ""},
		{"healthCheck", `{"path":"x"}`, `"path" is not an argument`},
		{"readImageFile", `{"path":["a.png"]}`, `"path" must be a string`},
		{"readPdfFile", `{}`, `"path" is required`},
		{"appendTextFile", `{"path":"a.txt"}`, `"text" is required`},
		{"appendTextFile", `{"path":"a.txt","text":["x"]}`, `"text" must be a string`},
		{"editTextFile", `{"path":"a.txt","newText":"x"}`, `"oldText" is required`},
		{"editTextFile", `{"path":"a.txt","oldText":"x"}`, `"newText" is required`},
		{"editTextFile", `{"path":"a.txt","oldText":"","newText":"x"}`, `"oldText" must not be empty`},
		{"editTextFile", `{"path":"a.txt","oldText":"x","newText":"y","all":true}`, `"all" is not an argument`},
		{"moveFile", `{"source":"a.txt"}`, `"destination" is required`},
		{"moveFile", `{"destination":"a.txt"}`, `"source" is required`},
		{"moveFile", `{"source":"a.txt","destination":"b.txt","overwrite":true}`, `"overwrite" is not an argument`},
		{"deleteFile", `{}`, `"path" is required`},
		{"createDirectory", `{}`, `"path" is required`},
		{"deleteDirectory", `{"recursive":true}`, `"path" is required`},
		{"deleteDirectory", `{"path":"x","recursive":"yes"}`, `"recursive" must be a boolean`},
		{"deleteDirectory", `{"path":"x","Recursive":true}`, `"Recursive" is not an argument`},
		{"listDirectory", `{"limit":0}`, `"limit" must be between`},
		{"listDirectory", `{"limit":1001}`, `"limit" must be between`},
		{"listDirectory", `{"offset":-1}`, `"offset" must not be negative`},
		{"listDirectory", `{"offset":9223372036854775807,"limit":1000}`, ""},
		{"exec", `{}`, `"command" is required`},
		{"exec", `{"command":""}`, `"command" must not be empty`},
		{"exec", `{"command":"true","args":"x"}`, `"args" must be an array`},
		{"exec", `{"command":"true","args":[null]}`, `"args/0" must be a string`},
		{"exec", `{"command":"true","env":{"A":1}}`, `"env/A" must be a string`},
		{"exec", `{"command":"true","env":{"A":null}}`, `"env/A" must be a string`},
		{"exec", `{"command":"true","timeout":-1}`, `"timeout" must not be negative`},
		{"exec", `{"command":"true","timeOut":1}`, `"timeOut" is not an argument`},
		{"exec", `{"command":"true","args":["\u0000"]}`, "NUL characters are not accepted"},
		{"exec", `{"command":"true","timeout":9223372036854775807}`, ""},
	}
	for _, tt := range tests {
		t.Run(tt.tool+tt.args, func(t *testing.T) {
			text, r := b.call(tt.tool, tt.args)
			got := fields(t, text)
			if tt.want == "" {
				if r.IsError {
					t.Error(text)
				}
				return
			}
			message, _ := got["error"].(string)
			if !r.IsError || got["code"] != "invalid_arguments" || !strings.Contains(message, tt.want) {
				t.Errorf("%s; want %s", text, tt.want)
			}
		})
	}
}

// The decoders answer anything at all. exec is left out: it might do as it is told.
func FuzzArgs(f *testing.F) {
	b := newBench(f)
	all, err := b.Tools(f.Context())
	if err != nil {
		f.Fatal(err)
	}
	var tools []string
	for _, tool := range all {
		if tool.Name != "exec" {
			tools = append(tools, tool.Name)
		}
	}
	for i := range tools {
		for _, args := range []string{
			``, `null`, `{}`, `{"path":"a.txt","from":0,"to":9}`, `{"path":"f/x.txt","text":"t"}`, `{"thought":"x"}`, `{"newTodos":["a"],"completedTodos":[0]}`,
			`{"path":".","offset":1,"limit":2}`, `{"path":"a.txt","oldText":"a","newText":"$&"}`, `{"source":"a.txt","destination":"b/c"}`,
			`{"path":".","recursive":true}`, `[`, "\xff", `{"path":"\ud800"}`, `{"path":1e999}`,
		} {
			f.Add(uint8(i), args)
		}
	}
	f.Fuzz(func(t *testing.T, tool uint8, args string) {
		b := &bench{Skill: b.Skill, t: t, dir: b.dir}
		b.put("a.txt", "alpha\nbeta\n") // it may have been deleted
		text, r := callWith(t.Context(), t, b.Skill, tools[int(tool)%len(tools)], args)
		got := fields(t, text)
		if message, _ := got["error"].(string); r.IsError != (message != "") {
			t.Fatalf("isError %t with %s", r.IsError, text)
		}
		if strings.Contains(text, canary) {
			t.Fatalf("gave away a secret for %q", args)
		}
		for _, name := range []string{".env", "perstack/jobs/j1/journal.jsonl", "../outside/secret.txt"} {
			b.holds(name, canary)
		}
	})
}
