package chat_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/expert"
	"github.com/perstack-go/perstack/internal/providers/chat"
	"github.com/perstack-go/perstack/internal/providers/wire"
	"github.com/perstack-go/perstack/internal/providers/wire/wiretest"
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
	{Name: "a name/of a server, which is longer than what the API takes for a name", Description: "odd"},
}

// worked is a conversation in which tools were used, by author.
func worked(author string) []*event.Message {
	return []*event.Message{
		instruction("Be brief."), user("Read a and b."),
		says(author, thinks("Two files."), text("I read."), calls("c1", "read", `{"path":"a"}`), calls("c2", "read", `{"path": "b"}`)),
		results(returned("c1", false, text("A"), text("and more")), returned("c2", true, text("no such file"))),
		says(author, thinks("And c."), calls("c3", "read", `{"path":"c"}`)),
		results(returned("c3", true, text("Error: gone"))),
		says(author, thinks("Enough."), text("Done.")),
		user("And d?"),
		says(author, thinks("One more."), calls("c4", "read", `{"path":"d"}`)),
		results(returned("c4", true)),
	}
}

// looked is a conversation with media, of the user and of tools. The results of two calls
// come in two messages.
func looked(author string) []*event.Message {
	image := event.Part{Type: event.ImageInlinePart, MIMEType: "image/jpeg", EncodedData: png}
	return []*event.Message{
		asks(
			text("Look:"),
			image,
			event.Part{Type: event.ImageBinaryPart, MIMEType: "image/png", Data: png},
			event.Part{Type: event.ImageURLPart, MIMEType: "image/png", URL: "https://example.com/a.png"},
			event.Part{Type: event.ImageURLPart, MIMEType: "image/png", URL: "data:image/png;base64," + png},
			event.Part{Type: event.FileInlinePart, MIMEType: "application/pdf", EncodedData: pdf},
			event.Part{Type: event.FileURLPart, MIMEType: "application/pdf", URL: "https://example.com/a.pdf"},
			event.Part{Type: event.FileInlinePart, MIMEType: "text/markdown; charset=utf-8", EncodedData: note},
			event.Part{Type: event.ImageInlinePart, MIMEType: "image/bmp", EncodedData: bmp},
			event.Part{Type: event.ImageInlinePart, MIMEType: "image/png", EncodedData: "?"},
			event.Part{Type: event.FileURLPart, MIMEType: "application/pdf", URL: "file:///etc/passwd"},
		),
		says(author, thinks("Hm."), calls("c1", "read", "{}"), calls("c2", "read", "{}")),
		results(returned("c1", false, text("one"), image, event.Part{Type: event.FileInlinePart, MIMEType: "application/pdf", EncodedData: pdf})),
		results(returned("c2", true, image, event.Part{Type: event.ImageURLPart, MIMEType: "image/png", URL: "https://example.com/secret?of=tool"})),
		user("Well?"),
	}
}

func both(change ...func(*chat.Config)) func(*chat.Config) {
	return func(c *chat.Config) {
		for _, change := range change {
			change(c)
		}
	}
}

func named(name string) func(*chat.Config) { return func(c *chat.Config) { c.Model = name } }

func knows(known model.Known) func(*chat.Config) { return func(c *chat.Config) { c.Known = known } }

const (
	azureURL    = "/openai/v1/chat/completions?api-version=v1"
	deepSeekURL = "/chat/completions"
)

