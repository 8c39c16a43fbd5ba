package responses_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/perstack-go/perstack/internal/testkit/llm/script"
)

const thought = "[[turn]]\nreasoning = \"Hm.\"\nredacted = \"c2VjcmV0\"\nhosted = ['" + search + "']\ntext = \"a\"\n[[turn]]\ntext = \"b\"\n[[turn]]\ntext = \"c\"\n"

// body makes a request of further members and of items.
func body(more string, items ...string) string {
	if len(items) == 0 {
		items = []string{user}
	}
	return `{"model":"gpt-5","stream":true,"store":false,` + more + `"input":[` + strings.Join(items, ",") + `]}`
}

// offered is a request with a tool.
func offered(tool string) string { return body(`"tools":[` + tool + `],`) }

const (
	user   = `{"type":"message","role":"user","content":[{"type":"input_text","text":"Hi"}]}`
	use    = `{"type":"function_call","call_id":"a","name":"t","arguments":"{}"}`
	result = `{"type":"function_call_output","call_id":"a","output":"x"}`
	said   = `{"type":"message","role":"assistant","content":"a"}`
)

var (
	sealed = `{"type":"reasoning","id":"rs_1_00","summary":[{"type":"summary_text","text":"Hm."}],"encrypted_content":"` + script.Sign("Hm.") + `"}`
	hidden = `{"type":"reasoning","id":"rs_1_01","summary":[],"encrypted_content":"c2VjcmV0"}`
)

func edited(text, old, now string) string { return strings.Replace(text, old, now, 1) }

func shows(content string) string {
	return `{"type":"message","role":"user","content":[` + content + `]}`
}

func TestRefusedHeads(t *testing.T) {
	_, url := start(t, thought)
	for name, tt := range map[string]struct {
		edit   func(*http.Request)
		status int
		want   string
	}{
		"no key":     {func(r *http.Request) { r.Header.Del("Authorization") }, 401, "You didn't provide an API key"},
		"wrong key":  {func(r *http.Request) { r.Header.Set("Authorization", "Bearer x") }, 401, "Incorrect API key"},
		"not bearer": {func(r *http.Request) { r.Header.Set("Authorization", r.Header.Get("Authorization")[len("Bearer "):]) }, 401, "Incorrect API key"},
		"two keys":   {func(r *http.Request) { r.Header.Add("Authorization", "Bearer y") }, 401, "Incorrect API key"},
		"a form":     {func(r *http.Request) { r.Header.Set("Content-Type", "text/plain") }, 400, "Unsupported Content-Type"},
		"a look":     {func(r *http.Request) { r.Method = http.MethodGet }, 405, "Not allowed"},
	} {
		if a := post(t, url, hello, tt.edit); a.status != tt.status || !strings.Contains(a.body, tt.want) {
			t.Errorf("%s: %+v", name, a)
		}
	}
}

