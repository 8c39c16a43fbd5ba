package responses_test

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/expert"
	"github.com/perstack-go/perstack/internal/providers/responses"
	"github.com/perstack-go/perstack/internal/providers/wire"
	"github.com/perstack-go/perstack/internal/testkit"
	"github.com/perstack-go/perstack/model"
	"github.com/perstack-go/perstack/rawjson"
)

// The first bytes of some files, in base64.
const (
	png  = "iVBORw0KGgoAAAAN"
	pdf  = "JVBERi0xLjcK"
	bmp  = "Qk0AAAAAAAAA"
	note = "bm90ZXM=" // notes
)

var tools = []model.Tool{
	{Name: "read", Description: "Reads a \"file\".", InputSchema: rawjson.Value(`{"type":"object","properties":{"path":{"type":"string"}},"required":["path"]}`)},
	{Name: "think"},
	{Name: "list", InputSchema: rawjson.Value(` { "type" : "object" } `)},
	{Name: "any", InputSchema: rawjson.Value(`{}`)},
	{Name: "files.read/all", Description: "has a name that the API refuses", InputSchema: rawjson.Value(`{"type":"object","properties":{}}`)},
}

const (
	search = `{"type":"web_search_call","id":"ws_1","status":"completed","action":{"type":"search","query":"tea","sources":[{"type":"url","url":"https://example.com"}]}}`
	shell  = `{"type":"local_shell_call","id":"lsh_1","call_id":"x","status":"completed","action":{"type":"exec","command":["ls"],"env":{}}}`
)

