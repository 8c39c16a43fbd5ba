package ollama_test

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/expert"
	"github.com/perstack-go/perstack/internal/providers/ollama"
	"github.com/perstack-go/perstack/internal/providers/wire"
	"github.com/perstack-go/perstack/internal/testkit"
	"github.com/perstack-go/perstack/model"
	"github.com/perstack-go/perstack/rawjson"
)

var tools = []model.Tool{
	{Name: "read", Description: "Reads a \"file\".", InputSchema: rawjson.Value(
		`{"$schema":"https://json-schema.org/draft/2020-12/schema","type":"object","properties":{"path":{"type":"string"},"at":{"maximum":9007199254740993}},"required":["path"],"additionalProperties":false}`)},
	{Name: "think"},
	{Name: "files.read/all", Description: "a name that no model writes well"},
}

var requests = []struct {
	name   string
	change func(*wire.Config)
	req    model.Request
}{
	{name: "text", req: model.Request{Messages: []*event.Message{
		instruction("Be brief."), asks(text("Hello \"you\""), text("and you.")), says(own, text("Yes.")), asks(text("Again.")),
	}}},
	// Thoughts and calls go back; the parts keep their order, as far as the API has one.
	{name: "tools", req: model.Request{Reasoning: "low", Tools: tools, Messages: []*event.Message{
		instruction("Be brief."), asks(text("Read a and b.")),
		says(own, thinks("Two files."), text("I read."), calls("c1", "read", `{"path":"a","at":9007199254740995}`), thinks("And one."), calls("c2", "files.read/all", `{}`), text(" Now.")),
		results(returned("c1", "read", false, text("A"), text("more")), returned("c2", "files.read/all", true, text("no such file"))),
		says(own, calls("c3", "read", `"broken`)),
		results(returned("c3", "read", true), returned("c3", "read", false), returned("c3", "read", true, text("Error: said already"))),
	}}},
	// What another model thought is not shown to this one, nor what its provider ran.
	{name: "foreign", req: model.Request{Messages: []*event.Message{
		asks(text("Read.")),
		says("openai/gpt-5", thinks("A secret of another."), text("I read."), calls("functions.read:0", "re ad", `{}`),
			event.Part{Type: event.ProviderPart, ToolName: "web_search", ProviderData: rawjson.Value(`{"type":"web_search_call"}`)}),
		results(returned("functions.read:0", "re ad", false, text("A"))),
		says("ollama/gpt-oss:20b", thinks("A secret of a neighbour.")),
		asks(text("Again.")),
	}}},
	{name: "media", req: model.Request{Messages: []*event.Message{
		asks(
			text("Look:"), image(png), event.Part{Type: event.ImageBinaryPart, MIMEType: "image/jpeg", Data: gif},
			linked(event.ImageURLPart, "image/png", "data:image/png;base64,"+png), file("text/markdown; charset=utf-8", note),
			linked(event.ImageURLPart, "image/png", "https://example.com/a.png"), file("application/pdf", pdf),
			image("?"), linked(event.FileURLPart, "text/plain", "file:///etc/passwd"), text("Well?"),
		),
	}}},
	// Images of tools stand behind all results that stand together.
	{name: "result_media", req: model.Request{Messages: []*event.Message{
		asks(text("Look.")), says(own, calls("c1", "look", "{}"), calls("c2", "look", "{}"), calls("c3", "look", "{}")),
		results(returned("c1", "look", false, text("here"), image(png)), returned("c2", "look", true, image(gif))),
		results(returned("c3", "look", false, linked(event.ImageURLPart, "image/png", "https://intranet.example/a.png?token=abc"), file("application/pdf", pdf))),
		asks(text("Well?")),
	}}},
	{name: "blind", change: func(c *wire.Config) { c.Known.Images = model.Unable }, req: model.Request{Messages: []*event.Message{asks(text("Look:"), image(png))}}},
	{name: "empty", req: model.Request{Messages: []*event.Message{
		instruction(""), asks(text("")), asks(), says(own, text("")), says("x", thinks("only this")), results(), asks(text("Hello")),
	}}},
	// One tool with a schema that the server cannot read would cost all of them.
	{name: "odd_schemas", req: model.Request{Messages: hello().Messages, Tools: []model.Tool{
		{Name: "one", InputSchema: rawjson.Value(`{"type":["object","null"],"properties":{"any":true,"none":false,"odd":{"type":5,"description":{},"enum":"x","required":[1],"anyOf":[true]}},"required":null}`)},
		{Name: "two", InputSchema: rawjson.Value(`{"properties":[],"description":5}`)},
		{Name: "three", InputSchema: rawjson.Value(`true`)},
		{Name: "four", InputSchema: rawjson.Value(`{"type":"object","properties":{"list":{"type":"array","items":{"type":"integer","minimum":1}}},"required":[]}`)},
	}}},
	// The API cannot say that no tool may be called.
	{name: "text_only", req: model.Request{TextOnly: true, Tools: tools, Messages: []*event.Message{
		asks(text("Read.")), says(own, calls("c1", "read", "{}")), results(returned("c1", "read", false, text("A"))),
	}}},
	{
		name: "extra",
		change: func(c *wire.Config) {
			c.Extra = wire.Extra{
				"keep_alive": rawjson.Value(`"1h"`), "think": rawjson.Value(`"max"`), "truncate": rawjson.Value("true"),
				"options": rawjson.Value(`{"temperature":0.1,"num_ctx":32768}`),
			}
		},
		req: model.Request{Reasoning: "low", MaxTokens: 300, Messages: hello().Messages},
	},
}