func TestRefusedBodies(t *testing.T) {
	_, url := start(t, thought)
	const function = `{"type":"function","name":"t","parameters":{"type":"object","properties":{}},"strict":false}`
	for _, tt := range []struct{ name, body, want string }{
		{"no JSON", `{`, "could not parse the JSON"},
		{"a name twice", `{"model":"a","model":"b"}`, "could not parse the JSON"},
		{"an unknown member", body(`"max_tokens":5,`), "Unknown parameter: 'max_tokens'"},
		{"no model", `{"input":"a"}`, "Missing required parameter: 'model'"},
		{"no input", `{"model":"a"}`, "Missing required parameter: 'input'"},
		{"an empty input", `{"model":"a","stream":true,"store":false,"input":[]}`, "Missing required parameter: 'input'"},
		{"a wrong type", `{"model":1,"input":"a"}`, "Invalid type"},
		{"not streaming", edited(hello, "true", "false"), "stream:"},
		{"storing", edited(hello, `"store":false`, `"store":true`), "store:"},
		{"a small limit", body(`"max_output_tokens":15,`), "Expected a value >= 16, but got 15"},
		{"no calls", body(`"max_tool_calls":0,`), "'max_tool_calls'"},
		{"an unknown include", body(`"include":["all"],`), "'include[0]'"},

		{"an unknown effort", body(`"reasoning":{"effort":"hard"},`), "Invalid value: 'hard'"},
		{"an unknown summary", body(`"reasoning":{"summary":"yes"},`), "Invalid value: 'yes'"},
		{"a model that does not think", edited(body(`"reasoning":{"effort":"low"},`), "gpt-5", "gpt-4o"), "not supported with this model"},
		{"a model that hides nothing", edited(body(`"include":["reasoning.encrypted_content"],`), "gpt-5", "gpt-4o"), "Encrypted content is not supported"},
		{"a search without a thought", body(`"reasoning":{"effort":"minimal"},"tools":[{"type":"web_search"}],`), "cannot be used with reasoning.effort 'minimal': web_search"},

		{"an unknown tool", offered(`{"type":"hammer"}`), "Invalid value: 'hammer'"},
		{"a tool of another API", offered(`{"type":"function","function":{"name":"t"}}`), "Unknown parameter: 'tools[0].function'"},
		{"a bad name of a tool", offered(edited(function, `"t"`, `"a.b"`)), "Invalid 'tools[0].name'"},
		{"a long name of a tool", offered(edited(function, `"t"`, `"`+strings.Repeat("a", 65)+`"`)), "Invalid 'tools[0].name'"},
		{"a tool twice", offered(function + "," + function), "Duplicate function name"},
		{"no schema", offered(`{"type":"function","name":"t"}`), `schema must be a JSON Schema of 'type`},
		{"a schema without properties", offered(edited(function, `,"properties":{}`, "")), "object schema missing properties"},
		{"a choice as schema", offered(edited(function, `"properties"`, `"anyOf":[],"properties"`)), "'anyOf' at the top level"},
		{"a search in nothing", offered(`{"type":"file_search"}`), "vector_store_ids"},
		{"too many results", offered(`{"type":"file_search","vector_store_ids":["a"],"max_num_results":51}`), "max_num_results"},
		{"code without a place", offered(`{"type":"code_interpreter"}`), "container"},
		{"a search with Anthropic's options", offered(`{"type":"web_search","allowed_domains":["a"]}`), "Unknown parameter: 'tools[0].allowed_domains'"},
		{"an unknown choice", body(`"tool_choice":"maybe",`), "tool_choice"},
		{"a choice of nothing", body(`"tool_choice":"required",`), "must be specified with 'tools'"},

		{"an unknown item", body("", user, `{"type":"song"}`), "Invalid value: 'song'"},
		{"an unknown member of an item", body("", user, edited(use, `"name"`, `"x":1,"name"`)), "Unknown parameter: 'input[1].x'"},
		{"an unknown role", body("", edited(user, "user", "tool")), "Invalid value: 'tool'"},
		{"no content", body("", `{"type":"message","role":"user"}`), "input[0].content"},
		{"empty content", body("", shows("")), "empty array"},
		{"content of another API", body("", shows(`{"type":"text","text":"a"}`)), "Invalid value: 'text'"},
		{"an answer as input", body("", edited(user, `"user"`, `"assistant"`)), "Supported values are: 'output_text', 'refusal'"},
		{"an id of the user", body("", edited(user, `"role"`, `"id":"msg_1","role"`)), "for messages of the assistant"},
		{"an unknown phase", body("", user, edited(said, `"role"`, `"phase":"late","role"`)), "Invalid value: 'late'"},
		{"a wrong id", body("", user, edited(said, `"role"`, `"id":"x_1","role"`)), "Expected an ID that begins with 'msg'"},
		{"an image of nothing", body("", shows(`{"type":"input_image"}`)), "image_url"},
		{"an image of another type", body("", shows(`{"type":"input_image","image_url":"data:image/bmp;base64,AAAA"}`)), "image_url"},
		{"an image of broken bytes", body("", shows(`{"type":"input_image","image_url":"data:image/png;base64,A"}`)), "base64"},
		{"a file without a name", body("", shows(`{"type":"input_file","file_data":"data:application/pdf;base64,AAAA"}`)), "filename"},
		{"a file of nothing", body("", shows(`{"type":"input_file","filename":"a.pdf"}`)), "exactly one of"},
		{"a call without arguments", body("", user, edited(use, `,"arguments":"{}"`, ""), result), "needs 'call_id', 'name' and 'arguments'"},
		{"arguments that are an object", body("", user, edited(use, `"{}"`, `{}`), result), "Invalid type"},
		{"a long id of a call", body("", user, edited(use, `"a"`, `"`+strings.Repeat("a", 65)+`"`)), "maximum length 64"},
		{"a bad name", body("", user, edited(use, `"t"`, `"t t"`), result), "input[1].name"},
		{"a result without output", body("", user, use, edited(result, `,"output":"x"`, "")), "needs 'call_id' and 'output'"},
		{"a result that is a number", body("", user, use, edited(result, `"x"`, `1`)), "expected a string or an array"},

		{"a call without a result", body("", user, use, user), "No tool output found for function call a."},
		{"a result without a call", body("", user, result), "No tool call found for function call output with call_id a."},
		{"a result before its call", body("", user, result, use), "No tool call found"},
		{"a result twice", body("", user, use, result, result), "No tool call found"},

		{"a thought without an id", body("", user, edited(sealed, `"id":"rs_1_00",`, ""), said), "input[1].id"},
		{"a thought without a summary", body("", user, edited(hidden, `"summary":[],`, ""), said), "input[1].summary"},
		{"a foreign thought", body("", user, edited(hidden, "c2VjcmV0", "b3RoZXI"), said), "could not be verified"},
		{"a changed thought", body("", user, edited(sealed, "Hm.", "Hmm."), said), "could not be verified"},
		{"an uncovered thought", body("", user, edited(hidden, "[]", `[{"type":"summary_text","text":"x"}]`), said), "could not be verified"},
		{"a thought at the end", body("", user, sealed), "without its required following item"},
		{"a thought before the user", body("", user, sealed, user), "without its required following item"},
		{"a thought before another answer", body("", user, sealed, edited(said, `"role"`, `"id":"msg_2_01t","role"`)), "without its required"},
		{"an item without its thought", body("", user, edited(said, `"role"`, `"id":"msg_1_01t","role"`)), "without its required 'reasoning' item"},
		{"a call without its thought", body("", user, sealed, edited(said, `"role"`, `"id":"msg_1_01t","role"`), edited(use, `"call_id"`, `"id":"fc_1_03t","call_id"`), result), "'fc_1_03t' of type 'function_call' was provided without"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			a := post(t, url, tt.body, nil)
			if a.status != 400 || !strings.HasPrefix(a.body, `{"error":{"message":"`) || !strings.Contains(a.body, strings.ReplaceAll(tt.want, `"`, `\"`)) {
				t.Errorf("got %d %s\nwant %s", a.status, a.body, tt.want)
			}
		})
	}
	for name, text := range map[string]string{
		"a thought that was not kept": body("", user, edited(hidden, `"c2VjcmV0"`, "null"), said),
		"a search that was not made":  body("", user, edited(search, "rain", "snow"), said),
	} {
		if a := post(t, url, text, nil); a.status != 404 || !strings.Contains(a.body, "not persisted when `store` is set to false") {
			t.Errorf("%s: %+v", name, a)
		}
	}
}

