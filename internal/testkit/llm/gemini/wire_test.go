package gemini_test

import (
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/perstack-go/perstack/internal/testkit/llm"
	"github.com/perstack-go/perstack/internal/testkit/llm/gemini"
)

const (
	path       = "/v1beta/models/gemini-2.5-flash:streamGenerateContent"
	vertexPath = "/v1beta1/projects/p/locations/l/publishers/google/models/gemini-2.5-flash:streamGenerateContent"
	user       = `{"role":"user","parts":[{"text":"Hi"}]}`
	hello      = `{"contents":[` + user + `]}`
)

func start(t *testing.T, script string) string {
	t.Helper()
	s, err := llm.Parse(t.Name(), []byte(script))
	if err != nil {
		t.Fatal(err)
	}
	server, _ := llm.Start(t, s)
	return server.Root()
}

func post(t *testing.T, address, body string, header http.Header) (status int, text string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, address, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header = http.Header{"Content-Type": {"application/json"}}
	for name, values := range header {
		r.Header[name] = values
	}
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	data, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, string(data)
}

var (
	withKey   = http.Header{"X-Goog-Api-Key": {llm.Key}}
	withToken = http.Header{"Authorization": {"Bearer ya29." + llm.Key}}
)

func TestAnswer(t *testing.T) {
	root := start(t, "[[turn]]\nreasoning = \"Hm.\"\ntext = \"Yes.\"\nusage = { input = 7, output = 50, cached = 100, reasoning = 20 }\n[[turn.call]]\nid = \"c1\"\ntool = \"read\"\nargs = { path = \"a\" }\n[[turn.call]]\ntool = \"think\"\n")
	status, text := post(t, root+path+"?alt=sse", hello, withKey)
	if status != http.StatusOK || strings.Count(text, "data: ") != 5 {
		t.Errorf("%d %s", status, text)
	}
	for _, part := range []string{
		`{"text":"Hm.","thought":true}`, `{"text":"Yes."}`, `{"functionCall":{"name":"read","args":{"path":"a"}},"thoughtSignature":"`, `{"functionCall":{"name":"think"}}`,
		`"finishReason":"STOP"`, `"promptTokenCount":107,"cachedContentTokenCount":100,"candidatesTokenCount":30,"thoughtsTokenCount":20,"totalTokenCount":157`,
	} {
		if strings.Count(text, part) != 1 {
			t.Errorf("%s is not once in %s", part, text)
		}
	}
	// Only models from Gemini 3 on have ids.
	if _, text = post(t, root+strings.Replace(path, "2.5", "3", 1)+"?alt=sse", hello, withKey); !strings.Contains(text, `"functionCall":{"id":"c1","name":"read"`) {
		t.Error(text)
	}
}

func TestRefusedHeads(t *testing.T) {
	root := start(t, "[[turn]]\ntext = \"Yes.\"\n")
	for _, tt := range []struct {
		address string
		header  http.Header
		status  int
		words   string
	}{
		{path + "?alt=sse", nil, 403, "unregistered callers"},
		{path + "?alt=sse", http.Header{"X-Goog-Api-Key": {"wrong"}}, 400, "API_KEY_INVALID"},
		{path + "?alt=sse&key=" + llm.Key, withKey, 400, "the key is in the address"},
		{path, withKey, 400, "alt=sse"},
		{path + "?alt=sse", http.Header{"X-Goog-Api-Key": {llm.Key}, "Content-Type": {"text/plain"}}, 400, "content type"},
		{strings.Replace(path, "gemini-2.5-flash", "missing-1", 1) + "?alt=sse", withKey, 404, "NOT_FOUND"},
		{vertexPath + "?alt=sse", nil, 401, "UNAUTHENTICATED"},
		{vertexPath + "?alt=sse", withKey, 401, "UNAUTHENTICATED"},
		{vertexPath + "?alt=sse", http.Header{"Authorization": {"Bearer " + llm.Key}}, 401, "UNAUTHENTICATED"},
		{vertexPath + "?alt=sse", withToken, 200, "Yes."},
	} {
		if status, text := post(t, root+tt.address, hello, tt.header); status != tt.status || !strings.Contains(text, tt.words) {
			t.Errorf("%s %v: %d %s; want %d with %q", tt.address, tt.header, status, text, tt.status, tt.words)
		}
	}
}

