package messages_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/perstack-go/perstack/internal/testkit/llm/script"
)

// body is a request with the given members beside the usual ones.
func body(members string, messages ...string) string {
	if len(messages) == 0 {
		messages = []string{`{"role":"user","content":"Hi"}`}
	}
	return `{"model":"m","max_tokens":4096,"stream":true,` + members + `"messages":[` + strings.Join(messages, ",") + `]}`
}

const (
	user = `{"role":"user","content":"Hi"}`
	use  = `{"role":"assistant","content":[{"type":"tool_use","id":"a","name":"t","input":{}},{"type":"tool_use","id":"b","name":"t","input":{}}]}`
	mark = `"cache_control":{"type":"ephemeral"}`

	// A call that the provider ran itself, and its result.
	search = `{"type":"server_tool_use","id":"srvtoolu_1","name":"web_search","input":{"query":"rain"}}`
	found  = `{"type":"web_search_tool_result","tool_use_id":"srvtoolu_1","content":[]}`
)

func results(ids ...string) string {
	var out []string
	for _, id := range ids {
		out = append(out, `{"type":"tool_result","tool_use_id":"`+id+`","content":"ok"}`)
	}
	return `{"role":"user","content":[` + strings.Join(out, ",") + `]}`
}

func says(blocks string) string { return `{"role":"assistant","content":[` + blocks + `]}` }

const thought = "[[turn]]\nturn = 9\nreasoning = \"Hm.\"\nredacted = \"c2VjcmV0\"\nhosted = ['''" + search + "''', '''" + found + "''']\n[[turn]]\ntext = \"fine\"\n[[turn]]\ntext = \"fine\"\n[[turn]]\ntext = \"fine\""