var requests = []struct {
	name   string
	change func(*chat.Config)
	url    string
	req    model.Request
}{
	{name: "azure_text", url: azureURL, req: model.Request{Messages: []*event.Message{instruction("Be brief."), user("Hello \"you\"")}}},
	{name: "azure_work", url: azureURL, req: model.Request{Reasoning: "low", Tools: tools, Messages: worked(azureAuthor)}},
	{name: "azure_answer", url: azureURL, req: model.Request{Reasoning: "low", TextOnly: true, MaxTokens: 700, Tools: tools[:1], Messages: worked(azureAuthor)}},
	{name: "azure_media", url: azureURL, req: model.Request{Messages: looked(azureAuthor)}},
	{
		name: "azure_blind", url: azureURL, change: knows(model.Known{Images: model.Unable, PDF: model.Unable}),
		req: model.Request{Messages: looked(azureAuthor)},
	},
	{
		name: "azure_deployment", url: "/openai/deployments/my%2Fgpt-4o%3F/chat/completions?api-version=2024-10-21",
		change: both(named("my/gpt-4o?"), func(c *chat.Config) { c.Deployments, c.APIVersion = true, "2024-10-21" }),
		req:    model.Request{Messages: []*event.Message{instruction("Be brief."), user("Hello")}},
	},
	{
		name: "azure_plain_model", url: azureURL, change: named("gpt-4o"),
		req: model.Request{Reasoning: "high", Messages: []*event.Message{instruction("Be brief."), user("Hello")}},
	},
	{
		name: "azure_extra", url: azureURL,
		change: func(c *chat.Config) {
			c.MaxTokens = 500
			c.Extra = wire.Extra{"temperature": rawjson.Value("0.2"), "reasoning_effort": rawjson.Value(`"xhigh"`), "metadata": rawjson.Value(`{"a":"b"}`)}
		},
		req: model.Request{Reasoning: "low", MaxTokens: 700, Messages: hello().Messages},
	},
	// Ids and names of another provider, arguments that are none, and its thoughts.
	{
		name: "azure_foreign", url: azureURL,
		req: model.Request{Messages: []*event.Message{
			user("Read."),
			says(
				"google/gemini-3-pro", thinks("Secret."),
				event.Part{Type: event.ProviderPart, ToolName: "web_search", ProviderData: rawjson.Value(`{"type":"secret"}`)},
				event.Part{Type: event.TextPart, Text: "Yes.", ProviderData: rawjson.Value(`{"thoughtSignature":"secret"}`)},
				calls("functions.read:0", "re ad", `"broken`), calls(strings.Repeat("x", 41), strings.Repeat("y", 65), ""),
			),
			results(returned("functions.read:0", false), returned(strings.Repeat("x", 41), false, text("ok"))),
		}},
	},
	{
		name: "azure_empty", url: azureURL,
		req: model.Request{Messages: []*event.Message{
			instruction(" "), user("One."), user(" "), user("Two."), says(azureAuthor, thinks("t")), says(azureAuthor, text("")), says(azureAuthor, text("Yes.")), results(),
		}},
	},

	{name: "deepseek_text", url: deepSeekURL, change: deepSeek, req: model.Request{Messages: []*event.Message{instruction("Be brief."), user("Hello \"you\"")}}},
	{name: "deepseek_work", url: deepSeekURL, change: deepSeek, req: model.Request{Reasoning: "low", Tools: tools, Messages: worked(deepSeekAuthor)}},
	{name: "deepseek_answer", url: deepSeekURL, change: deepSeek, req: model.Request{Reasoning: "low", TextOnly: true, MaxTokens: 700, Tools: tools[:1], Messages: worked(deepSeekAuthor)}},
	{name: "deepseek_no_thinking", url: deepSeekURL, change: deepSeek, req: model.Request{Reasoning: expert.ReasoningNone, Messages: worked(deepSeekAuthor)}},
	// The service does not think on about calls whose thoughts it is not shown.
	{name: "deepseek_foreign", url: deepSeekURL, change: deepSeek, req: model.Request{Reasoning: "low", Messages: worked("anthropic/claude-sonnet-4-5")}},
	{name: "deepseek_reasoner", url: deepSeekURL, change: both(deepSeek, named("deepseek-reasoner")), req: model.Request{Reasoning: "low", Messages: worked("deepseek/deepseek-reasoner")}},
	{name: "deepseek_reasoner_foreign", url: deepSeekURL, change: both(deepSeek, named("deepseek-reasoner")), req: model.Request{Reasoning: "low", Messages: worked(deepSeekAuthor)}},
	{
		name: "deepseek_effort", url: deepSeekURL,
		change: both(deepSeek, named("deepseek-v4-pro"), knows(model.Known{Reasoning: model.ReasoningEffort, Efforts: []string{"low", "high", "max"}})),
		req:    model.Request{Reasoning: "medium", Messages: hello().Messages},
	},
	{name: "deepseek_media", url: deepSeekURL, change: deepSeek, req: model.Request{Messages: looked(deepSeekAuthor)}},
	{
		name: "deepseek_vision", url: deepSeekURL, change: both(deepSeek, knows(model.Known{Images: model.Able})),
		req: model.Request{Messages: looked(deepSeekAuthor)},
	},
	{
		name: "deepseek_extra", url: deepSeekURL,
		change: both(deepSeek, func(c *chat.Config) { c.Extra = wire.Extra{"thinking": rawjson.Value(`{"type":"adaptive"}`)} }),
		req:    model.Request{Reasoning: "low", Messages: hello().Messages},
	},
	{
		name: "deepseek_user_twice", url: deepSeekURL, change: deepSeek,
		req: model.Request{Messages: []*event.Message{user("One."), user(" "), asks(text("Two."), text("\"Three\".")), says(deepSeekAuthor, text("Yes.")), user("Four.")}},
	},
}