func TestRefusedBodies(t *testing.T) {
	root := start(t, "[[turn]]\nturn = 9\nreasoning = \"Hm.\"\nhosted = ['''{\"executableCode\":{\"code\":\"1\"}}''']\n"+strings.Repeat("[[turn]]\ntext = \"fine\"\n", 4))
	contents := func(all ...string) string { return `{"contents":[` + strings.Join(all, ",") + `]}` }
	model := func(parts string) string { return `{"role":"model","parts":[` + parts + `]}` }
	says := func(parts string) string { return `{"role":"user","parts":[` + parts + `]}` }
	tools := func(declarations, rest string) string {
		return `{"contents":[` + user + `],"tools":[{"functionDeclarations":[` + declarations + `]}` + rest + `}`
	}
	parameters := func(properties string) string {
		return tools(`{"name":"f","parameters":{"type":"object","properties":{"a":`+properties+`}}}`, `]`)
	}
	thinks := func(config string) string {
		return `{"contents":[` + user + `],"generationConfig":{"thinkingConfig":{` + config + `}}}`
	}
	const call, result = `{"functionCall":{"name":"read","args":{}}}`, `{"functionResponse":{"name":"read","response":{"output":"x"}}}`
	for _, tt := range []struct{ name, model, body, want string }{
		{"no JSON", "", `{"contents":`, "Invalid JSON payload"},
		{"a name twice", "", `{"contents":[],"contents":[]}`, "Invalid JSON payload"},
		{"an unknown member", "", `{"contents":[` + user + `],"extra":1}`, "extra"},
		{"an unknown member of a part", "", contents(says(`{"text":"x","type":"text"}`)), "type"},
		{"nothing", "", `{}`, "contents is not specified"},
		{"a strange role", "", contents(`{"role":"assistant","parts":[{"text":"x"}]}`), "valid role"},
		{"no parts", "", contents(`{"role":"user","parts":[]}`), "must not be empty"},
		{"an empty part", "", contents(says(`{}`)), "oneof field 'data'"},
		{"two in one", "", contents(says(`{"text":"x","inlineData":{"mimeType":"image/png","data":"eA=="}}`)), "oneof field 'data'"},
		{"an empty text", "", contents(says(`{"text":""}`)), "text parameter"},
		{"the model at the end", "", contents(user, model(`{"text":"x"}`)), "end with a user role"},
		{"a call of the user", "", contents(says(call)), "function call turns"},
		{"a result of the model", "", contents(user, model(result), user), "function response turns"},
		{"a bad name", "", contents(user, model(`{"functionCall":{"name":"a b"}}`), user), "Invalid function name"},
		{"a result without a call", "", contents(user, model(`{"text":"x"}`), says(result)), "immediately after a function call turn"},
		{"a call without a result", "", contents(user, model(call), user), "equal to the number of function call parts"},
		{"two calls, one result", "", contents(user, model(call+","+call), says(result)), "equal to the number of function call parts"},
		{"a call at the start", "", contents(model(call), says(result)), "immediately after a user turn"},
		{"the result of another", "", contents(user, model(call), says(strings.Replace(result, "read", "write", 1))), "but the call was of"},
		{"a strange type", "", contents(says(`{"inlineData":{"mimeType":"image/gif","data":"eA=="}}`)), "Unsupported MIME type"},
		{"no base64", "", contents(says(`{"inlineData":{"mimeType":"image/png","data":"?"}}`)), "Invalid JSON payload"},
		{"an address", "", contents(says(`{"fileData":{"mimeType":"image/png","fileUri":"https://example.com/a.png"}}`)), "unsupported file uri"},
		{"a strange signature", "", contents(user, model(`{"functionCall":{"name":"read"},"thoughtSignature":"eA=="}`), says(result)), "Corrupted thought signature"},
		{"no signature", "gemini-3-pro-preview", contents(user, model(call), says(result)), "missing a thought_signature"},
		{"code that was not run", "", contents(user, model(`{"executableCode":{"code":"2"}}`), user), "did not give"},
		{"an instruction for gemma", "gemma-3-27b-it", `{"contents":[` + user + `],"systemInstruction":{"parts":[{"text":"x"}]}}`, "Developer instruction"},

		{"a tool twice", "", tools(`{"name":"f"},{"name":"f"}`, `]`), "Duplicate function"},
		{"a bad name of a tool", "", tools(`{"name":"a/b"}`, `]`), "Invalid function name"},
		{"both kinds of tools", "", tools(`{"name":"f"}`, `,{"googleSearch":{}}]`), "cannot be combined"},
		{"both kinds without the word", "gemini-3-pro-preview", tools(`{"name":"f"}`, `,{"googleSearch":{}}]`), "include_server_side_tool_invocations"},
		{"a tool of the other service", "", `{"contents":[` + user + `],"tools":[{"enterpriseWebSearch":{}}]}`, "Unknown name"},
		{"a mode without tools", "", `{"contents":[` + user + `],"toolConfig":{"functionCallingConfig":{"mode":"AUTO"}}}`, "without function_declarations"},
		{"a strange mode", "", tools(`{"name":"f"}`, `],"toolConfig":{"functionCallingConfig":{"mode":"auto"}}`), "mode"},
		{"no parameters", "", tools(`{"name":"f","parameters":{"type":"object"}}`, `]`), "non-empty for OBJECT"},
		{"additionalProperties", "", parameters(`{"type":"object","additionalProperties":false}`), "additionalProperties"},
		{"no type", "", parameters(`{"description":"x"}`), "must be specified"},
		{"a list of what", "", parameters(`{"type":"array"}`), "items: missing field"},
		{"numbers in an enum", "", parameters(`{"type":"integer","enum":[1]}`), "Invalid JSON payload"},
		{"an enum of numbers", "", parameters(`{"type":"integer","enum":["1"]}`), "only allowed for STRING"},
		{"an empty value", "", parameters(`{"type":"string","enum":[""]}`), "cannot be empty"},
		{"a strange format", "", parameters(`{"type":"string","format":"uri"}`), "format"},
		{"not there and required", "", parameters(`{"type":"object","properties":{"x":{"type":"string"}},"required":["y"]}`), "property is not defined"},
		{"beside alternatives", "", parameters(`{"description":"x","anyOf":[{"type":"string"}]}`), "must be the only field set"},

		{"a small budget", "gemini-2.5-pro", thinks(`"thinkingBudget":1`), "between 128 and 32768"},
		{"no budget", "gemini-2.5-pro", thinks(`"thinkingBudget":0`), "only works in thinking mode"},
		{"a large budget", "", thinks(`"thinkingBudget":99999`), "is invalid"},
		{"a level", "", thinks(`"thinkingLevel":"LOW"`), "level is not supported"},
		{"both", "gemini-3-pro-preview", thinks(`"thinkingLevel":"LOW","thinkingBudget":1`), "only one of"},
		{"a strange level", "gemini-3-pro-preview", thinks(`"thinkingLevel":"MEDIUM"`), "not supported"},
		{"a model that cannot", "gemini-2.0-flash", thinks(`"thinkingBudget":1024`), "Thinking is not enabled"},
		{"no tokens", "", `{"contents":[` + user + `],"generationConfig":{"maxOutputTokens":0}}`, "maxOutputTokens"},

		{"taken", "", contents(user, model(call+","+call), says(result+","+result+`,{"text":"more"}`)), ""},
		{"taken, of another", "gemini-3-pro-preview", contents(user, model(`{"functionCall":{"name":"read"},"thoughtSignature":"skip_thought_signature_validator"}`), says(result)), ""},
		{"taken, what it ran", "", contents(user, model(`{"executableCode":{"code":"1"}}`), user), ""},
	} {
		address := root + path
		if tt.model != "" {
			address = root + strings.Replace(path, "gemini-2.5-flash", tt.model, 1)
		}
		status, text := post(t, address+"?alt=sse", tt.body, withKey)
		if tt.want == "" && status != http.StatusOK || tt.want != "" && (status != http.StatusBadRequest || !strings.Contains(text, tt.want)) {
			t.Errorf("%s: %d %s; want %q", tt.name, status, text, tt.want)
		}
	}
	for _, body := range []string{
		tools(`{"name":"f"}`, `,{"googleSearch":{}}]`), `{"contents":[` + user + `],"tools":[{"fileSearch":{"fileSearchStoreNames":["a"]}}]}`,
		tools(`{"name":"f"}`, `],"toolConfig":{"includeServerSideToolInvocations":true}`),
		contents(says(`{"fileData":{"fileUri":"https://example.com/a.png"}}`)),
	} {
		if status, text := post(t, root+vertexPath+"?alt=sse", body, withToken); status != http.StatusBadRequest {
			t.Errorf("Vertex AI takes %s: %d %s", body, status, text)
		}
	}
}