func TestRefusedBodies(t *testing.T) {
	_, url := start(t, thought)
	tests := []struct{ name, body, want string }{
		{"no JSON", `{"model":`, "not valid JSON"},
		{"a name twice", `{"model":"a","model":"b"}`, "not valid JSON"},
		{"no object", `[]`, "not valid JSON"},
		{"an unknown member", body(`"extra":1,`), "extra: Extra inputs are not permitted"},
		{"a member of a beta", body(`"container":{},`), "container: Extra inputs are not permitted"},
		{"no model", `{"max_tokens":1,"messages":[]}`, "model: Field required"},
		{"no max_tokens", `{"model":"m","messages":[]}`, "max_tokens: Field required"},
		{"no messages", `{"model":"m","max_tokens":1}`, "messages: Field required"},
		{"a wrong type", `{"model":1,"max_tokens":1,"messages":[]}`, "wrong form"},
		{"an empty model", strings.Replace(hello, "claude-test", "", 1), "model: String should have"},
		{"zero tokens", strings.Replace(hello, "100", "0", 1), "max_tokens: Input should be greater"},
		{"not streaming", strings.Replace(hello, "true", "false", 1), "stream:"},
		{"too hot", body(`"temperature":1.5,`), "temperature: range"},

		{"an unknown kind of thinking", body(`"thinking":{"type":"hard"},`), "Input tag 'hard'"},
		{"a small budget", body(`"thinking":{"type":"enabled","budget_tokens":1023},`), "greater than or equal to 1024"},
		{"a large budget", body(`"thinking":{"type":"enabled","budget_tokens":4096},`), "`max_tokens` must be greater than `thinking.budget_tokens`"},
		{"an adaptive budget", body(`"thinking":{"type":"adaptive","budget_tokens":2000},`), "Extra inputs"},
		{"thinking in verse", body(`"thinking":{"type":"adaptive","display":"verse"},`), "thinking.adaptive.display"},
		{"an unknown effort", body(`"output_config":{"effort":"minimal"},`), "output_config.effort"},
		{"thinking when cold", body(`"temperature":0,"thinking":{"type":"enabled","budget_tokens":1024},`), "only be set to 1"},
		{"thinking when forced", body(`"tools":[{"name":"t","input_schema":{"type":"object"}}],"tool_choice":{"type":"any"},"thinking":{"type":"enabled","budget_tokens":1024},`), "forces tool use"},

		{"a tool twice", body(`"tools":[{"name":"t","input_schema":{"type":"object"}},{"name":"t","input_schema":{"type":"object"}}],`), "names must be unique"},
		{"a bad name of a tool", body(`"tools":[{"name":"a.b","input_schema":{"type":"object"}}],`), "tools.0.custom.name"},
		{"no schema", body(`"tools":[{"name":"t"}],`), "input_schema: Field required"},
		{"a bad schema", body(`"tools":[{"name":"t","input_schema":{"type":"string"}}],`), "should be 'object'"},
		{"an unknown choice", body(`"tool_choice":{"type":"maybe"},`), "Input tag 'maybe'"},
		{"a choice of nothing", body(`"tool_choice":{"type":"auto"},`), "while providing tools"},
		{"an unknown tool", body(`"tools":[{"name":"t","input_schema":{"type":"object"}}],"tool_choice":{"type":"tool","name":"u"},`), "Tool 'u' not found"},

		{"an empty system prompt", body(`"system":"",`), "must be non-empty"},
		{"an image as system prompt", body(`"system":[{"type":"image","source":{}}],`), "system.0.type"},

		{"no message", `{"model":"m","max_tokens":1,"stream":true,"messages":[]}`, "at least one message"},
		{"an unknown role", body("", `{"role":"system","content":"a"}`), "messages.0.role"},
		{"the assistant first", body("", says(`{"type":"text","text":"a"}`)), "first message must use"},
		{"the user twice", body("", user, user), "roles must alternate"},
		{"no content", body("", `{"role":"user","content":[]}`), "non-empty content"},
		{"an empty text", body("", `{"role":"user","content":[{"type":"text","text":""}]}`), "must be non-empty"},
		{"a blank text", body("", `{"role":"user","content":" \n"}`), "non-whitespace"},
		{"an unknown block", body("", `{"role":"user","content":[{"type":"song"}]}`), "Input tag 'song'"},
		{"an unknown member of a block", body("", `{"role":"user","content":[{"type":"text","text":"a","x":1}]}`), "messages.0.content.0.text.x: Extra"},
		{"an image of nothing", body("", `{"role":"user","content":[{"type":"image"}]}`), "source: Field required"},
		{"a call by the user", body("", `{"role":"user","content":[{"type":"tool_use","id":"a","name":"t","input":{}}]}`), "only be in `assistant` messages"},
		{"a result by the assistant", body("", user, says(`{"type":"tool_result","tool_use_id":"a"}`)), "only be in `user` messages"},
		{"trailing space", body("", user, says(`{"type":"text","text":"a "}`)), "trailing whitespace"},

		{"input that is a text", body("", user, says(`{"type":"tool_use","id":"a","name":"t","input":"{}"}`), results("a")), "valid dictionary"},
		{"a bad id", body("", user, says(`{"type":"tool_use","id":"a b","name":"t","input":{}}`), results("a b")), "tool_use.id"},
		{"a bad name", body("", user, says(`{"type":"tool_use","id":"a","name":"t t","input":{}}`), results("a")), "tool_use.name"},
		{"a result that is a number", body("", user, use, `{"role":"user","content":[{"type":"tool_result","tool_use_id":"a","content":1}]}`), "valid string or list"},
		{"a call in a result", body("", user, use, `{"role":"user","content":[{"type":"tool_result","tool_use_id":"a","content":[{"type":"tool_use"}]}]}`), "content.0: Input tag 'tool_use'"},
		{"an empty text in a result", body("", user, use, `{"role":"user","content":[{"type":"tool_result","tool_use_id":"a","content":[{"type":"text","text":""}]}]}`), "must be non-empty"},

		{"a call without a result", body("", user, use, results("a")), "without `tool_result` blocks immediately after: b."},
		{"calls without a message", body("", user, use), "immediately after: a, b."},
		{"a result too late", body("", user, use, user, says(`{"type":"text","text":"a"}`), results("a", "b")), "immediately after: a, b."},
		{"a result too many", body("", user, use, results("a", "b", "c")), "unexpected `tool_use_id` found in `tool_result` blocks: c."},
		{"a result twice", body("", user, use, results("a", "b", "b")), "single result"},
		{"an id twice", body("", user, says(`{"type":"tool_use","id":"a","name":"t","input":{}},{"type":"tool_use","id":"a","name":"t","input":{}}`), results("a")), "ids must be unique"},
		{"a text before a result", body("", user, says(`{"type":"tool_use","id":"a","name":"t","input":{}}`),
			`{"role":"user","content":[{"type":"text","text":"so"},{"type":"tool_result","tool_use_id":"a"}]}`), "before other content"},

		{"a foreign signature", body("", user, says(`{"type":"thinking","thinking":"Hm.","signature":"x"}`), user), "Invalid `signature`"},
		{"no signature", body("", user, says(`{"type":"thinking","thinking":"Hm.","signature":""}`), user), "Invalid `signature`"},
		{"changed thinking", body("", user, says(`{"type":"thinking","thinking":"Hmm.","signature":"`+script.Sign("Hm.")+`"}`), user), "Invalid `signature`"},
		{"marked thinking", body("", user, says(`{"type":"thinking","thinking":"Hm.","signature":"`+script.Sign("Hm.")+`",`+mark+`}`), user), "thinking.cache_control: Extra"},
		{"foreign redacted thinking", body("", user, says(`{"type":"redacted_thinking","data":"x"}`), user), "Invalid `data`"},

		{"a turn that began without a thought", body(`"thinking":{"type":"enabled","budget_tokens":1024},`, user, use, results("a", "b")), "Expected `thinking` or `redacted_thinking`, but found `tool_use`"},

		{"a search that was not made", body("", user, says(strings.Replace(search, "rain", "snow", 1)+","+found), user), "Invalid `server_tool_use` block"},
		{"a search without a result", body("", user, says(search), user), "without a corresponding result block: srvtoolu_1"},
		{"a result without a search", body("", user, says(found), user), "unexpected `tool_use_id` found in `web_search_tool_result` blocks: srvtoolu_1"},
		{"a search by the user", body("", `{"role":"user","content":[`+search+`,`+found+`]}`), "only be in `assistant` messages"},

		{"five marks", body(`"system":[{"type":"text","text":"a",`+mark+`},{"type":"text","text":"b",`+mark+`}],"tools":[{"name":"t","input_schema":{"type":"object"},`+mark+`}],`,
			`{"role":"user","content":[{"type":"text","text":"a",`+mark+`},{"type":"text","text":"b",`+mark+`}]}`), "A maximum of 4 blocks with cache_control may be provided. Found 5."},
		{"an unknown mark", body(`"system":[{"type":"text","text":"a","cache_control":{"type":"forever"}}],`), "cache_control: Input should be"},
		{"no answer in the script", body("", user, says(`{"type":"text","text":"a"}`), user, says(`{"type":"text","text":"a"}`), user, says(`{"type":"text","text":"a"}`), `{"role":"user","content":"next"}`),
			`the script demo.toml has no answer for turn 4, attempt 1, after \"next\"`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			a := post(t, url, tt.body)
			if a.status != 400 || !strings.HasPrefix(a.body, `{"type":"error","error":{"type":"invalid_request_error","message":"`) || !strings.Contains(a.body, tt.want) {
				t.Errorf("got %d %s\nwant %s", a.status, a.body, tt.want)
			}
		})
	}
}