func TestRequests(t *testing.T) {
	for _, test := range requests {
		t.Run(test.name, func(t *testing.T) {
			var body []byte
			m := serve(t, func(w http.ResponseWriter, r *http.Request) {
				body, _ = io.ReadAll(r.Body)
				if r.RequestURI != test.url {
					t.Errorf("asked at %s, want %s", r.RequestURI, test.url)
				}
				azure, bearer := r.Header.Get("Api-Key"), r.Header.Get("Authorization")
				if strings.HasPrefix(test.name, "azure") && (azure != key || bearer != "") || strings.HasPrefix(test.name, "deepseek") && (azure != "" || bearer != "Bearer "+key) {
					t.Errorf("headers %v", r.Header)
				}
				streaming(begin, end("stop"), spent, done)(w, r)
			}, test.change)
			if _, _, err := ask(t.Context(), m, &test.req); err != nil {
				t.Fatal(err)
			}
			v := rawjson.Value(body)
			if err := (*jsontext.Value)(&v).Indent(jsontext.WithIndent("  ")); err != nil {
				t.Fatalf("%v in %s", err, body)
			}
			testkit.Golden(t, test.name+".json", string(v)+"\n")
		})
	}
}

// Nothing of another model's thoughts is sent, whatever form it has.
func TestForeignThoughtsStayAway(t *testing.T) {
	for _, change := range []func(*chat.Config){nil, deepSeek} {
		for _, body := range bodiesOf(t, change, &model.Request{Messages: []*event.Message{
			user("Hello"),
			says(
				"openai/gpt-5", event.Part{Type: event.ThinkingPart, Thinking: "SECRET", Signature: "SECRET", ProviderData: rawjson.Value(`"SECRET"`)},
				event.Part{Type: event.ProviderPart, ToolName: "SECRET", ProviderData: rawjson.Value(`{"a":"SECRET"}`)},
				event.Part{Type: event.TextPart, Text: "Yes.", ProviderData: rawjson.Value(`{"a":"SECRET"}`)},
			),
			user("Again"),
		}}) {
			if strings.Contains(body, "SECRET") || !strings.Contains(body, "Yes.") {
				t.Errorf("sent %s", body)
			}
		}
	}
}

// bodiesOf returns the bodies of requests that are made one after another.
func bodiesOf(t *testing.T, change func(*chat.Config), requests ...*model.Request) (bodies []string) {
	t.Helper()
	m := serve(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		bodies = append(bodies, string(body))
		streaming(begin, end("stop"), spent, done)(w, r)
	}, change)
	for _, req := range requests {
		if _, _, err := ask(t.Context(), m, req); err != nil {
			t.Fatal(err)
		}
	}
	return bodies
}

// Headers that a user sets by hand win over ours.
func TestOwnHeaders(t *testing.T) {
	var got http.Header
	m := serve(t, func(w http.ResponseWriter, r *http.Request) {
		got = r.Header
		streaming(begin, end("stop"), spent, done)(w, r)
	}, func(c *chat.Config) { c.Client.Header = http.Header{"api-key": {"mine"}, "X-Tenant": {"t"}} })
	if _, _, err := ask(t.Context(), m, hello()); err != nil {
		t.Fatal(err)
	}
	if got.Get("Api-Key") != "mine" || got.Get("X-Tenant") != "t" || len(got.Values("Api-Key")) != 1 {
		t.Errorf("%v", got)
	}
}

