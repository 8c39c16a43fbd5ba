package chat_test

import (
	"net/http"
	"strings"
	"testing"
)

const fine = "[[turn]]\ntext = \"fine\"\n[[turn]]\ntext = \"fine\"\n"

// Both services take these.
func TestAcceptedBodies(t *testing.T) {
	_, root := start(t, fine)
	const png = "data:image/png;base64,iVBORw0KGgoAAAAN"
	for _, tt := range []struct {
		name string
		call caller
		body string
	}{
		{"a text", azure(), body("")},
		{"a text", deepSeek(), body("")},
		{"a deployment", azure().at("/openai/deployments/my%2Fdep/chat/completions?api-version=2024-10-21"), body("")},
		{"a preview", azure().at("/openai/deployments/d/chat/completions?api-version=2025-04-01-preview"), body("")},
		{"calls and results", azure(), body(`"tools":[`+tool+`],"tool_choice":"none",`, user, use, result("b"), result("a"), user)},
		{"calls and results", deepSeek(), body(`"tools":[`+tool+`],"tool_choice":"auto",`, user, use, result("a"), result("b"))},
		{"a developer", azure(), body(`"reasoning_effort":"low","max_completion_tokens":5,`, `{"role":"developer","content":"Be brief."}`, user)},
		{"a system prompt", deepSeek(), body(`"thinking":{"type":"enabled"},"max_tokens":5,`, `{"role":"system","content":"Be brief."}`, user)},
		{"media", azure(), body("", asks(`{"type":"text","text":"a"},{"type":"image_url","image_url":{"url":"`+png+`"}},{"type":"image_url","image_url":{"url":"https://example.com"}},`+
			`{"type":"file","file":{"filename":"a.pdf","file_data":"data:application/pdf;base64,JVBERi0xLjcK"}}`))},
		{"an image for eyes", deepSeek(), strings.Replace(body("", asks(`{"type":"image_url","image_url":{"url":"`+png+`"}}`)), `"m"`, `"deepseek-flash"`, 1)},
		{"a thought with calls", deepSeek(), body(`"thinking":{"type":"enabled"},`, user, says(`"content":null,"reasoning_content":"Hm.","tool_calls":[`+callA+`]`), result("a"))},
		{"no thought when none is asked for", deepSeek(), body(`"thinking":{"type":"disabled"},`, user, says(`"content":null,"tool_calls":[`+callA+`]`), result("a"))},
		{"a member for thoughts", deepSeek(), strings.Replace(body("", user, says(`"content":"","reasoning_content":"","tool_calls":[`+callA+`]`), result("a")), `"m"`, `"deepseek-reasoner"`, 1)},
	} {
		if a := tt.call.post(t, root, tt.body); a.status != http.StatusOK || !strings.Contains(a.body, "fine") {
			t.Errorf("%s, %s: %d %s", tt.name, tt.call.path, a.status, a.body)
		}
	}
}

func TestRefusedHeads(t *testing.T) {
	_, root := start(t, fine)
	get := azure()
	get.method = http.MethodGet
	for _, tt := range []struct {
		name   string
		call   caller
		status int
		want   string
	}{
		{"no key", azure().with("Api-Key", ""), 401, `{"error":{"code":"401","message":"Access denied`},
		{"a wrong key", azure().with("Api-Key", "x"), 401, "Access denied"},
		{"a key as that of OpenAI", azure().with("Api-Key", "").with("Authorization", "Bearer sk-ant-test"), 401, "Access denied"},
		{"no key", deepSeek().with("Authorization", ""), 401, "no such user"},
		{"a wrong key", deepSeek().with("Authorization", "Bearer x"), 401, "api key is invalid"},
		{"a key as that of Azure", deepSeek().with("Authorization", "").with("Api-Key", "sk-ant-test"), 401, "no such user"},
		{"no version", azure().at("/openai/v1/chat/completions"), 404, "api-version"},
		{"an odd version", azure().at("/openai/v1/chat/completions?api-version=1"), 404, "api-version"},
		{"two versions", azure().at("/openai/v1/chat/completions?api-version=v1&api-version=v1"), 404, "api-version"},
		{"a key in the address", azure().at("/openai/v1/chat/completions?api-version=v1&api-key=x"), 404, "api-version"},
		{"no deployment", azure().at("/openai/deployments//chat/completions?api-version=v1"), 404, "Resource not found"},
		{"two deployments", azure().at("/openai/deployments/a/b/chat/completions?api-version=v1"), 404, "Resource not found"},
		{"another address", azure().at("/openai/chat/completions?api-version=v1"), 404, "Resource not found"},
		{"a query", deepSeek().at("/deepseek/chat/completions?api-version=v1"), 400, "has a query"},
		{"no type", azure().with("Content-Type", "text/plain"), 415, "content-type"},
		{"another method", get, 405, "Method Not Allowed"},
	} {
		if a := tt.call.post(t, root, body("")); a.status != tt.status || !strings.Contains(a.body, tt.want) {
			t.Errorf("%s, %s: %d %s", tt.name, tt.call.path, a.status, a.body)
		}
	}
}