var requests = []struct {
	name   string
	change func(*responses.Config)
	req    model.Request
}{
	{name: "text", req: model.Request{Messages: []*event.Message{instruction("Be brief."), user("Hello \"you\"")}}},
	{name: "thoughts", req: model.Request{Reasoning: "low", Tools: tools, Messages: []*event.Message{
		instruction("Be brief."), user("Read a and b."),
		says(own,
			thinks("rs_1", "Two files."), marked(text("I read."), `{"id":"msg_1","phase":"commentary"}`),
			marked(calls("c1", "read", `{"path":"a"}`), `{"id":"fc_1"}`),
			thinks("rs_2", "And now?"), marked(calls("c2", "files.read/all", `{"path":"b"}`), `{"id":"fc_2"}`)),
		results(returned("c1", false, text("A")), returned("c2", true, text("no such file"))),
		says(own, calls("c3", "read", `{"path":"c"}`)),
		results(returned("c3", false, text("C"), text("D"))),
	}}},
	// A thought without what it led to, or the other way round, is refused by the API.
	{name: "torn", req: model.Request{Reasoning: "low", Messages: []*event.Message{
		user("Go."),
		says(own, thinks("rs_1", "It leads to nothing.")),
		user("Go on."),
		// It was not encrypted: what it led to has no id.
		says(own, marked(event.Part{Type: event.ThinkingPart, Thinking: "Hm."}, `{"type":"reasoning","id":"rs_2","summary":[]}`),
			marked(text("So."), `{"id":"msg_2"}`), marked(calls("c1", "read", `{}`), `{"id":"fc_2"}`)),
		results(returned("c1", false)),
		// What the provider would want an answer to is not sent, nor the thought before it.
		says(own, thinks("rs_3", "I look."), ran(shell), marked(text("Found."), `{"id":"msg_3"}`)),
		// Two texts of one message.
		says(own, thinks("rs_4", "Two."), marked(text("One."), `{"id":"msg_4"}`), marked(text("Two."), `{"id":"msg_4","type":"refusal"}`),
			marked(text("Three."), `{"id":"msg_5"}`), text(""), text("Four.")),
		// What a later thought led to has its id again.
		says(own, marked(event.Part{Type: event.ThinkingPart, Thinking: "Hm."}, `{"type":"reasoning","id":"rs_6","summary":[]}`),
			marked(text("So."), `{"id":"msg_6"}`), thinks("rs_7", "Again."), marked(text("Well."), `{"id":"msg_7"}`)),
	}}},
	// Marks of another model are not sent.
	{name: "foreign", req: model.Request{Reasoning: "low", Messages: []*event.Message{
		user("Read."),
		says("openai/gpt-5-mini", thinks("rs_1", "Hm."), ran(search), marked(text("I read."), `{"id":"msg_1"}`),
			marked(calls("functions.read:0", "re ad", `"broken`), `{"id":"fc_1"}`)),
		results(returned("functions.read:0", false)),
		says("", thinks("rs_2", "Hm."), text("Done.")),
	}}},
	{name: "media", req: model.Request{Messages: []*event.Message{
		asks(
			text("Look:"),
			event.Part{Type: event.ImageInlinePart, MIMEType: "image/jpeg", EncodedData: png},
			event.Part{Type: event.ImageBinaryPart, MIMEType: "image/png", Data: png},
			event.Part{Type: event.ImageURLPart, MIMEType: "image/png", URL: "https://example.com/a.png"},
			event.Part{Type: event.ImageURLPart, MIMEType: "image/png", URL: "data:image/png;base64," + png},
			event.Part{Type: event.FileInlinePart, MIMEType: "application/pdf", EncodedData: pdf},
			event.Part{Type: event.FileURLPart, MIMEType: "application/pdf", URL: "https://example.com/a.pdf"},
			event.Part{Type: event.FileInlinePart, MIMEType: "text/markdown; charset=utf-8", EncodedData: note},
			event.Part{Type: event.ImageInlinePart, MIMEType: "image/bmp", EncodedData: bmp},
			event.Part{Type: event.ImageInlinePart, MIMEType: "image/png", EncodedData: "?"},
			event.Part{Type: event.FileURLPart, MIMEType: "application/pdf", URL: "file:///etc/passwd"},
			event.Part{Type: event.FileURLPart, MIMEType: "application/zip", URL: "https://example.com/a.zip"},
		),
		says(own, calls("c1", "read", "{}"), calls("c2", "read", "{}"), calls("c3", "read", "{}"), calls("c4", "read", "{}")),
		results(
			returned("c1", true, text("look"), event.Part{Type: event.ImageInlinePart, MIMEType: "image/png", EncodedData: png},
				event.Part{Type: event.FileInlinePart, MIMEType: "application/pdf", EncodedData: pdf}),
			// A tool without a network must not reach out by what it returns.
			returned("c2", false, event.Part{Type: event.ImageURLPart, MIMEType: "image/png", URL: "https://intranet.example/?secret"}),
			returned("c3", true), returned("c4", true, text("error: already said")),
		),
	}}},
	{
		name: "blind", change: func(c *responses.Config) { c.Known = model.Known{Images: model.Unable, PDF: model.Unable} },
		req: model.Request{Messages: []*event.Message{asks(
			event.Part{Type: event.ImageInlinePart, MIMEType: "image/png", EncodedData: png},
			event.Part{Type: event.FileInlinePart, MIMEType: "application/pdf", EncodedData: pdf},
		)}},
	},
	{name: "empty", req: model.Request{Messages: []*event.Message{instruction(""), asks(text("")), asks(), says(own), says(own, text("")), user("Hello")}}},
	{name: "old_model", change: func(c *responses.Config) { c.Model = "gpt-4.1" }, req: model.Request{Reasoning: "low", Messages: []*event.Message{instruction("Be brief."), user("Hello")}}},
	{name: "limits", change: func(c *responses.Config) { c.MaxTokens = 5000 }, req: model.Request{MaxTokens: 700, Messages: hello().Messages}},
	{name: "text_only", req: model.Request{TextOnly: true, Tools: tools[:1], Messages: hello().Messages}, change: func(c *responses.Config) {
		c.Tools = []string{"webSearch"}
	}},
	{
		name: "hosted_tools",
		change: func(c *responses.Config) {
			c.Tools = []string{"webSearch", "fileSearch", "codeInterpreter", "imageGeneration", "webSearch"}
			c.ToolOptions = &expert.ProviderToolOptions{
				WebSearch:  &expert.WebSearchOptions{MaxUses: 3, AllowedDomains: []string{"example.com"}},
				FileSearch: &expert.FileSearchOptions{VectorStoreIDs: []string{"vs_1"}, MaxNumResults: 4},
			}
			c.Known.Efforts = []string{"minimal", "low", "medium", "high"}
		},
		req: model.Request{Tools: tools[:1], Reasoning: "minimal", Messages: []*event.Message{
			user("Search."), says(own, thinks("rs_1", "I search."), ran(search), marked(text("Tea."), `{"id":"msg_1","phase":"final_answer"}`)), user("More."),
		}},
	},
	{
		name: "search_alone", change: func(c *responses.Config) {
			c.Tools = []string{"webSearch"}
			c.ToolOptions = &expert.ProviderToolOptions{WebSearch: &expert.WebSearchOptions{MaxUses: 3}}
		},
		req: model.Request{Messages: hello().Messages},
	},
	{name: "extra", change: func(c *responses.Config) {
		c.Extra = wire.Extra{"service_tier": rawjson.Value(`"flex"`), "reasoning": rawjson.Value(`{"effort":"high"}`), "metadata": rawjson.Value(`{"a":"b"}`)}
	}, req: model.Request{Reasoning: "low", Messages: hello().Messages}},
}