func TestConfigurationErrors(t *testing.T) {
	extra := func(name string) func(*chat.Config) {
		return func(c *chat.Config) { c.Extra = wire.Extra{name: rawjson.Value("1")} }
	}
	for _, test := range []struct {
		want   string
		change func(*chat.Config)
	}{
		{"no model is named", named("")},
		{"AZURE_API_KEY is not set", func(c *chat.Config) { c.Key = "" }},
		{"DEEPSEEK_API_KEY is not set", both(deepSeek, func(c *chat.Config) { c.Key = "" })},
		{"azure-openai: no address: set resourceName or baseUrl in [provider.setting], or AZURE_RESOURCE_NAME", func(c *chat.Config) { c.Client.BaseURL = "" }},
		{"spaces and line ends", func(c *chat.Config) { c.Key += "\n" }},
		{"not https", func(c *chat.Config) { c.Client.BaseURL = "http://example.com" }},
		{"is negative", func(c *chat.Config) { c.MaxTokens = -1 }},
		{"no HTTP client", func(c *chat.Config) { c.Client.HTTP = nil }},
		{"it is asked by Chat Completions, which has none; use openai", func(c *chat.Config) { c.Tools = []string{"webSearchPreview"} }},
		{"there are webSearchPreview, fileSearch", func(c *chat.Config) { c.Tools = []string{"googleMaps"} }},
		{"this provider runs none itself", both(deepSeek, func(c *chat.Config) { c.Tools = []string{"webSearch"} })},
		{"make them skills of the Expert", func(c *chat.Config) { c.Skills = []expert.ProviderSkill{{Type: "builtin", SkillID: "pdf"}} }},
		{`cannot set "messages"`, extra("messages")},
		{`cannot set "max_completion_tokens"`, extra("max_completion_tokens")},
		{`cannot set "stream"`, extra("stream")},
		{"not a name of a deployment", both(named(".."), func(c *chat.Config) { c.Deployments = true })},
	} {
		cfg := azure()
		test.change(&cfg)
		m, err := chat.New(cfg)
		if m != nil || err == nil || !strings.Contains(err.Error(), test.want) || strings.Contains(err.Error(), key) {
			t.Errorf("%v, want %s", err, test.want)
		}
	}
}

// The address of DeepSeek is known; it need not be said.
func TestDefaultAddress(t *testing.T) {
	var asked string
	cfg := azure()
	deepSeek(&cfg)
	cfg.Client.BaseURL = ""
	cfg.Client.HTTP = &http.Client{Transport: wiretest.RoundTrip(func(r *http.Request) (*http.Response, error) {
		asked = r.URL.String()
		return &http.Response{StatusCode: http.StatusTeapot, Body: http.NoBody, Request: r}, nil
	})}
	m, err := chat.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	_, _, err = ask(t.Context(), m, hello())
	if failure(t, err); asked != "https://api.deepseek.com/chat/completions" {
		t.Error(asked)
	}
}

// Azure refuses a request whose tools are described at length. The model gets the
// beginning.
func TestLongDescriptions(t *testing.T) {
	for _, length := range []int{1024, 1025, 5000} {
		long := strings.Repeat("ä", length)
		req := &model.Request{Messages: hello().Messages, Tools: []model.Tool{{Name: "read", Description: long}}}
		if sent := strings.Contains(bodiesOf(t, deepSeek, req)[0], long); !sent {
			t.Errorf("%d characters were changed for DeepSeek", length)
		}
		body := bodiesOf(t, nil, req)[0]
		if got := strings.Count(body, "ä"); length <= 1024 && got != length || length > 1024 && (got != 1022 || !strings.Contains(body, `ä …"`)) {
			t.Errorf("%d of %d characters were sent to Azure", got, length)
		}
	}
}

// The address of a resource may already say the version of the API, as the portal shows it.
func TestVersionInTheAddress(t *testing.T) {
	for base, want := range map[string]string{
		"/openai":     "/openai/v1/chat/completions",
		"/openai/":    "/openai/v1/chat/completions",
		"/openai/v1":  "/openai/v1/chat/completions",
		"/openai/v1/": "/openai/v1/chat/completions",
		"/openai-v1":  "/openai-v1/v1/chat/completions",
	} {
		var path string
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			path = r.URL.Path
			streaming(begin, say("Hi"), end("stop"), spent, done)(w, r)
		}))
		defer server.Close()
		m := serve(t, nil, func(c *chat.Config) { c.Client.BaseURL = server.URL + base })
		if _, _, err := ask(t.Context(), m, hello()); err != nil || path != want {
			t.Errorf("%s: asked %s, %v", base, path, err)
		}
	}
}