func TestRefusedBodies(t *testing.T) {
	_, root := start(t, fine)
	plain := func(body string) string { return strings.Replace(body, `"m"`, `"gpt-4o"`, 1) }
	reasoner := func(body string) string { return strings.Replace(body, `"m"`, `"deepseek-reasoner"`, 1) }
	described := strings.Replace(tool, `"parameters"`, `"description":"`+strings.Repeat("x", 1025)+`","parameters"`, 1)
	both := []caller{azure(), deepSeek()}
	for _, tt := range []struct {
		name  string
		calls []caller
		body  string
		want  string
	}{
		{"no JSON", both, `{"model":`, "could not parse"},
		{"a name twice", both, `{"model":"a","model":"b"}`, "could not parse"},
		{"an unknown member", both, body(`"extra":1,`), "Unrecognized request argument supplied: extra"},
		{"a member of DeepSeek", both[:1], body(`"thinking":{"type":"enabled"},`), "Unrecognized request argument supplied: thinking"},
		{"a member of OpenAI", both[1:], body(`"max_completion_tokens":5,`), "Unrecognized request argument supplied: max_completion_tokens"},
		{"a wrong type", both[:1], body(`"temperature":"hot",`), "Invalid type"},
		{"a wrong type", both[1:], body(`"temperature":"hot",`), "Failed to deserialize"},
		{"no model", both, strings.Replace(body(""), `"m"`, `""`, 1), "must provide a model"},
		{"no stream", both, strings.Replace(body(""), `"stream":true`, `"stream":false`, 1), "only streams"},
		{"no count", both, strings.Replace(body(""), `"include_usage":true`, "", 1), "include_usage"},
		{"zero tokens", both, body(`"max_tokens":0,`), "below minimum"},
		{"two limits", both[:1], plain(body(`"max_tokens":1,"max_completion_tokens":1,`)), "at the same time"},
		{"the limit of older models", both[:1], body(`"max_tokens":1,`), "Use 'max_completion_tokens' instead"},
		{"too hot", both, plain(body(`"temperature":3,`)), "above maximum"},
		{"cold thinking", both[:1], body(`"temperature":0,`), "Only the default (1)"},
		{"an effort of a model that does not think", both[:1], plain(body(`"reasoning_effort":"low",`)), "Unrecognized request argument supplied: reasoning_effort"},
		{"an unknown effort", both, body(`"reasoning_effort":"much",`), "Invalid value: 'much'"},
		{"an unknown kind of thinking", both[1:], body(`"thinking":{"type":"adaptive"},`), "unknown variant `adaptive`"},

		{"no tools", both, body(`"tools":[],`), "empty array"},
		{"an odd tool", both, body(`"tools":[{"type":"web_search"}],`), "Invalid value: 'web_search'"},
		{"a bad name", both, body(`"tools":[` + strings.Replace(tool, `"t"`, `"a.b"`, 1) + `],`), "does not match pattern"},
		{"a long name", both, body(`"tools":[` + strings.Replace(tool, `"t"`, `"`+strings.Repeat("x", 65)+`"`, 1) + `],`), "does not match pattern"},
		{"a bad schema", both, body(`"tools":[` + strings.Replace(tool, `"object"`, `"string"`, 1) + `],`), "schema must be a JSON Schema"},
		{"a long description", both[:1], body(`"tools":[` + described + `],`), "string too long"},
		{"strict", both[1:], body(`"tools":[` + strings.Replace(tool, `"name"`, `"strict":false,"name"`, 1) + `],`), "'strict'"},
		{"too many tools", both, body(`"tools":[` + strings.Repeat(tool+",", 128) + tool + `],`), "array too long"},
		{"a choice of nothing", both, body(`"tool_choice":"auto",`), "only allowed when 'tools'"},
		{"an unknown choice", both, body(`"tools":[` + tool + `],"tool_choice":"maybe",`), `Invalid value`},

		{"no message", both, body("", ""), "empty array"},
		{"an unknown role", both, body("", `{"role":"robot","content":"a"}`), "unknown variant `robot`"},
		{"a developer", both[1:], body("", `{"role":"developer","content":"a"}`), "unknown variant `developer`"},
		{"an unknown member", both, body("", `{"role":"user","content":"a","x":1}`), "('x' was unexpected)"},
		{"a thought at Azure", both[:1], body("", user, says(`"content":"a","reasoning_content":"Hm."`)), "('reasoning_content' was unexpected)"},
		{"nothing said", both, body("", `{"role":"user"}`), "expected a string, got null"},
		{"an answer of nothing", both, body("", user, says(`"content":null`)), "expected a string, got null"},
		{"a number", both, body("", `{"role":"user","content":1}`), "expected a string or a list"},
		{"an empty list", both, body("", `{"role":"user","content":[]}`), "empty array"},
		{"an image for DeepSeek", both[1:], body("", asks(`{"type":"image_url","image_url":{"url":"https://example.com"}}`)), "unknown variant `image_url`"},
		{"an image of the assistant", both, body("", user, says(`"content":[{"type":"image_url","image_url":{"url":"https://example.com"}}]`)), "unknown variant `image_url`"},
		{"an image of a tool", both, body("", user, says(`"tool_calls":[`+callA+`]`), `{"role":"tool","tool_call_id":"a","content":[{"type":"image_url","image_url":{"url":"https://example.com"}}]}`), "unknown variant `image_url`"},
		{"an unknown image", both[:1], body("", asks(`{"type":"image_url","image_url":{"url":"data:image/bmp;base64,AAAA"}}`)), "unsupported image"},
		{"an image of no base64", both[:1], body("", asks(`{"type":"image_url","image_url":{"url":"data:image/png;base64,?"}}`)), "unsupported image"},
		{"a file of the machine", both[:1], body("", asks(`{"type":"image_url","image_url":{"url":"file:///etc/passwd"}}`)), "unsupported image"},
		{"a file without a name", both[:1], body("", asks(`{"type":"file","file":{"file_data":"data:application/pdf;base64,AAAA"}}`)), "Invalid file data"},
		{"an unknown part", both[:1], body("", asks(`{"type":"song"}`)), "Invalid value: 'song'"},
		{"an unknown member of a part", both, body("", asks(`{"type":"text","text":"a","x":1}`)), "unknown object member"},

		{"an empty list of calls", both, body("", user, says(`"content":"a","tool_calls":[]`)), "empty array"},
		{"a call without an id", both, body("", user, says(`"content":"","tool_calls":[`+strings.Replace(callA, `"a"`, `""`, 1)+`]`)), "Missing required parameter"},
		{"a long id", both[:1], body("", user, says(`"content":"","tool_calls":[`+strings.Replace(callA, `"a"`, `"`+strings.Repeat("x", 41)+`"`, 1)+`]`)), "string too long"},
		{"a call by a bad name", both, body("", user, says(`"content":"","tool_calls":[`+strings.Replace(callA, `"t"`, `"a b"`, 1)+`]`)), "does not match pattern"},
		{"arguments that are an object", both, body("", user, says(`"content":"","tool_calls":[`+strings.Replace(callA, `"{}"`, `{}`, 1)+`]`)), "expected a string"},
		{"a call of another type", both, body("", user, says(`"content":"","tool_calls":[`+strings.Replace(callA, `"function"`, `"custom"`, 1)+`]`)), "Invalid value: 'custom'"},

		{"a call without a result", both, body("", user, use, result("a")), "did not have response messages: b"},
		{"calls without results", both, body("", user, use, user), "did not have response messages: a, b"},
		{"a user between results", both, body("", user, use, result("a"), user, result("b")), "did not have response messages: b"},
		{"a result of nothing", both, body("", user, result("a")), "must be a response to an earlier message"},
		{"a result too late", both, body("", user, use, result("a"), result("b"), user, result("a")), "must be a response to an earlier message"},
		{"a result of another", both, body("", user, use, result("a"), result("c")), "'tool_call_id' of 'c' not found"},
		{"a result twice", both, body("", user, use, result("a"), result("a")), "'tool_call_id' of 'a' not found"},
		{"a result without an id", both, body("", user, use, `{"role":"tool","content":"ok"}`), "Missing parameter 'tool_call_id'"},
		{"an id twice", both, body("", user, says(`"content":"","tool_calls":[`+callA+`,`+callA+`]`), result("a"), result("a")), "Duplicate value"},

		{"calls without their thoughts", both[1:], body(`"thinking":{"type":"enabled"},`, user, use, result("a"), result("b")), "Missing `reasoning_content`"},
		{"calls with empty thoughts", both[1:], body(`"thinking":{"type":"enabled"},`, user, says(`"content":"","reasoning_content":"","tool_calls":[`+callA+`]`), result("a")), "must be passed back"},
		{"calls without the member", both[1:], reasoner(body("", user, use, result("a"), result("b"))), "at message index 1"},
		{"the user twice", both[1:], reasoner(body("", user, user)), "successive user"},
	} {
		for _, call := range tt.calls {
			a := call.post(t, root, tt.body)
			if a.status != 400 && a.status != 422 || !strings.HasPrefix(a.body, `{"error":{"message":"`) || !strings.Contains(a.body, tt.want) {
				t.Errorf("%s, %s: %d %s\nwant %s", tt.name, call.path, a.status, a.body, tt.want)
			}
		}
	}
}

// A script sees what Experts were told and asked, whatever messages it came in.
func TestAsked(t *testing.T) {
	for _, call := range []caller{azure(), deepSeek()} {
		server, root := start(t, fine)
		call.post(t, root, body(`"max_tokens":7,`, `{"role":"system","content":"Be brief."}`, user, asks(`{"type":"text","text":"More."}`), use, result("a"), result("b"), `{"role":"user","content":"Well?"}`))
		got := server.Requests()[0].Asked
		if got.System != "Be brief." || got.Query != "Hi\nMore." || got.Last != "ok\nok\nWell?" || got.Turn != 2 || got.MaxTokens != 7 || got.Model != "m" {
			t.Errorf("%s: %+v", call.path, got)
		}
	}
}