// A signature holds on the part on which it was given.
func TestMovedSignatures(t *testing.T) {
	root := start(t, "[[turn]]\nreasoning = \"Hm.\"\n[[turn.call]]\ntool = \"read\"\nargs = { path = \"a\" }\n[[turn]]\ntext = \"fine\"\n")
	_, text := post(t, root+path+"?alt=sse", hello, withKey)
	_, rest, _ := strings.Cut(text, `"thoughtSignature":"`)
	signature, _, _ := strings.Cut(rest, `"`)
	for part, want := range map[string]int{
		`{"functionCall":{"name":"read","args":{"path":"a"}},"thoughtSignature":"` + signature + `"}`:                               200,
		`{"functionCall":{"name":"read","args":{"path":"b"}},"thoughtSignature":"` + signature + `"}`:                               400,
		`{"text":"x","thoughtSignature":"` + signature + `"},{"functionCall":{"name":"read","args":{"path":"a"}}}`:                  400,
		`{"functionCall":{"name":"read","args":{"path":"a"}},"thoughtSignature":"` + strings.ToLower(signature) + `"}`:              400,
		`{"text":"","thoughtSignature":"skip_thought_signature_validator"},{"functionCall":{"name":"read","args":{"path":"a"}}}`:    400,
		`{"functionCall":{"name":"read","args":{"path":"a"}}}`:                                                                      200,
		`{"text":"Hm.","thought":true,"thoughtSignature":"` + signature + `"},{"functionCall":{"name":"read","args":{"path":"a"}}}`: 400,
		`{"functionCall":{"name":"read","args":{"path":"a"}},"thoughtSignature":"` + strings.Repeat("A", len(signature)/4*4) + `"}`: 400,
		`{"functionCall":{"name":"read","args":{"path":"a"}},"thoughtSignature":"context_engineering_is_the_way_to_go"}`:            200,
	} {
		body := `{"contents":[` + user + `,{"role":"model","parts":[` + part + `]},{"role":"user","parts":[{"functionResponse":{"name":"read","response":{}}}]}]}`
		if status, text := post(t, root+path+"?alt=sse", body, withKey); status != want {
			t.Errorf("%s: %d %s, want %d", part, status, text, want)
		}
	}
}

