package converse_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/perstack-go/perstack/internal/testkit/llm"
	"github.com/perstack-go/perstack/internal/testkit/llm/script"
)

const thought = "[[turn]]\nturn = 9\nreasoning = \"Hm.\"\nredacted = \"c2VjcmV0\"\n[[turn]]\ntext = \"fine\"\n[[turn]]\ntext = \"fine\"\n[[turn]]\ntext = \"fine\""

func body(members string, messages ...string) string {
	if len(messages) == 0 {
		messages = []string{user(`{"text":"Hi"}`)}
	}
	return `{` + members + `"messages":[` + strings.Join(messages, ",") + `]}`
}

func user(blocks ...string) string {
	return `{"role":"user","content":[` + strings.Join(blocks, ",") + `]}`
}

func says(blocks ...string) string {
	return `{"role":"assistant","content":[` + strings.Join(blocks, ",") + `]}`
}

func use(id string) string { return `{"toolUse":{"toolUseId":"` + id + `","name":"t","input":{}}}` }

func result(id, rest string, content ...string) string {
	return `{"toolResult":{"toolUseId":"` + id + `","content":[` + strings.Join(content, ",") + `]` + rest + `}}`
}

func document(name string) string {
	return `{"document":{"format":"txt","name":"` + name + `","source":{"bytes":"YQ=="}}}`
}

func many(n int, s string) []string {
	return strings.Split(strings.TrimSuffix(strings.Repeat(s+"\n", n), "\n"), "\n")
}

func thinking(limit string, rest string) string {
	return `"inferenceConfig":{` + limit + `},"additionalModelRequestFields":{"thinking":{` + rest + `}},`
}

const (
	text   = `{"text":"a"}`
	point  = `{"cachePoint":{"type":"default"}}`
	image  = `{"image":{"format":"png","source":{"bytes":"YQ=="}}}`
	tool   = `"toolConfig":{"tools":[{"toolSpec":{"name":"t","inputSchema":{"json":{"type":"object"}}}}]},`
	spec   = `{"toolSpec":{"name":"t","inputSchema":{"json":{"type":"object"}}}}`
	signed = `{"reasoningContent":{"reasoningText":{"text":"Hm.","signature":"SIGN"}}}`
	secret = `{"reasoningContent":{"redactedContent":"c2VjcmV0"}}`
	nova   = "amazon.nova-pro-v1:0"
	llama  = "meta.llama3-3-70b-instruct-v1:0"
)