func TestRequests(t *testing.T) {
	for _, test := range requests {
		t.Run(test.name, func(t *testing.T) {
			body := sent(t, test.change, &test.req)
			v := rawjson.Value(body)
			if err := (*jsontext.Value)(&v).Indent(jsontext.WithIndent("  ")); err != nil {
				t.Fatalf("%v in %s", err, body)
			}
			testkit.Golden(t, test.name+".json", string(v)+"\n")
		})
	}
}

// sent is the body of a request.
func sent(t testing.TB, change func(*responses.Config), req *model.Request) (body []byte) {
	t.Helper()
	m := serve(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ = io.ReadAll(r.Body)
		if r.URL.Path != "/v1/responses" || r.Header.Get("Authorization") != "Bearer "+key || r.Header.Get("Content-Type") != "application/json" {
			t.Errorf("%s %v", r.URL, r.Header)
		}
		streaming(created, done)(w, r)
	}, change)
	if _, _, err := ask(t.Context(), m, req); err != nil {
		t.Fatal(err)
	}
	return body
}

func TestHeaders(t *testing.T) {
	var got http.Header
	m := serve(t, func(w http.ResponseWriter, r *http.Request) {
		got = r.Header
		streaming(created, done)(w, r)
	}, func(c *responses.Config) {
		c.Organization, c.Project = "org-1", "proj-1"
		c.Client.Header = http.Header{"openai-project": {"mine"}, "x-more": {"yes"}}
	})
	if _, _, err := ask(t.Context(), m, hello()); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"OpenAI-Organization": "org-1", "OpenAI-Project": "mine", "X-More": "yes"} {
		if values := got.Values(name); len(values) != 1 || values[0] != want {
			t.Errorf("%s: %q, want %q", name, values, want)
		}
	}
}

