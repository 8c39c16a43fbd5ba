package gemini_test

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/expert"
	"github.com/perstack-go/perstack/internal/providers/gemini"
	"github.com/perstack-go/perstack/internal/providers/wire"
	"github.com/perstack-go/perstack/internal/testkit"
	"github.com/perstack-go/perstack/model"
	"github.com/perstack-go/perstack/rawjson"
)

const (
	own      = "google/gemini-2.5-flash"
	ownThird = "google/gemini-3-pro-preview"
	third    = "gemini-3-pro-preview"
)

// The first bytes of some files, in base64.
const (
	png  = "iVBORw0KGgoAAAAN"
	gif  = "R0lGODlhAQABAIAA"
	pdf  = "JVBERi0xLjcK"
	note = "bm90ZXM=" // notes
)

var tools = []model.Tool{
	{Name: "read", Description: "Reads a \"file\".", InputSchema: rawjson.Value(`{"$schema":"x","type":"object","properties":{"path":{"type":"string"}},"required":["path"],"additionalProperties":false}`)},
	{Name: "think", InputSchema: rawjson.Value(`{"type":"object","properties":{}}`)},
	{Name: "web search/1", Description: "a name that the API does not take"},
}

func image(kind, data string) event.Part {
	return event.Part{Type: event.ImageInlinePart, MIMEType: kind, EncodedData: data}
}

func file(kind, data string) event.Part {
	return event.Part{Type: event.FileInlinePart, MIMEType: kind, EncodedData: data}
}

func link(kind event.PartType, mime, url string) event.Part {
	return event.Part{Type: kind, MIMEType: mime, URL: url}
}

// media is a conversation with everything that can be looked at.
func media(author string) []*event.Message {
	return []*event.Message{
		asks(
			text("Look:"), image("image/jpeg", png), event.Part{Type: event.ImageBinaryPart, MIMEType: "image/png", Data: png},
			file("application/pdf", pdf), file("text/markdown; charset=utf-8", note), file("audio/wav", note),
			image("image/png", gif), image("image/png", "?"), file("application/zip", note),
			link(event.ImageURLPart, "image/png", "data:image/png;base64,"+png),
			link(event.ImageURLPart, "image/png", "https://example.com/a.png"),
			link(event.FileURLPart, "application/pdf", "gs://bucket/a.pdf"),
			link(event.FileURLPart, "video/mp4", "https://www.youtube.com/watch?v=1"),
			link(event.FileURLPart, "application/pdf", "file:///etc/passwd"),
		),
		says(author, calls("c1", "read", "{}"), calls("c2", "read", "{}")),
		results(
			returned("c2", text("two"), image("image/png", png), file("audio/wav", note)),
			failed("c1", text("one"), file("application/pdf", pdf), link(event.ImageURLPart, "image/png", "https://intranet.example/?secret"), link(event.FileURLPart, "application/pdf", "gs://bucket/secret")),
		),
	}
}