func TestRefusedBodies(t *testing.T) {
	_, root := start(t, thought)
	sign := strings.NewReplacer("SIGN", script.Sign("Hm."))
	for _, tt := range []struct{ name, model, body, want string }{
		{"no JSON", claude, `{"messages":`, "Malformed input request"},
		{"a name twice", claude, `{"messages":[],"messages":[]}`, "Malformed input request"},
		{"an unknown member", claude, body(`"reasoning":{},`), "extraneous key at /reasoning is not permitted"},
		{"an unknown member of a block", claude, body("", user(`{"text":"a","type":"text"}`)), "extraneous key at /messages/0/content/0/type"},
		{"a small limit", claude, body(`"inferenceConfig":{"maxTokens":0},`), "inferenceConfig.maxTokens"},
		{"too hot", claude, body(`"inferenceConfig":{"temperature":2},`), "inferenceConfig.temperature"},
		{"no pointer", claude, body(`"additionalModelResponseFieldPaths":["x"],`), "JSON Pointer"},
		{"half a guardrail", claude, body(`"guardrailConfig":{"guardrailIdentifier":"x"},`), "guardrail version"},
		{"a strange trace", claude, body(`"guardrailConfig":{"guardrailIdentifier":"x","guardrailVersion":"1","trace":"maybe"},`), "guardrailConfig.trace"},

		{"thinking of others", llama, body(thinking(`"maxTokens":2000`, `"type":"enabled","budget_tokens":1024`)), "Extra inputs"},
		{"thinking of old ones", "anthropic.claude-3-haiku-20240307-v1:0", body(thinking(`"maxTokens":2000`, `"type":"enabled","budget_tokens":1024`)), "Extra inputs"},
		{"a small budget", claude, body(thinking(`"maxTokens":2000`, `"type":"enabled","budget_tokens":1023`)), "greater than or equal to 1024"},
		{"a large budget", claude, body(thinking(`"maxTokens":1024`, `"type":"enabled","budget_tokens":1024`)), "must be greater than"},
		{"a budget without a limit", claude, body(thinking(``, `"type":"enabled","budget_tokens":1024`)), "must be greater than"},
		{"thinking when cold", claude, body(thinking(`"maxTokens":2000,"temperature":0.5`, `"type":"enabled","budget_tokens":1024`)), "only be set to 1"},
		{"an unknown way", claude, body(thinking(`"maxTokens":2000`, `"type":"hard"`)), "Input tag 'hard'"},
		{"thinking on", claude, body(tool+thinking(`"maxTokens":2000`, `"type":"enabled","budget_tokens":1024`), user(text), says(use("a")), user(result("a", "", text))), "must start with a thinking block"},

		{"no tools", claude, body(`"toolConfig":{"tools":[]},`), "toolConfig.tools"},
		{"a tool twice", claude, body(`"toolConfig":{"tools":[` + spec + `,` + spec + `]},`), "already defined"},
		{"a bad name", claude, body(`"toolConfig":{"tools":[` + strings.Replace(spec, `"t"`, `"a.b"`, 1) + `]},`), "toolSpec.name"},
		{"an empty description", claude, body(`"toolConfig":{"tools":[` + strings.Replace(spec, `"t"`, `"t","description":""`, 1) + `]},`), "toolSpec.description"},
		{"a bad schema", claude, body(`"toolConfig":{"tools":[` + strings.Replace(spec, `"object"`, `"string"`, 1) + `]},`), "one of the following: object"},
		{"two choices", claude, body(`"toolConfig":{"tools":[` + spec + `],"toolChoice":{"auto":{},"any":{}}},`), "toolChoice"},
		{"no such choice", claude, body(`"toolConfig":{"tools":[` + spec + `],"toolChoice":{"none":{}}},`), "toolChoice"},
		{"a point of Nova's tools", nova, body(`"toolConfig":{"tools":[` + spec + `,` + point + `]},`), "not supported by this model"},
		{"a point of nothing", claude, body(`"system":[` + point + `],`), "nothing available to cache"},
		{"a blank system prompt", claude, body(`"system":[{"text":" "}],`), "system.0 is blank"},

		{"no messages", claude, `{"messages":[]}`, "at least one message"},
		{"an unknown role", claude, body("", `{"role":"system","content":[`+text+`]}`), "member.role"},
		{"the assistant first", claude, body("", says(text)), "start with a user message"},
		{"the user twice", claude, body("", user(text), user(text)), "must alternate"},
		{"no content", claude, body("", user()), "is empty"},
		{"a block of nothing", claude, body("", user(`{}`)), "must set one of"},
		{"a block of two", claude, body("", user(`{"text":"a","cachePoint":{"type":"default"}}`)), "must set one of"},
		{"a blank text", claude, body("", user(`{"text":" \n"}`)), "messages.0.content.0 is blank"},
		{"last words and space", claude, body("", user(text), says(`{"text":"a "}`)), "trailing whitespace"},
		{"an image of the assistant", claude, body("", user(text), says(image)), "Only user messages"},
		{"an unknown image", claude, body("", user(strings.Replace(image, "png", "bmp", 1))), "image.format"},
		{"an empty image", claude, body("", user(strings.Replace(image, "YQ==", "", 1))), "is empty, or larger"},
		{"an unknown document", claude, body("", user(strings.Replace(document("a"), "txt", "exe", 1), text)), "document.format"},
		{"a bad name of a document", claude, body("", user(document("a.txt"), text)), "can only contain alphanumeric"},
		{"two spaces in a name", claude, body("", user(document("a  b"), text)), "can only contain alphanumeric"},
		{"one name for two", claude, body("", user(document("a"), text), says(text), user(document("a"), text)), "duplicate document names"},
		{"a document without words", claude, body("", user(document("a"))), "no text"},
		{"too many images", claude, body("", user(many(21, image)...)), "21 + 0 > 20"},
		{"too many images in all", claude, body("", user(many(11, image)...), says(text), user(many(10, image)...)), "21 + 0 > 20"},

		{"a call of the user", claude, body(tool, user(use("a"))), "in a message of the user"},
		{"a bad id", claude, body(tool, user(text), says(use("a.b")), user(result("a.b", "", text))), "regular expression"},
		{"arguments that are none", claude, body(tool, user(text), says(strings.Replace(use("a"), "{}", `"x"`, 1)), user(result("a", "", text))), "Provide a json object"},
		{"a call without a result", claude, body(tool, user(text), says(use("a"), use("b")), user(result("a", "", text))), "for the following Ids: b"},
		{"a call at the end", claude, body(tool, user(text), says(use("a"))), "for the following Ids: a"},
		{"a result without a call", claude, body(tool, user(result("a", "", text))), "exceeds the number"},
		{"a call twice", claude, body(tool, user(text), says(use("a"), use("a")), user(result("a", "", text))), "not unique"},
		{"calls without tools", claude, body("", user(text), says(use("a")), user(result("a", "", text))), "toolConfig field must be defined"},
		{"an unknown status", claude, body(tool, user(text), says(use("a")), user(result("a", `,"status":"bad"`, text))), "not supported"},
		{"a status of others", llama, body(tool, user(text), says(use("a")), user(result("a", `,"status":"error"`, text))), "not supported"},
		{"an image of an error", claude, body(tool, user(text), says(use("a")), user(result("a", `,"status":"error"`, image))), "must be type text"},
		{"an image in a result of others", llama, body(tool, user(text), says(use("a")), user(result("a", "", image))), "doesn't support the image"},
		{"a blank result", claude, body(tool, user(text), says(use("a")), user(result("a", "", `{"text":""}`))), "is blank"},

		{"a thought of the user", claude, body("", user(secret)), "cannot contain reasoning"},
		{"a wrong signature", claude, body("", user(text), says(`{"reasoningContent":{"reasoningText":{"text":"Hm.","signature":"x"}}}`, text), user(text)), "Invalid `signature`"},
		{"another thought", claude, body("", user(text), says(strings.Replace(sign.Replace(signed), "Hm.", "Ha.", 1), text), user(text)), "Invalid `signature`"},
		{"another secret", claude, body("", user(text), says(strings.Replace(secret, "c2", "d2", 1), text), user(text)), "Invalid `data`"},
		{"a thought of others", llama, body("", user(text), says(sign.Replace(signed), text), user(text)), "doesn't support the reasoningContent"},
		{"a point after a thought", claude, body("", user(text), says(sign.Replace(signed), point, text), user(text)), "after reasoning block"},
		{"a point after a document", claude, body("", user(text, document("a"), point)), "Field required"},
		{"a point first", claude, body("", user(point, text)), "nothing available to cache"},
		{"a strange point", claude, body("", user(text, strings.Replace(point, "default", "x", 1))), "cachePoint.type"},
		{"five points", claude, body("", user(text, point, text, point, text, point, text, point, text, point)), "maximum number"},
		{"a point of others", llama, body("", user(text, point)), "did not allow prompt caching"},
	} {
		a := post(t, root, tt.model, tt.body, nil)
		if a.err != nil || a.status != 400 || !strings.Contains(a.body, tt.want) || !strings.HasPrefix(a.header.Get("X-Amzn-Errortype"), "ValidationException") {
			t.Errorf("%s: %d %s %v", tt.name, a.status, a.body, a.err)
		}
	}
}

