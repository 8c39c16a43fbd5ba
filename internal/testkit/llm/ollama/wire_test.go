package ollama_test

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/perstack-go/perstack/internal/testkit"
	"github.com/perstack-go/perstack/internal/testkit/llm"
)

// An answer is what came of a request. err is set if it broke off.
type answer struct {
	status int
	kind   string
	body   string
	err    error
}

func post(t testing.TB, server *llm.Server, body string) answer {
	t.Helper()
	response, err := http.Post(server.Root()+"/api/chat", "application/json", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	return answer{response.StatusCode, response.Header.Get("Content-Type"), string(text), err}
}

func start(t testing.TB, script string) *llm.Server {
	t.Helper()
	s, err := llm.Parse("demo.toml", []byte(script))
	if err != nil {
		t.Fatal(err)
	}
	server, _ := llm.Start(t, s)
	return server
}

const hello = `{"model":"qwen3:8b","messages":[{"role":"user","content":"Hi"}]}`

// The exact bytes of streams, as the real server sends them.
func TestStreams(t *testing.T) {
	for name, script := range map[string]string{
		"text":     "[[turn]]\ntext = \"Hello, dear \\\"world\\\".\\nBye 👋\"\nusage = { input = 12, output = 7, cached = 3, cacheWrite = 4 }",
		"thinking": "[[turn]]\nreasoning = \"Let me think.\"\ntext = \"Yes.\"\nusage = { output = 9, reasoning = 5 }",
		"calls": "[[turn]]\ntext = \"Both.\"\n[[turn.call]]\nid = \"c1\"\ntool = \"readTextFile\"\nargs = { path = \"é/notes.txt\", from = 0 }\n" +
			"[[turn.call]]\ntool = \"think\"\nreasoning = \"One more.\"",
		"nothing":        "[[turn]]\ntext = \"\"",
		"length":         "[[turn]]\ntext = \"a\"\nlength = true",
		"no-stop-reason": "[[turn]]\ntext = \"a\"\nstop = \"\"",
		"stop-reason":    "[[turn]]\ntext = \"a\"\nstop = \"unload\"",
		"error-inside":   "[[turn]]\ntext = \"one two three\"\nerrorAfter = 2\n[turn.error]\nkind = \"internal\"\nmessage = \"the \\\"runner\\\" stopped\"",
		"end-early":      "[[turn]]\ntext = \"one two three\"\nendAfter = -1",
	} {
		t.Run(name, func(t *testing.T) {
			a := post(t, start(t, script), hello)
			if a.err != nil || a.status != 200 || a.kind != "application/x-ndjson" {
				t.Fatal(a)
			}
			testkit.Golden(t, name+".ndjson", a.body)
		})
	}
}

func TestRefusals(t *testing.T) {
	a := post(t, start(t, "[[turn]]\n[turn.error]\nkind = \"rateLimit\"\nmessage = \"slow \\\"down\\\"\""), hello)
	if a.status != 429 || a.kind != "application/json; charset=utf-8" || a.body != `{"error":"slow \"down\""}` {
		t.Errorf("%+v", a)
	}
}

func body(members string, messages ...string) string {
	if len(messages) == 0 {
		messages = []string{user}
	}
	return `{"model":"qwen3:8b",` + members + `"messages":[` + strings.Join(messages, ",") + `]}`
}

const (
	user = `{"role":"user","content":"Hi"}`
	call = `{"role":"assistant","content":"","tool_calls":[{"id":"a","function":{"index":0,"name":"t","arguments":{"x":1}}}]}`
	done = `{"role":"tool","content":"ok","tool_name":"t","tool_call_id":"a"}`
)

func schema(parameters string) string {
	return body(`"tools":[{"type":"function","function":{"name":"t","parameters":` + parameters + `}}],`)
}

func TestBodies(t *testing.T) {
	server := start(t, "[[turn]]\nturn = 1\ntext = \"fine\"\n[[turn]]\nturn = 2\ntext = \"fine\"")
	const typed = "cannot unmarshal"
	for _, test := range []struct {
		name, body string
		status     int
		want       string // of the error
	}{
		{"plain", hello, 200, ""},
		{"unknown members", body(`"news":{"a":1},"think":null,"truncate":false,"options":{"news":1},`, `{"role":"user","content":"Hi","news":1}`), 200, ""},
		{"everything", body(`"stream":true,"think":"high","options":{"num_predict":5},`, `{"role":"system","content":"s"}`, `{"role":"user","content":"","images":["iVBORw0KGgo="]}`, call, done), 200, ""},
		{"a real schema", schema(`{"$schema":"x","type":"object","properties":{"a":{"type":["string","null"],"enum":[1],"items":true,"anyOf":[{}]}},"required":["a"]}`), 200, ""},
		{"no JSON", `{"model":`, 400, typed},
		{"no model", `{"messages":[` + user + `]}`, 400, "model is required"},
		{"a missing model", strings.Replace(hello, "qwen3", "missing", 1), 404, "model 'missing:8b' not found"},
		{"no messages", `{"model":"m","messages":[]}`, 400, "no messages"},
		{"not streaming", body(`"stream":false,`), 400, "as a stream"},
		{"content as a list", body("", `{"role":"user","content":[{"type":"text"}]}`), 400, typed},
		{"an image that is no base64", body("", `{"role":"user","content":"","images":["?"]}`), 400, typed},
		{"an image as an address", body("", `{"role":"user","content":"","images":["data:image/png;base64,iVBORw0KGgo="]}`), 400, typed},
		{"an image of a tool", body("", user, call, strings.Replace(done, `{`, `{"images":["iVBORw0KGgo="],`, 1)), 400, "has images"},
		{"an unknown role", body("", `{"role":"developer","content":"Hi"}`), 400, "invalid role: developer"},
		{"arguments as text", body("", strings.Replace(call, `{"x":1}`, `"{}"`, 1)), 400, typed},
		{"a call without a name", body("", strings.Replace(call, `"t"`, `""`, 1)), 400, "without a name"},
		{"a result without a call", body("", user, done), 400, "which was not made"},
		{"two results", body("", user, call, done, done), 400, "which was not made"},
		{"a tool without a name", body(`"tools":[{"type":"function","function":{}}],`), 400, "a tool of type"},
		{"a schema that is true", schema(`{"type":"object","properties":{"a":true}}`), 400, typed},
		{"two types at the top", schema(`{"type":["object","null"]}`), 400, typed},
		{"a type that is a number", schema(`{"type":"object","properties":{"a":{"type":5}}}`), 400, typed},
		{"think as a number", body(`"think":5,`), 400, "think must be a boolean or string"},
		{"think in another word", body(`"think":"hard",`), 400, "invalid think value"},
		{"a model that cannot think", strings.Replace(body(`"think":true,`), "qwen3", "gemma3", 1), 400, `\"gemma3:8b\" does not support thinking`},
		{"a model that need not think", strings.Replace(body(`"think":false,`), "qwen3", "gemma3", 1), 200, ""},
	} {
		a := post(t, server, test.body)
		if a.status != test.status || test.want != "" && (!strings.HasPrefix(a.body, `{"error":"`) || !strings.Contains(a.body, test.want)) {
			t.Errorf("%s: %d %s", test.name, a.status, a.body)
		}
	}
	response, err := http.Get(server.Root() + "/api/chat")
	if err != nil {
		t.Fatal(err)
	}
	response.Body.Close()
	if response.StatusCode != http.StatusMethodNotAllowed {
		t.Errorf("%v", response)
	}
}

// What a script's rules see of a conversation.
func TestAsked(t *testing.T) {
	server := start(t, "[[turn]]\ntext = \"fine\"\n[[turn]]\ntext = \"fine\"\n[[turn]]\ntext = \"fine\"")
	second := strings.ReplaceAll(strings.ReplaceAll(call, `"a"`, `"b"`), `{"x":1}`, `{}`)
	post(t, server, body(`"options":{"num_predict":300},`, `{"role":"system","content":"Be brief."}`, user, `{"role":"user","content":"there"}`, call, done,
		second, strings.Replace(strings.Replace(done, `"a"`, `"b"`, 1), "ok", "one", 1), `{"role":"user","content":"two"}`))
	r := server.Requests()[0]
	if a := r.Asked; a.System != "Be brief." || a.Query != "Hi\nthere" || a.Last != "one\ntwo" || a.Turn != 3 || a.Model != "qwen3:8b" || a.MaxTokens != 300 || !r.KeyRight || r.KeySent || r.Problem != "" {
		t.Errorf("%+v", r)
	}
}