// The token server gives tokens only to a client that proves to be the account. That
// it takes the right ones is what the tests of internal/providers/gemini rely on.
func TestTokenServer(t *testing.T) {
	root := start(t, "[[turn]]\ntext = \"Yes.\"\n")
	form := http.Header{"Content-Type": {"application/x-www-form-urlencoded"}}
	for name, values := range map[string]url.Values{
		"nothing":         {},
		"a strange grant": {"grant_type": {"password"}},
		"no assertion":    {"grant_type": {"urn:ietf:params:oauth:grant-type:jwt-bearer"}},
		"unsigned":        {"grant_type": {"urn:ietf:params:oauth:grant-type:jwt-bearer"}, "assertion": {"eyJhbGciOiJub25lIn0.e30."}},
		"a wrong secret":  {"grant_type": {"refresh_token"}, "client_id": {"client"}, "client_secret": {"x"}, "refresh_token": {"refresh-" + llm.Key}},
	} {
		if status, text := post(t, root+"/token", values.Encode(), form); status != http.StatusBadRequest || !strings.Contains(text, "invalid_grant") || strings.Contains(text, llm.Key) {
			t.Errorf("%s: %d %s", name, status, text)
		}
	}
	right := url.Values{"grant_type": {"refresh_token"}, "client_id": {"client"}, "client_secret": {"secret-" + llm.Key}, "refresh_token": {"refresh-" + llm.Key}}
	if status, text := post(t, root+"/token", right.Encode(), form); status != http.StatusOK || !strings.Contains(text, `"ya29.`+llm.Key+`"`) {
		t.Errorf("%d %s", status, text)
	}
	if file := string(gemini.ServiceAccount(root, llm.Key)); !strings.Contains(file, root+"/token") || strings.Contains(file, llm.Key) {
		t.Error(file)
	}
}