func TestAcceptedBodies(t *testing.T) {
	_, url := start(t, thought)
	for name, text := range map[string]string{
		"short":         hello,
		"a result":      body("", user, use, result),
		"lists":         body("", user, use, edited(result, `"x"`, `[{"type":"input_text","text":"x"},{"type":"input_image","image_url":"data:image/png;base64,AAAA"}]`)),
		"media":         body("", shows(`{"type":"input_image","image_url":"https://example.com/a"},{"type":"input_file","filename":"a.pdf","file_data":"data:application/pdf;base64,AAAA"},{"type":"input_file","file_url":"https://example.com/a.pdf"}`)),
		"thoughts":      body("", user, sealed, hidden, search, said, user),
		"with ids":      body("", user, sealed, edited(said, `"role"`, `"id":"msg_1_01t","phase":"commentary","role"`), edited(use, `"call_id"`, `"id":"fc_1_02","call_id"`), result),
		"a refusal":     body("", user, `{"type":"message","role":"assistant","id":"msg_1","status":"completed","content":[{"type":"refusal","refusal":"no"}]}`, user),
		"roles":         body("", `{"role":"developer","content":"Be brief."}`, `{"role":"system","content":"Be kind."}`, user),
		"hosted tools":  offered(`{"type":"web_search","filters":{"allowed_domains":["a"]}},{"type":"file_search","vector_store_ids":["v"]},{"type":"code_interpreter","container":{"type":"auto"}},{"type":"image_generation"}`),
		"no tool":       body(`"tool_choice":"none",`),
		"a thinker":     body(`"reasoning":{"effort":"minimal","summary":"auto"},"include":["reasoning.encrypted_content"],`),
		"an old model":  edited(hello, "gpt-5", "gpt-4o"),
		"a limit":       body(`"max_output_tokens":16,"max_tool_calls":1,`),
		"user's extras": body(`"service_tier":"flex","metadata":{},"temperature":1,`),
	} {
		if a := post(t, url, text, nil); a.status != 200 {
			t.Errorf("%s: %s", name, a.body)
		}
	}
}

// What rules of a script look at.
func TestAsked(t *testing.T) {
	server, url := start(t, thought)
	text := body(`"max_output_tokens":99,`, `{"role":"developer","content":"Be brief."}`, user, edited(user, "Hi", "there"), sealed, said, use, result, edited(user, "Hi", "Next"))
	if a := post(t, url, text, nil); a.status != 200 {
		t.Fatal(a.body)
	}
	want := script.Asked{System: "Be brief.", Query: "Hi\nthere", Last: "x\nNext", Turn: 2, Attempt: 1, Model: "gpt-5", MaxTokens: 99}
	got := server.Requests()[0]
	got.Asked.Attempt = got.Attempt
	if got.Asked != want || !got.KeySent || !got.KeyRight || got.Wire != "openai" {
		t.Errorf("%+v", got)
	}
}