func TestAcceptedBodies(t *testing.T) {
	_, url := start(t, thought)
	for name, body := range map[string]string{
		"short":           hello,
		"results":         body("", user, use, results("b", "a")),
		"an empty result": body("", user, says(`{"type":"tool_use","id":"a","name":"t","input":{}}`), `{"role":"user","content":[{"type":"tool_result","tool_use_id":"a","content":"","is_error":true},{"type":"text","text":"so"}]}`),
		"an image in a result": body("", user, says(`{"type":"tool_use","id":"a","name":"t","input":{}}`),
			`{"role":"user","content":[{"type":"tool_result","tool_use_id":"a","content":[{"type":"text","text":"x"},{"type":"image","source":{"type":"base64"}}]}]}`),
		"four marks": body(`"system":[{"type":"text","text":"a",`+mark+`},{"type":"text","text":"b",`+mark+`}],"tools":[{"name":"t","input_schema":{"type":"object"},`+mark+`}],`,
			`{"role":"user","content":[{"type":"text","text":"a",`+mark+`}]}`),
		"thinking": body(`"thinking":{"type":"enabled","budget_tokens":4095},`, user,
			says(`{"type":"thinking","thinking":"Hm.","signature":"`+script.Sign("Hm.")+`"},{"type":"redacted_thinking","data":"c2VjcmV0"},{"type":"text","text":"a "}`), user),
		"a tool of the provider":  body(`"tools":[{"type":"web_search_20250305","name":"web_search","max_uses":3}],"tool_choice":{"type":"auto"},`),
		"a search":                body("", user, says(search+","+found+`,{"type":"text","text":"a"}`), user),
		"a search that continues": body("", user, says(search)),
		"thinking after a query":  body(`"thinking":{"type":"enabled","budget_tokens":1024},`, user, use, `{"role":"user","content":[{"type":"tool_result","tool_use_id":"a"},{"type":"tool_result","tool_use_id":"b"},{"type":"text","text":"so"}]}`),
		"adaptive thinking":       body(`"thinking":{"type":"adaptive","display":"summarized"},"output_config":{"effort":"low"},`, user, use, results("a", "b")),
		"a prefill":               body("", user, says(`{"type":"text","text":"{"}`)),
	} {
		if a := post(t, url, body); a.status != 200 {
			t.Errorf("%s: %s", name, a.body)
		}
	}
	resp, err := ask(t.Context(), url, body(`"container":{},`), func(r *http.Request) { r.Header.Set("Anthropic-Beta", "skills-2025-10-02") })
	if err != nil || resp.StatusCode != http.StatusOK {
		t.Error("beta:", resp, err)
	}
	resp.Body.Close()
}