// How much a model thinks is said by a word that it knows.
func TestEfforts(t *testing.T) {
	old, five, fiveOne, pro := []string(nil), []string{"minimal", "low", "medium", "high"}, []string{"none", "low", "medium", "high"}, []string{"high"}
	for _, tt := range []struct {
		model   string
		known   model.Known
		budget  expert.ReasoningBudget
		effort  string
		summary string
		sealed  bool // thoughts are asked for
	}{
		{"gpt-5", model.Known{Efforts: old}, "low", "low", "auto", true},
		{"gpt-5", model.Known{Efforts: old}, "minimal", "low", "auto", true},
		{"gpt-5", model.Known{Efforts: five}, "minimal", "minimal", "auto", true},
		{"gpt-5", model.Known{Efforts: five}, "1024", "low", "auto", true},
		{"gpt-5.1", model.Known{Efforts: fiveOne}, "minimal", "low", "auto", true},
		{"o3", model.Known{}, "medium", "medium", "auto", true},
		{"o3", model.Known{}, "high", "high", "auto", true},
		{"o3", model.Known{}, "2048", "low", "auto", true},
		{"o3", model.Known{}, "2049", "medium", "auto", true},
		{"o3", model.Known{}, "5000", "medium", "auto", true},
		{"o3", model.Known{}, "5001", "high", "auto", true},
		{"gpt-5-pro", model.Known{Efforts: pro}, "low", "high", "auto", true},
		{"odd", model.Known{Efforts: []string{"low"}}, "high", "low", "auto", true},
		{"o3", model.Known{}, "", "", "auto", true},
		// What is not said is medium, so no thought is asked for by the least word.
		{"o3", model.Known{}, "none", "low", "", true},
		{"o3", model.Known{}, "0", "low", "", true},
		{"gpt-5-pro", model.Known{Efforts: pro}, "none", "high", "", true},
		{"gpt-4.1", model.Known{}, "none", "", "", false},
		{"o9", model.Known{Reasoning: model.ReasoningNone}, "none", "", "", false},
		{"gpt-5.1", model.Known{Efforts: fiveOne}, "none", "none", "", true},
		{"gpt-5", model.Known{Efforts: five}, "none", "minimal", "", true},
		{"gpt-4.1", model.Known{}, "high", "", "", false},
		{"gpt-4o-mini", model.Known{}, "high", "", "", false},
		{"chatgpt-4o-latest", model.Known{}, "high", "", "", false},
		{"gpt-3.5-turbo", model.Known{}, "high", "", "", false},
		{"gpt-5-chat-latest", model.Known{}, "high", "", "", false},
		{"gpt-4-thinker", model.Known{Reasoning: model.ReasoningEffort}, "high", "high", "auto", true},
		{"o9", model.Known{Reasoning: model.ReasoningNone}, "high", "", "", false},
	} {
		req := hello()
		req.Reasoning = tt.budget
		var body struct {
			Reasoning struct {
				Effort  string `json:"effort"`
				Summary string `json:"summary"`
			} `json:"reasoning"`
			Include []string `json:"include"`
		}
		raw := sent(t, func(c *responses.Config) { c.Model, c.Known = tt.model, tt.known }, req)
		if err := json.Unmarshal(raw, &body); err != nil {
			t.Fatal(err)
		}
		if body.Reasoning.Effort != tt.effort || body.Reasoning.Summary != tt.summary || (len(body.Include) == 1) != tt.sealed {
			t.Errorf("%s, %q of %v: %s", tt.model, tt.budget, tt.known.Efforts, raw)
		}
	}
}

// The budget of the job is always sent, and lowers what the user allows.
func TestMaxTokens(t *testing.T) {
	for _, tt := range []struct{ own, asked, want int }{
		{0, 0, 0}, {0, 700, 700}, {5000, 0, 5000}, {5000, 700, 700}, {500, 700, 500}, {0, 3, 16}, {3, 0, 16}, {0, -1, 0},
	} {
		req := hello()
		req.MaxTokens = tt.asked
		var body struct {
			Limit *int `json:"max_output_tokens"`
		}
		raw := sent(t, func(c *responses.Config) { c.MaxTokens = tt.own }, req)
		if err := json.Unmarshal(raw, &body); err != nil {
			t.Fatal(err)
		}
		if got := body.Limit; (got == nil) != (tt.want == 0) || got != nil && *got != tt.want {
			t.Errorf("%+v: %s", tt, raw)
		}
	}
}

// An organisation that may not see summaries is asked without them, from then on.
func TestSummariesRefused(t *testing.T) {
	var bodies []string
	m := serve(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		bodies = append(bodies, string(body))
		if strings.Contains(string(body), `"summary"`) {
			refusing(400, nil, `{"error":{"message":"Your organization must be verified to generate reasoning summaries.","type":"invalid_request_error","param":"reasoning.summary","code":"unsupported_value"}}`)(w, r)
			return
		}
		streaming(created, done)(w, r)
	}, nil)
	for range 2 {
		req := hello()
		req.Reasoning = "low"
		if _, _, err := ask(t.Context(), m, req); err != nil {
			t.Fatal(err)
		}
	}
	if len(bodies) != 3 || !strings.Contains(bodies[2], `"reasoning":{"effort":"low"}`) {
		t.Errorf("%d requests, the last is %s", len(bodies), bodies[len(bodies)-1])
	}
	// Another refusal is not met with a second call.
	count := 0
	m = serve(t, func(w http.ResponseWriter, r *http.Request) {
		count++
		refusing(400, nil, `{"error":{"message":"no","type":"invalid_request_error"}}`)(w, r)
	}, nil)
	if _, _, err := ask(t.Context(), m, hello()); err == nil || count != 1 {
		t.Errorf("%d requests, %v", count, err)
	}
}