func TestAcceptedBodies(t *testing.T) {
	_, root := start(t, thought)
	sign := strings.NewReplacer("SIGN", script.Sign("Hm."))
	for _, tt := range []struct{ model, body string }{
		{claude, hello},
		{"arn:aws:bedrock:us-east-1:1:inference-profile/us." + claude, hello},
		{claude, body(tool+thinking(`"maxTokens":2000`, `"type":"enabled","budget_tokens":1024`), user(text), says(sign.Replace(signed), secret, text, use("a")), user(result("a", `,"status":"error"`, text), point))},
		{claude, body(tool+thinking(``, `"type":"adaptive"`), user(text), says(use("a")), user(result("a", "", image, document("b")), text))},
		{claude, body(`"system":[{"text":"x"},` + point + `],"toolConfig":{"tools":[` + spec + `,` + point + `],"toolChoice":{"auto":{}}},"requestMetadata":{"a":"b"},`)},
		{nova, body(`"additionalModelRequestFields":{"reasoningConfig":{"type":"enabled"}},`, user(text, point))},
		{llama, body(tool, user(text), says(use("a")), user(result("a", "", text), image))},
	} {
		if a := post(t, root, tt.model, tt.body, nil); a.err != nil || a.status != 200 {
			t.Errorf("%s: %d %s %v", tt.body, a.status, a.body, a.err)
		}
	}
}