var requests = []struct {
	name   string
	change []func(*gemini.Config)
	req    model.Request
}{
	{name: "text", req: model.Request{Messages: []*event.Message{instruction("Be brief."), user("Hello \"you\"")}}},
	{name: "vertex", change: []func(*gemini.Config){onVertex}, req: model.Request{Reasoning: "low", Tools: tools, Messages: []*event.Message{instruction("Be brief."), user("Hello")}}},
	{name: "calls", req: model.Request{Reasoning: "low", Tools: tools, Messages: []*event.Message{
		instruction("Be brief."), user("Read a and b."),
		says(own, marked(thinks("Two files."), `{"thoughtSignature":"c2ln"}`), thinks("unsigned"), text("I read."),
			marked(calls("c1", "read", `{"path":"a"}`), `{"thoughtSignature":"c2ln"}`), calls("c2", "web search/1", ``)),
		results(failed("c2", text("no such file"))), results(returned("c1", text("A"), text("B"))),
		says(own, text("Done."), marked(text(""), `{"thoughtSignature":"ZW5k"}`)), user("Thanks."),
	}}},
	// Calls without answers, and answers without calls.
	{name: "pairs", req: model.Request{Tools: tools, Messages: []*event.Message{
		user("Read."), says(own, calls("c1", "read", `{"path":"a"}`), calls("c1", "read", `{"path":"b"}`)), user("Stop."),
		says(own, calls("c2", "read", `[1]`)), results(returned("c2"), returned("c9", text("what?"))), says(own, calls("c3", "read", `{`)),
	}}},
	// The marks of others are left out; from Gemini 3 on a word says that they are.
	{name: "foreign", change: []func(*gemini.Config){named(third)}, req: model.Request{Reasoning: "low", Tools: tools, Messages: []*event.Message{
		user("Read."),
		says("openai/gpt-5", marked(thinks("Hm."), `{"thoughtSignature":"eA=="}`), marked(text("I read."), `{"thoughtSignature":"eA=="}`),
			event.Part{Type: event.ProviderPart, ProviderData: rawjson.Value(`{"executableCode":{"code":"x"}}`)},
			marked(calls("functions.read:0", "read", `{}`), `{"thoughtSignature":"eA==","id":"x"}`), calls("functions.read:1", "read", `{}`)),
		results(returned("functions.read:0", text("A")), returned("functions.read:1", text("B"))),
		says(ownThird, marked(calls("c1", "read", `{}`), `{"thoughtSignature":"c2ln","id":"c1"}`), marked(calls("c2", "read", `{}`), `{"id":"c2"}`)),
		results(returned("c1", text("A")), returned("c2", text("B"))),
	}}},
	{name: "media", req: model.Request{Tools: tools, Messages: media(own)}},
	{name: "media_third", change: []func(*gemini.Config){named(third)}, req: model.Request{Tools: tools, Messages: media(ownThird)}},
	{name: "media_vertex", change: []func(*gemini.Config){onVertex}, req: model.Request{Tools: tools, Messages: media("google-vertex/gemini-2.5-flash")}},
	{name: "gemma", change: []func(*gemini.Config){named("gemma-3-27b-it")}, req: model.Request{Reasoning: "low", Messages: []*event.Message{
		instruction("Be brief."), instruction("Be kind."), user("Hello"), says("google/gemma-3-27b-it", text("Hi.")), user("Again."),
	}}},
	{name: "hosted", change: []func(*gemini.Config){func(c *gemini.Config) {
		c.Tools = []string{"googleSearch", "codeExecution", "urlContext", "googleMaps", "fileSearch", "googleSearch"}
		c.ToolOptions = &expert.ProviderToolOptions{FileSearch: &expert.FileSearchOptions{VectorStoreIDs: []string{"fileSearchStores/a"}, MaxNumResults: 3}}
	}}, req: model.Request{Messages: []*event.Message{
		user("Run."),
		says(own, event.Part{Type: event.ProviderPart, ToolName: "codeExecution", ProviderData: rawjson.Value(`{"executableCode":{"language":"PYTHON","code":"1"},"thoughtSignature":"c2ln"}`)},
			event.Part{Type: event.ProviderPart, ToolName: "groundingMetadata", ProviderData: rawjson.Value(`{"groundingMetadata":{"webSearchQueries":["x"]}}`)}, text("1")),
		user("Again."),
	}}},
	{name: "hosted_vertex", change: []func(*gemini.Config){onVertex, func(c *gemini.Config) { c.Tools = []string{"enterpriseWebSearch"} }}, req: model.Request{Messages: hello().Messages}},
	{name: "hosted_mixed", change: []func(*gemini.Config){named(third), func(c *gemini.Config) { c.Tools = []string{"googleSearch"} }}, req: model.Request{Tools: tools, Messages: hello().Messages}},
	{name: "text_only", change: []func(*gemini.Config){func(c *gemini.Config) { c.Tools = []string{"googleSearch"} }}, req: model.Request{Tools: tools, TextOnly: true, Messages: hello().Messages}},
	{name: "settings", change: []func(*gemini.Config){func(c *gemini.Config) {
		c.Safety = []expert.SafetySetting{{Category: "HARM_CATEGORY_HARASSMENT", Threshold: "BLOCK_NONE"}}
		c.Extra = wire.Extra{
			"cachedContent":    rawjson.Value(`"cachedContents/c"`),
			"generationConfig": rawjson.Value(`{"temperature":0.5,"maxOutputTokens":900}`),
		}
	}}, req: model.Request{MaxTokens: 1000, Reasoning: "medium", Messages: hello().Messages}},
	{name: "own_thinking", change: []func(*gemini.Config){func(c *gemini.Config) {
		c.Extra = wire.Extra{"generationConfig": rawjson.Value(`{"thinkingConfig":{"thinkingBudget":-1}}`)}
	}}, req: model.Request{Reasoning: "medium", Messages: hello().Messages}},
	{name: "merged", req: model.Request{Messages: []*event.Message{
		user("One."), user(""), user("Two."), says(own, text("Yes.")), says(own, text("")), says(own, text("No.")), user("Three."),
	}}},
}