// Old media are dropped for new ones; the model is told, and the words stay.
func TestOldMediaAreDropped(t *testing.T) {
	large := png + strings.Repeat("AAAA", 18<<10/4)
	var body string
	m := serve(t, func(w http.ResponseWriter, r *http.Request) {
		raw, _ := io.ReadAll(r.Body)
		body = string(raw)
		streaming(created, done)(w, r)
	}, nil)
	const space = 40 << 10
	m.LimitMedia(space)
	shows := func(name string) *event.Message {
		return asks(text(name), event.Part{Type: event.ImageInlinePart, MIMEType: "image/png", EncodedData: large})
	}
	drawn := says(own, thinks("rs_1", "I draw."), ran(`{"type":"image_generation_call","id":"ig_1","status":"completed","result":"`+large+`"}`), marked(text("Drawn."), `{"id":"msg_1"}`))
	req := &model.Request{Messages: []*event.Message{shows("first"), drawn}}
	for i, want := range []struct{ images, leftOut int }{{2, 0}, {1, 1}, {2, 1}, {1, 3}} {
		if i > 0 {
			req.Messages = append(req.Messages, shows("next"))
		}
		for range 2 { // the decision does not change by itself
			if _, _, err := ask(t.Context(), m, req); err != nil {
				t.Fatal(err)
			}
		}
		if images, out := strings.Count(body, large), strings.Count(body, "sent before; left out"); images != want.images || out != want.leftOut {
			t.Errorf("request %d: %d images and %d lines, want %+v", i, images, out, want)
		}
		if len(body) > space+2<<10 {
			t.Errorf("request %d has %d bytes", i, len(body))
		}
		if !strings.Contains(body, "first") || !strings.Contains(body, "Drawn.") {
			t.Errorf("request %d has lost words", i)
		}
		if hasCall := strings.Contains(body, "ig_1"); hasCall != strings.Contains(body, "rs_1") || hasCall != strings.Contains(body, "msg_1") {
			t.Errorf("request %d: the thought, the image and the text are torn apart", i)
		}
	}
	if got := m.Encodings(); got > 5+4 {
		t.Errorf("%d encodings of 5 messages", got)
	}
}

func TestConfigurationErrors(t *testing.T) {
	for want, change := range map[string]func(*responses.Config){
		"no model is named":         func(c *responses.Config) { c.Model = "" },
		"OPENAI_API_KEY is not set": func(c *responses.Config) { c.Key = "" },
		"spaces and line ends":      func(c *responses.Config) { c.Key += "\n" },
		"not https":                 func(c *responses.Config) { c.Client.BaseURL = "http://example.com" },
		"webSearch, fileSearch, codeInterpreter, imageGeneration": func(c *responses.Config) { c.Tools = []string{"googleMaps"} },
		"set vectorStoreIds":    func(c *responses.Config) { c.Tools = []string{"fileSearch"} },
		"remove providerSkills": func(c *responses.Config) { c.Skills = []expert.ProviderSkill{{Type: "builtin", SkillID: "pdf"}} },
		"negative":              func(c *responses.Config) { c.MaxTokens = -1 },
		"no HTTP client":        func(c *responses.Config) { c.Client.HTTP = nil },
		`cannot set "input"`:    func(c *responses.Config) { c.Extra = wire.Extra{"input": rawjson.Value("[]")} },
		`cannot set "store"`:    func(c *responses.Config) { c.Extra = wire.Extra{"store": rawjson.Value("true")} },
	} {
		_, err := responses.New(config("http://127.0.0.1:1", change))
		if err == nil || !strings.Contains(err.Error(), want) || !strings.HasPrefix(err.Error(), "openai: ") || strings.Contains(err.Error(), key) {
			t.Errorf("%v; want %q", err, want)
		}
	}
}