// Who cannot prove who it is gets nothing.
func TestKeys(t *testing.T) {
	server, root := start(t, "[[turn]]\ntext = \"fine\"")
	for name, tt := range map[string]struct {
		edit func(*http.Request)
		want string // "" if it is right
	}{
		"signed":         {func(*http.Request) {}, ""},
		"a bearer":       {func(r *http.Request) { r.Header.Set("Authorization", "Bearer "+llm.Key) }, ""},
		"a wrong bearer": {func(r *http.Request) { r.Header.Set("Authorization", "Bearer x") }, "API Key is valid"},
		"nothing":        {func(r *http.Request) { r.Header.Del("Authorization") }, "Missing Authentication Token"},
		"two":            {func(r *http.Request) { r.Header.Add("Authorization", "Bearer x") }, "ambiguous"},
		"something else": {func(r *http.Request) { r.Header.Set("Authorization", "Basic x") }, "unknown kind"},
		"half of it": {func(r *http.Request) {
			r.Header.Set("Authorization", "AWS4-HMAC-SHA256 Credential=a/b/c/d/aws4_request")
		}, "requires"},
		"a header later":    {func(r *http.Request) { r.Header.Set("X-Amz-Meta", "x") }, "must be a 'SignedHeader'"},
		"a changed header":  {func(r *http.Request) { r.Header.Set("Content-Type", "application/json; x=y") }, "does not match"},
		"another signature": {func(r *http.Request) { r.Header.Set("Authorization", r.Header.Get("Authorization")+"0") }, "does not match"},
		"no date":           {func(r *http.Request) { r.Header.Del("X-Amz-Date") }, "X-Amz-Date"},
		"an old date":       {func(r *http.Request) { r.Header.Set("X-Amz-Date", "20200101T000000Z") }, "Signature expired"},
	} {
		a := post(t, root, claude, hello, tt.edit)
		requests := server.Requests()
		last := requests[len(requests)-1]
		if tt.want == "" && (a.status != 200 || !last.KeyRight) || tt.want != "" && (a.status != 403 || !strings.Contains(a.body, tt.want) || last.KeyRight) {
			t.Errorf("%s: %d %s", name, a.status, a.body)
		}
		if last.Header.Get("Authorization") != "" || last.KeySent != (name != "nothing") {
			t.Errorf("%s: %v, that a key was sent is %v", name, last.Header, last.KeySent)
		}
	}
	if a := post(t, root, claude, hello, func(r *http.Request) { r.Method = http.MethodPut }); a.status != 405 {
		t.Errorf("%+v", a)
	}
}

// What is not at the path of the API is not for it.
func TestPaths(t *testing.T) {
	_, root := start(t, "[[turn]]\ntext = \"fine\"")
	for _, path := range []string{"/model/x/converse", "/model//converse-stream", "/model/a/b/converse-stream", "/x/model/a/converse-stream"} {
		a := post(t, root, claude, hello, func(r *http.Request) { r.URL.Path, r.URL.RawPath = path, "" })
		if a.status != 404 {
			t.Errorf("%s: %d %s", path, a.status, a.body)
		}
	}
}