func TestRequests(t *testing.T) {
	for _, test := range requests {
		t.Run(test.name, func(t *testing.T) {
			var body []byte
			m := serve(t, func(w http.ResponseWriter, r *http.Request) {
				body, _ = io.ReadAll(r.Body)
				if r.Method != http.MethodPost || r.URL.Path != "/api/chat" || r.Header.Get("Accept") != "application/x-ndjson" || r.Header.Get("Authorization") != "" {
					t.Errorf("%s %s %v", r.Method, r.URL, r.Header)
				}
				streaming(end)(w, r)
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

// People write the address in each of these ways.
func TestBaseURL(t *testing.T) {
	for _, suffix := range []string{"", "/", "/api", "/api/", "//"} {
		var path string
		m := serve(t, func(w http.ResponseWriter, r *http.Request) {
			path = r.URL.Path
			streaming(end)(w, r)
		}, func(c *wire.Config) { c.Client.BaseURL += "/listener" + suffix })
		if _, _, err := ask(t.Context(), m, hello()); err != nil || path != "/listener/api/chat" {
			t.Errorf("%q: %s, %v", suffix, path, err)
		}
	}
}

func TestHeaders(t *testing.T) {
	var got http.Header
	m := serve(t, func(w http.ResponseWriter, r *http.Request) {
		got = r.Header
		streaming(end)(w, r)
	}, func(c *wire.Config) { c.Client.Header = http.Header{"authorization": {"Bearer of a listener"}} })
	if _, _, err := ask(t.Context(), m, hello()); err != nil || got.Get("Authorization") != "Bearer of a listener" {
		t.Errorf("%v, %v", got, err)
	}
}

func TestLimit(t *testing.T) {
	const predict = `"num_predict":`
	for _, tt := range []struct {
		own, asked int    // limits, of the configuration and of the request
		options    string // of the user
		want       string
	}{
		{0, 0, "", ""},
		{0, 0, `{}`, ""},
		{700, 0, "", `"options":{` + predict + `700}`},
		{0, 300, "", `"options":{` + predict + `300}`},
		{700, 300, "", `"options":{` + predict + `300}`},
		{300, 700, "", `"options":{` + predict + `300}`},
		{0, 0, `{"num_predict":50,"seed":1}`, `"options":{` + predict + `50,"seed":1}`},
		{0, 300, `{"num_predict":50}`, `"options":{` + predict + `50}`},
		{0, 300, `{"num_predict":301}`, `"options":{` + predict + `300}`},
		{0, 300, `{"num_predict":-1,"num_ctx":9}`, `"options":{"num_ctx":9,` + predict + `300}`}, // without end
		{0, 300, `{"num_predict":0}`, `"options":{` + predict + `300}`},
		{0, 300, `{"num_predict":"50"}`, `"options":{` + predict + `300}`},
		{0, 300, `{"num_predict":1e9}`, `"options":{` + predict + `300}`},
	} {
		var bodies []string
		m := serve(t, recording(&bodies), func(c *wire.Config) {
			c.MaxTokens = tt.own
			if tt.options != "" {
				c.Extra = wire.Extra{"options": rawjson.Value(tt.options)}
			}
		})
		req := hello()
		req.MaxTokens = tt.asked
		if _, _, err := ask(t.Context(), m, req); err != nil {
			t.Fatal(err)
		}
		if tt.want == "" && strings.Contains(bodies[0], "options") || !strings.Contains(bodies[0], tt.want) || strings.Count(bodies[0], "options") > 1 {
			t.Errorf("%+v: %s", tt, bodies[0])
		}
	}
}

func TestMessagesAreEncodedOnce(t *testing.T) {
	var bodies []string
	m := serve(t, recording(&bodies), nil)
	req := &model.Request{Messages: []*event.Message{instruction("Be brief.")}}
	for i := range 10 {
		req.Messages = append(req.Messages, asks(text("Question."), image(png)), says(own, text("Answer.")))
		if _, _, err := ask(t.Context(), m, req); err != nil {
			t.Fatal(err)
		}
		if got, want := m.Encodings(), int64(len(req.Messages)); got != want {
			t.Errorf("request %d: %d encodings of %d messages", i, got, want)
		}
	}
}

// A conversation with many images loses the oldest, not its place in the request.
func TestSlim(t *testing.T) {
	var bodies []string
	m := serve(t, recording(&bodies), nil)
	m.LimitMedia(32 << 10)
	large := image(png + strings.Repeat("AAAA", 3<<10))
	req := &model.Request{}
	kept := []int{1, 2, 1, 2}
	for i, want := range kept {
		req.Messages = append(req.Messages, asks(text(fmt.Sprintf("Picture %d.", i)), large), says(own, text("Nice.")))
		for range 2 {
			if _, _, err := ask(t.Context(), m, req); err != nil {
				t.Fatal(err)
			}
		}
		body := bodies[len(bodies)-1]
		if got := strings.Count(body, png); got != want || strings.Count(body, "sent before; left out") != i+1-want || strings.Count(body, "Picture") != i+1 {
			t.Errorf("request %d has %d images, want %d", i, got, want)
		}
	}
	if got, want := m.Encodings(), int64(len(req.Messages)+2); got != want { // two were written a second time
		t.Errorf("%d encodings, want %d", got, want)
	}
}

func TestConfigurationErrors(t *testing.T) {
	for want, change := range map[string]func(*wire.Config){
		"no model is named":             func(c *wire.Config) { c.Model = "" },
		"not https":                     func(c *wire.Config) { c.Client.BaseURL = "http://example.com" },
		"runs none itself":              func(c *wire.Config) { c.Tools = []string{"webSearch"} },
		"runs no skills itself":         func(c *wire.Config) { c.Skills = []expert.ProviderSkill{{Type: "builtin", SkillID: "pdf"}} },
		"is negative":                   func(c *wire.Config) { c.MaxTokens = -1 },
		"no HTTP client":                func(c *wire.Config) { c.Client.HTTP = nil },
		`extraBody cannot set "stream"`: func(c *wire.Config) { c.Extra = wire.Extra{"stream": rawjson.Value("false")} },
		"options in extraBody":          func(c *wire.Config) { c.Extra = wire.Extra{"options": rawjson.Value("[]")} },
		"is not an object":              func(c *wire.Config) { c.Extra = wire.Extra{"options": rawjson.Value("null")} },
	} {
		var cfg wire.Config
		cfg.Model, cfg.Client.HTTP = "m", &http.Client{}
		change(&cfg)
		m, err := ollama.New(cfg)
		if m != nil || err == nil || !strings.Contains(err.Error(), want) || !strings.HasPrefix(err.Error(), "ollama: ") {
			t.Errorf("%v, want %s", err, want)
		}
	}
}