// body asks and returns what was sent.
func body(t *testing.T, req *model.Request, changes ...func(*gemini.Config)) []byte {
	t.Helper()
	var sent []byte
	m := serve(t, func(w http.ResponseWriter, r *http.Request) {
		sent, _ = io.ReadAll(r.Body)
		streaming(ending("STOP"))(w, r)
	}, changes...)
	if _, _, err := ask(t.Context(), m, req); err != nil {
		t.Fatal(err)
	}
	return sent
}

func TestRequests(t *testing.T) {
	for _, test := range requests {
		t.Run(test.name, func(t *testing.T) {
			v := rawjson.Value(body(t, &test.req, test.change...))
			if err := (*jsontext.Value)(&v).Indent(jsontext.WithIndent("  ")); err != nil {
				t.Fatalf("%v in %s", err, v)
			}
			testkit.Golden(t, test.name+".json", string(v)+"\n")
		})
	}
}

// The scripted server is as strict as the service: what it takes is not malformed. History
// with marks is another test's, since it has to have given them.
func TestRequestsAreTaken(t *testing.T) {
	for _, test := range requests {
		if strings.Contains("calls foreign hosted", test.name) {
			continue
		}
		t.Run(test.name, func(t *testing.T) {
			_, m := scripted(t, strings.Repeat("[[turn]]\ntext = \"Hi.\"\n", 4), test.change...)
			if _, _, err := ask(t.Context(), m, &test.req); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestWhereRequestsGo(t *testing.T) {
	for _, tt := range []struct {
		change []func(*gemini.Config)
		uri    string
		header http.Header
	}{
		{nil, "/v1beta/models/gemini-2.5-flash:streamGenerateContent?alt=sse", http.Header{"X-Goog-Api-Key": {key}}},
		{[]func(*gemini.Config){named("tunedModels/mine-1")}, "/v1beta/tunedModels/mine-1:streamGenerateContent?alt=sse", http.Header{"X-Goog-Api-Key": {key}}},
		{[]func(*gemini.Config){onVertex}, "/v1beta1/projects/p/locations/l/publishers/google/models/gemini-2.5-flash:streamGenerateContent?alt=sse", http.Header{"Authorization": {"Bearer " + token}}},
		{[]func(*gemini.Config){onVertex, func(c *gemini.Config) {
			c.Client.Header = http.Header{"authorization": {"Bearer mine"}, "x-goog-user-project": {"q"}}
		}}, "/v1beta1/projects/p/locations/l/publishers/google/models/gemini-2.5-flash:streamGenerateContent?alt=sse", http.Header{"Authorization": {"Bearer mine"}, "X-Goog-User-Project": {"q"}}},
		{[]func(*gemini.Config){func(c *gemini.Config) { c.Client.Header = http.Header{"x-goog-api-key": {"other"}} }}, "/v1beta/models/gemini-2.5-flash:streamGenerateContent?alt=sse", http.Header{"X-Goog-Api-Key": {"other"}}},
	} {
		m := serve(t, func(w http.ResponseWriter, r *http.Request) {
			if r.RequestURI != tt.uri || r.Method != http.MethodPost {
				t.Errorf("%s %s, want %s", r.Method, r.RequestURI, tt.uri)
			}
			for name := range tt.header {
				if got := r.Header.Values(name); len(got) != 1 || got[0] != tt.header.Get(name) {
					t.Errorf("%s is %q", name, got)
				}
			}
			if strings.Contains(r.RequestURI, key) || len(r.Header.Values("X-Goog-Api-Key"))+len(r.Header.Values("Authorization")) != 1 {
				t.Errorf("%s %v", r.RequestURI, r.Header)
			}
			streaming(ending("STOP"))(w, r)
		}, tt.change...)
		if _, _, err := ask(t.Context(), m, hello()); err != nil {
			t.Fatal(err)
		}
	}
}

func TestThinking(t *testing.T) {
	for _, tt := range []struct {
		model     string
		known     model.Known
		reasoning expert.ReasoningBudget
		limit     int
		want      string // thinkingConfig
	}{
		{model: "gemini-2.5-flash", reasoning: "low", want: `{"thinkingBudget":2048,"includeThoughts":true}`},
		{model: "gemini-2.5-flash", reasoning: "99999", want: `{"thinkingBudget":24576,"includeThoughts":true}`},
		{model: "gemini-2.5-flash", reasoning: "1", want: `{"thinkingBudget":1,"includeThoughts":true}`},
		{model: "gemini-2.5-flash", reasoning: "none", want: `{"thinkingBudget":0}`},
		{model: "gemini-2.5-flash", reasoning: "0", want: `{"thinkingBudget":0}`},
		{model: "gemini-2.5-flash", reasoning: ""},
		{model: "gemini-2.5-flash", reasoning: "high", limit: 1000, want: `{"thinkingBudget":744,"includeThoughts":true}`},
		{model: "gemini-2.5-flash", reasoning: "high", limit: 100, want: `{"thinkingBudget":0}`},
		{model: "gemini-2.5-flash-lite", reasoning: "1", want: `{"thinkingBudget":512,"includeThoughts":true}`},
		{model: "gemini-2.5-flash-lite", reasoning: "none", want: `{"thinkingBudget":0}`},
		{model: "gemini-2.5-flash-lite", reasoning: "low", limit: 600, want: `{"thinkingBudget":0}`},
		{model: "gemini-2.5-pro", reasoning: "1", want: `{"thinkingBudget":128,"includeThoughts":true}`},
		{model: "gemini-2.5-pro", reasoning: "99999", want: `{"thinkingBudget":32768,"includeThoughts":true}`},
		{model: "gemini-2.5-pro", reasoning: "none", want: `{"thinkingBudget":128}`},
		{model: "gemini-2.5-pro", reasoning: "low", limit: 300, want: `{"thinkingBudget":128}`},
		{model: "gemini-2.5-flash-image", reasoning: "low"},
		{model: "gemini-2.0-flash", reasoning: "low"},
		{model: "gemini-1.5-pro", reasoning: "high"},
		{model: "gemma-3-27b-it", reasoning: "high"},
		{model: "tunedModels/mine", reasoning: "high"},
		{model: "models/gemini-2.5-pro", reasoning: "low", want: `{"thinkingBudget":2048,"includeThoughts":true}`},
		{model: "gemini-3-pro-preview", reasoning: "minimal", want: `{"thinkingLevel":"LOW","includeThoughts":true}`},
		{model: "gemini-3-pro-preview", reasoning: "medium", want: `{"thinkingLevel":"HIGH","includeThoughts":true}`},
		{model: "gemini-3.1-pro-preview", reasoning: "medium", want: `{"thinkingLevel":"MEDIUM","includeThoughts":true}`},
		{model: "gemini-3-pro-preview", reasoning: "none", want: `{"thinkingLevel":"LOW"}`},
		{model: "gemini-3-flash-preview", reasoning: "none", want: `{"thinkingLevel":"MINIMAL"}`},
		{model: "gemini-3-flash-preview", reasoning: "1024", want: `{"thinkingLevel":"MINIMAL","includeThoughts":true}`},
		{model: "gemini-3.5-flash", reasoning: "2048", want: `{"thinkingLevel":"LOW","includeThoughts":true}`},
		{model: "gemini-4-flash", reasoning: "99999", limit: 300, want: `{"thinkingLevel":"HIGH","includeThoughts":true}`},
		{model: "gemini-pro-latest", reasoning: "low", want: `{"thinkingLevel":"LOW","includeThoughts":true}`},

		// What is known counts more than the name.
		{model: "tunedModels/mine", known: model.Known{Reasoning: model.ReasoningBudget}, reasoning: "low", want: `{"thinkingBudget":2048,"includeThoughts":true}`},
		{model: "tunedModels/mine", known: model.Known{Reasoning: model.ReasoningSwitch}, reasoning: "low", want: `{"includeThoughts":true}`},
		{model: "tunedModels/mine", known: model.Known{Reasoning: model.ReasoningSwitch}, reasoning: "none", want: `{"thinkingBudget":0}`},
		{model: "gemini-2.5-flash", known: model.Known{Reasoning: model.ReasoningNone}, reasoning: "low"},
		{model: "gemini-3-pro-preview", known: model.Known{Reasoning: model.ReasoningEffort, Efforts: []string{"low", "medium"}}, reasoning: "high", want: `{"thinkingLevel":"MEDIUM","includeThoughts":true}`},
	} {
		req := hello()
		req.Reasoning, req.MaxTokens = tt.reasoning, tt.limit
		var sent struct {
			Generation struct {
				Max      int           `json:"maxOutputTokens"`
				Thinking rawjson.Value `json:"thinkingConfig"`
			} `json:"generationConfig"`
		}
		if err := json.Unmarshal(body(t, req, func(c *gemini.Config) { c.Model, c.Known = tt.model, tt.known }), &sent); err != nil {
			t.Fatal(err)
		}
		if string(sent.Generation.Thinking) != tt.want || sent.Generation.Max != tt.limit {
			t.Errorf("%s, %q within %d: %s, want %s", tt.model, tt.reasoning, tt.limit, sent.Generation.Thinking, tt.want)
		}
	}
}

// The smallest limit counts, wherever it comes from.
func TestLimit(t *testing.T) {
	for _, tt := range []struct{ asked, own, extra, known, want int }{
		{0, 0, 0, 0, 0}, {0, 0, 0, 65536, 0}, {500, 0, 0, 0, 500}, {0, 600, 0, 0, 600}, {500, 600, 0, 0, 500}, {700, 600, 0, 0, 600},
		{700, 600, 400, 0, 400}, {99999, 0, 0, 65536, 65536},
	} {
		req := hello()
		req.MaxTokens = tt.asked
		sent := string(body(t, req, func(c *gemini.Config) {
			c.MaxTokens, c.Known.MaxOutputTokens = tt.own, tt.known
			if tt.extra > 0 {
				c.Extra = wire.Extra{"generationConfig": rawjson.Value(`{"maxOutputTokens":400}`)}
			}
		}))
		var got struct {
			Generation struct {
				Max int `json:"maxOutputTokens"`
			} `json:"generationConfig"`
		}
		if err := json.Unmarshal([]byte(sent), &got); err != nil || got.Generation.Max != tt.want {
			t.Errorf("%+v: %s, %v", tt, sent, err)
		}
	}
}

// A conversation with many images loses the oldest, and keeps the newest.
func TestMediaBudget(t *testing.T) {
	var sent []byte
	m := serve(t, func(w http.ResponseWriter, r *http.Request) {
		sent, _ = io.ReadAll(r.Body)
		streaming(ending("STOP"))(w, r)
	})
	one := png + strings.Repeat("AAAA", gemini.MaxMedia/16)
	req := &model.Request{}
	for range 6 {
		req.Messages = append(req.Messages, asks(text("Look."), image("image/png", one)), says(own, text("Yes.")))
	}
	req.Messages = append(req.Messages, asks(image("image/png", one)))
	for range 2 {
		if _, _, err := ask(t.Context(), m, req); err != nil {
			t.Fatal(err)
		}
		if len(sent) > gemini.MaxMedia+10_000 || !strings.HasSuffix(strings.SplitN(string(sent[len(sent)-60:]), `"}}`, 2)[0], "AAAA") {
			t.Errorf("%d bytes, which end in %s", len(sent), sent[len(sent)-60:])
		}
		if n := strings.Count(string(sent), "sent before"); n < 3 {
			t.Errorf("%d images were left out", n)
		}
	}
	if n := m.Encodings(); n > int64(2*len(req.Messages)) {
		t.Errorf("%d encodings", n)
	}
	large := &model.Request{Messages: []*event.Message{asks(image("image/png", png+strings.Repeat("AAAA", gemini.MaxMedia/4)))}}
	if _, _, err := ask(t.Context(), m, large); err != nil || !strings.Contains(string(sent), "too large") {
		t.Errorf("%.200s, %v", sent, err)
	}
}

func TestConfigurationErrors(t *testing.T) {
	for want, change := range map[string]func(*gemini.Config){
		"no model is named":                        named(""),
		"GOOGLE_GENERATIVE_AI_API_KEY is not set":  func(c *gemini.Config) { c.Key = "" },
		"spaces and line ends":                     func(c *gemini.Config) { c.Key += "\n" },
		"not https":                                func(c *gemini.Config) { c.Client.BaseURL = "http://example.com" },
		"is not the name of a model":               named("gemini?key=x"),
		"not the name":                             named("models/../secrets"),
		"googleSearch, codeExecution, urlContext,": func(c *gemini.Config) { c.Tools = []string{"webSearch"} },
		"vectorStoreIds":                           func(c *gemini.Config) { c.Tools = []string{"fileSearch"} },
		"there are codeExecution":                  func(c *gemini.Config) { onVertex(c); c.Tools = []string{"fileSearch"} },
		"skills of the Expert":                     func(c *gemini.Config) { c.Skills = []expert.ProviderSkill{{Type: "builtin", SkillID: "pdf"}} },
		`cannot set "contents"`:                    func(c *gemini.Config) { c.Extra = wire.Extra{"contents": rawjson.Value("[]")} },
		`cannot set "tool_config"`:                 func(c *gemini.Config) { c.Extra = wire.Extra{"tool_config": rawjson.Value("{}")} },
		"generationConfig in extraBody":            func(c *gemini.Config) { c.Extra = wire.Extra{"generationConfig": rawjson.Value("[]")} },
		"maxOutputTokens in extraBody": func(c *gemini.Config) {
			c.Extra = wire.Extra{"generationConfig": rawjson.Value(`{"maxOutputTokens":"many"}`)}
		},
		"set project and location":       func(c *gemini.Config) { onVertex(c); c.Client.BaseURL = "" },
		"GOOGLE_APPLICATION_CREDENTIALS": func(c *gemini.Config) { onVertex(c); c.Token = nil },
		"no HTTP client":                 func(c *gemini.Config) { c.Client.HTTP = nil },
		"is negative":                    func(c *gemini.Config) { c.MaxTokens = -1 },
	} {
		cfg := config("https://example.com")
		change(&cfg)
		_, err := gemini.New(cfg)
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), key) {
			t.Errorf("%v; want %q", err, want)
		}
	}
}

// Google's tools and the Expert's in one request are refused before anything is sent, where
// the model cannot have both.
func TestMixedTools(t *testing.T) {
	hosts := func(c *gemini.Config) { c.Tools = []string{"googleSearch"} }
	for _, tt := range []struct {
		changes []func(*gemini.Config)
		want    string
	}{
		{[]func(*gemini.Config){hosts}, "use a Gemini 3 model"},
		{[]func(*gemini.Config){hosts, onVertex}, "google-vertex: gemini-2.5-flash cannot use googleSearch together with the tools of the Expert"},
		{[]func(*gemini.Config){hosts, onVertex, named(third)}, "remove providerTools"},
	} {
		m := serve(t, func(http.ResponseWriter, *http.Request) { t.Error("it was sent") }, tt.changes...)
		req := hello()
		req.Tools = tools
		_, _, err := ask(t.Context(), m, req)
		if e := failure(t, err); e.Name != "ConfigurationError" || e.Retryable || !strings.Contains(e.Message, tt.want) {
			t.Errorf("%+v", e)
		}
	}
}

// What is known of a model decides what it is shown.
func TestBlindModels(t *testing.T) {
	req := &model.Request{Messages: []*event.Message{asks(text("Look:"), image("image/png", png), file("application/pdf", pdf), file("text/plain", note))}}
	sent := string(body(t, req, func(c *gemini.Config) { c.Known.Images, c.Known.PDF = model.Unable, model.Unable }))
	if strings.Count(sent, "this model cannot look at it") != 2 || strings.Contains(sent, png) || !strings.Contains(sent, note) {
		t.Error(sent)
	}
}
