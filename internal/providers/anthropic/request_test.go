package anthropic_test

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/expert"
	"github.com/perstack-go/perstack/internal/providers/anthropic"
	"github.com/perstack-go/perstack/internal/providers/wire"
	"github.com/perstack-go/perstack/internal/testkit"
	"github.com/perstack-go/perstack/model"
	"github.com/perstack-go/perstack/rawjson"
)

const own = "anthropic/claude-sonnet-4-5"

// The first bytes of some files, in base64.
const (
	png  = "iVBORw0KGgoAAAAN"
	pdf  = "JVBERi0xLjcK"
	bmp  = "Qk0AAAAAAAAA"
	note = "bm90ZXM=" // notes
)

func thinks(s, signature string) event.Part {
	return event.Part{Type: event.ThinkingPart, Thinking: s, Signature: signature}
}

func returned(id string, isError bool, parts ...event.Part) event.Part {
	return event.Part{Type: event.ToolResultPart, ToolCallID: id, IsError: isError, Contents: parts}
}

var redacted = event.Part{Type: event.ThinkingPart, ProviderData: rawjson.Value(`{"type":"redacted_thinking","data":"abc"}`)}

var tools = []model.Tool{
	{Name: "read", Description: "Reads a \"file\".", InputSchema: rawjson.Value(`{"type":"object","properties":{"path":{"type":"string"}},"required":["path"]}`)},
	{Name: "think"},
	{Name: "web_search", Description: "a skill of the same name"},
}

var adaptive = model.Known{MaxOutputTokens: 128_000, Reasoning: model.ReasoningAdaptive, Efforts: []string{"low", "medium", "high"}}

func knowing(k model.Known) func(*anthropic.Config) { return func(c *anthropic.Config) { c.Known = k } }

func cached(m *event.Message) *event.Message { m.Cache = true; return m }

var requests = []struct {
	name   string
	change func(*anthropic.Config)
	req    model.Request
	betas  string
}{
	{name: "text", req: model.Request{Messages: []*event.Message{instruction("Be brief."), user("Hello \"you\"")}}},
	{name: "thinking", req: model.Request{Reasoning: "low", Tools: tools, Messages: []*event.Message{
		instruction("Be brief."), user("Read a and b."),
		says(own, thinks("Two files.", "sig"), redacted, text("I read. \n"), calls("c1", "read", `{"path":"a"}`), calls("c2", "read", `{"path":"b"}`)),
		results(returned("c1", false, text("A")), returned("c2", true, text("no such file"))),
		says(own, calls("c3", "read", `{"path":"c"}`)),
		results(returned("c3", false, text("C"), text("D"))),
	}}},
	// Marks of another model are not sent, so the turn is ended without thinking.
	{name: "foreign", req: model.Request{Reasoning: "low", Messages: []*event.Message{
		instruction("Be brief."), user("Read."),
		says("openai/gpt-5", thinks("Hm.", "sig"), redacted, calls("functions.read:0", "re ad", `"broken`)),
		results(returned("functions.read:0", false)),
	}}},
	// In the next turn it thinks again.
	{name: "foreign_then_user", req: model.Request{Reasoning: "high", Messages: []*event.Message{
		user("Read."), says("openai/gpt-5", calls("c1", "read", "")), results(returned("c1", true)), user("Again."),
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
		says(own, calls("c1", "read", "{}")),
		results(
			returned("c1", true, text("look"), event.Part{Type: event.ImageInlinePart, MIMEType: "image/png", EncodedData: png},
				event.Part{Type: event.ImageURLPart, MIMEType: "image/png", URL: "https://example.com/?secret"}),
		),
	}}},
	{name: "merged", req: model.Request{Messages: []*event.Message{
		user("One."), user(" "), user("Two."), says(own, text("Yes.")), says(own, text("")), says(own, text("No.")), user("Three."),
	}}},
	{name: "marks", req: model.Request{Messages: []*event.Message{
		instruction("A"), cached(user("B")), cached(says(own, thinks("t", "s"))), cached(says(own, text("C"))),
		cached(user("D")), cached(user("E")), user("F"), says(own, thinks("last", "s")),
	}}},
	{name: "small_budget", req: model.Request{Reasoning: "5", Messages: hello().Messages}},
	{name: "large_budget", change: func(c *anthropic.Config) { c.MaxTokens = 4096 }, req: model.Request{Reasoning: "9999", Messages: hello().Messages}},
	{name: "later_model", change: func(c *anthropic.Config) { c.Model, c.Known = "claude-9", model.Known{} }, req: model.Request{Reasoning: "medium", Messages: hello().Messages}},
	{name: "unknown_model", change: func(c *anthropic.Config) { c.Model, c.Known = "some-model", model.Known{} }, req: model.Request{Reasoning: "medium", Messages: hello().Messages}},
	{name: "own_limit", change: func(c *anthropic.Config) { c.MaxTokens = 500 }, req: model.Request{Reasoning: "medium", Messages: hello().Messages}},
	{name: "old_model", change: func(c *anthropic.Config) {
		c.Model, c.Known = "claude-3-5-haiku-latest", model.Known{MaxOutputTokens: 8192}
	}, req: model.Request{Reasoning: "low", Messages: hello().Messages}},
	{name: "no_thinking", req: model.Request{Reasoning: expert.ReasoningNone, Messages: hello().Messages}},
	{name: "limited", req: model.Request{MaxTokens: 700, Messages: hello().Messages}},
	{name: "limited_thinking", req: model.Request{MaxTokens: 2000, Reasoning: "low", Messages: hello().Messages}},
	{name: "limited_no_thinking", req: model.Request{MaxTokens: 1200, Reasoning: "low", Messages: hello().Messages}},
	{name: "known_not_to_think", change: knowing(model.Known{Reasoning: model.ReasoningNone, MaxOutputTokens: 9000}), req: model.Request{Reasoning: "high", Messages: hello().Messages}},
	{name: "adaptive", change: knowing(adaptive), req: model.Request{Reasoning: "medium", Messages: []*event.Message{
		user("Read."), says(own, calls("c1", "read", "{}")), results(returned("c1", false, text("A"))), // a turn without a thought continues with one
	}}},
	{name: "adaptive_without_room", change: knowing(adaptive), req: model.Request{Reasoning: "high", MaxTokens: 1279, Messages: hello().Messages}},
	{name: "adaptive_off_extra", change: func(c *anthropic.Config) {
		c.Known, c.Extra = adaptive, wire.Extra{"output_config": rawjson.Value(`{"effort":"max"}`)}
	}, req: model.Request{Reasoning: expert.ReasoningNone, Messages: hello().Messages}},
	{name: "adaptive_off", change: knowing(adaptive), req: model.Request{Reasoning: expert.ReasoningNone, Messages: hello().Messages}},
	{name: "adaptive_unset", change: knowing(adaptive), req: model.Request{Messages: hello().Messages}},
	{
		name: "extra",
		change: func(c *anthropic.Config) {
			knowing(adaptive)(c)
			c.Extra = wire.Extra{"thinking": rawjson.Value(`{"type":"between_tools"}`), "service_tier": rawjson.Value(`"auto"`)}
		},
		req: model.Request{Reasoning: "high", Messages: hello().Messages},
	},
	{
		name: "extra_output",
		change: func(c *anthropic.Config) {
			knowing(adaptive)(c)
			c.Extra = wire.Extra{"output_config": rawjson.Value(`{"effort":"max"}`)}
		},
		req: model.Request{Reasoning: "high", Messages: hello().Messages},
	},
	{name: "text_only", req: model.Request{TextOnly: true, Tools: tools[:1], Messages: []*event.Message{
		user("Read."), says(own, calls("c1", "read", "{}")), results(returned("c1", false, text("A"))),
	}}},
	// What the provider ran goes back to it in its place, and to no other provider.
	{name: "provider_parts", change: func(c *anthropic.Config) { c.Tools = []string{"webSearch"} }, req: model.Request{Messages: []*event.Message{
		user("Search."),
		says(own, thinks("First.", "s1"), provider("web_search", `{"type":"server_tool_use","id":"s","input":{},"name":"web_search"}`),
			provider("web_search", `{"type":"web_search_tool_result","content":[],"tool_use_id":"s"}`),
			event.Part{Type: event.TextPart, Text: "Found.", ProviderData: rawjson.Value(`{"citations":[{"type":"page_location"},{"type":"web_search_result_location","url":"x"}]}`)},
			provider("memory", ` {"type":"memory"} `), provider("broken", `{"type"`)),
		user("And?"),
		says("openai/gpt-5", provider("web_search_call", `{"type":"web_search_call"}`), event.Part{Type: event.TextPart, Text: "Yes.", ProviderData: rawjson.Value(`{"citations":[{"type":"web_search_result_location"}]}`)}),
		user("More."),
		says(own, provider("web_search", `{"type":"server_tool_use","id":"t","input":{},"name":"web_search"}`)),
	}}},
	{name: "odd_names", req: model.Request{Tools: []model.Tool{{Name: "файл"}, {Name: "a.b"}, {Name: "a b"}}, Messages: []*event.Message{
		user("Read."), says(own, calls("c1", "a.b", "{}")), results(returned("c1", false, text("A"))),
	}}},
	{name: "blind", change: knowing(model.Known{MaxOutputTokens: 4096, Images: model.Unable, PDF: model.Unable}), req: model.Request{Messages: []*event.Message{asks(
		event.Part{Type: event.ImageInlinePart, MIMEType: "image/png", EncodedData: png},
		event.Part{Type: event.FileInlinePart, MIMEType: "application/pdf", EncodedData: pdf},
		event.Part{Type: event.ImageURLPart, MIMEType: "image/png", URL: "https://example.com/a.png"},
		event.Part{Type: event.FileInlinePart, MIMEType: "text/plain", EncodedData: note},
	)}}},
	{
		name: "hosted_tools",
		change: func(c *anthropic.Config) {
			c.Tools = []string{"webSearch", "webFetch", "codeExecution", "webFetch"}
			c.ToolOptions = &expert.ProviderToolOptions{
				WebSearch: &expert.WebSearchOptions{MaxUses: 3, AllowedDomains: []string{"example.com"}},
				WebFetch:  &expert.WebFetchOptions{MaxUses: 2},
			}
			c.Client.Header = http.Header{"anthropic-beta": {"mine-1"}}
		},
		req:   model.Request{Tools: tools, Messages: hello().Messages},
		betas: "web-fetch-2025-09-10,code-execution-2025-05-22,mine-1",
	},
	{
		name: "hosted_skills",
		change: func(c *anthropic.Config) {
			c.Tools = []string{"codeExecution"}
			c.Skills = []expert.ProviderSkill{{Type: "builtin", SkillID: "pdf"}, {Type: "builtin", SkillID: "xlsx"}}
		},
		req:   model.Request{Tools: tools[:1], Messages: hello().Messages},
		betas: "code-execution-2025-08-25,skills-2025-10-02,files-api-2025-04-14",
	},
}

func TestRequests(t *testing.T) {
	for _, test := range requests {
		t.Run(test.name, func(t *testing.T) {
			var body []byte
			m := serve(t, func(w http.ResponseWriter, r *http.Request) {
				body, _ = io.ReadAll(r.Body)
				if got := strings.Join(r.Header.Values("Anthropic-Beta"), "+"); got != test.betas {
					t.Errorf("betas %q", got)
				}
				if r.URL.Path != "/v1/messages" || r.Header.Get("X-Api-Key") != key || r.Header.Get("Anthropic-Version") != "2023-06-01" {
					t.Errorf("%s %v", r.URL, r.Header)
				}
				streaming(start, end, stop)(w, r)
			}, test.change)
			if _, _, err := ask(t.Context(), m, &test.req); err != nil {
				t.Fatal(err)
			}
			v := rawjson.Value(body)
			if err := (*jsontext.Value)(&v).Indent(jsontext.WithIndent("  ")); err != nil {
				t.Fatalf("%v in %s", err, body)
			}
			if n := strings.Count(string(body), "cache_control"); n > 4 {
				t.Errorf("%d marks", n)
			}
			testkit.Golden(t, test.name+".json", string(v)+"\n")
		})
	}
}

// The limit of a request lowers that of the model and never raises it. Thinking gets what
// an answer leaves, or nothing.
func TestMaxTokens(t *testing.T) {
	for _, tt := range []struct {
		model         string
		own, asked    int // limits, of the configuration and of the request
		reasoning     expert.ReasoningBudget
		limit, budget int
	}{
		{"claude-sonnet-4-5", 0, 0, "", 64_000, 0},
		{"claude-sonnet-4-5", 0, 0, "high", 64_000, 10_000},
		{"claude-sonnet-4-5", 0, 1, "", 1, 0},
		{"claude-sonnet-4-5", 0, 64_001, "", 64_000, 0},
		{"claude-sonnet-4-5", 0, 20_000, "high", 20_000, 10_000},
		{"claude-sonnet-4-5", 0, 10_256, "high", 10_256, 10_000},
		{"claude-sonnet-4-5", 0, 10_255, "high", 10_255, 9_999},
		{"claude-sonnet-4-5", 0, 1_280, "high", 1_280, 1_024},
		{"claude-sonnet-4-5", 0, 1_279, "high", 1_279, 0},
		{"claude-sonnet-4-5", 0, 256, "high", 256, 0},
		{"claude-sonnet-4-5", 0, 1, "high", 1, 0},
		{"claude-sonnet-4-5", 0, 2_000, "none", 2_000, 0},
		{"claude-sonnet-4-5", 0, 2_000, "5", 2_000, 1_024},
		{"claude-sonnet-4-5", 0, -1, "", 64_000, 0},
		{"claude-sonnet-4-5", 3_000, 2_000, "high", 2_000, 1_744},
		{"claude-sonnet-4-5", 2_000, 3_000, "high", 2_000, 1_744},
		{"claude-sonnet-4-5", 99_000, 0, "", 64_000, 0},
		{"claude-3-haiku", 0, 5_000, "high", 4_096, 0},
		{"some-model", 0, 0, "low", 6_144, 2_048},
		{"some-model", 0, 10_000, "low", 6_144, 2_048},
		{"some-model", 0, 3_000, "medium", 3_000, 2_744},
	} {
		var sent struct {
			MaxTokens int `json:"max_tokens"`
			Thinking  struct {
				Budget int `json:"budget_tokens"`
			} `json:"thinking"`
		}
		m := serve(t, func(w http.ResponseWriter, r *http.Request) {
			if err := json.UnmarshalRead(r.Body, &sent); err != nil {
				t.Error(err)
			}
			streaming(start, end, stop)(w, r)
		}, func(c *anthropic.Config) {
			if c.MaxTokens = tt.own; c.Model != tt.model {
				c.Model, c.Known = tt.model, model.Known{}
			}
		})
		req := hello()
		req.MaxTokens, req.Reasoning = tt.asked, tt.reasoning
		if _, _, err := ask(t.Context(), m, req); err != nil {
			t.Fatal(err)
		}
		if sent.MaxTokens != tt.limit || sent.Thinking.Budget != tt.budget {
			t.Errorf("%+v: sent %+v", tt, sent)
		}
	}
}

func TestMessagesAreEncodedOnce(t *testing.T) {
	var bodies []string
	m := serve(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		bodies = append(bodies, string(body))
		streaming(start, end, stop)(w, r)
	}, nil)
	req := &model.Request{Messages: []*event.Message{instruction("Be brief.")}}
	for i := range 10 {
		req.Messages = append(req.Messages, user("Question."), says(own, text("Answer.")))
		if _, _, err := ask(t.Context(), m, req); err != nil {
			t.Fatal(err)
		}
		if got, want := m.Encodings(), int64(len(req.Messages)); got != want {
			t.Errorf("request %d: %d encodings of %d messages", i, got, want)
		}
		if n := strings.Count(bodies[i], "cache_control"); n != 2 {
			t.Errorf("%d marks in %s", n, bodies[i])
		}
	}
}

func TestConfigurationErrors(t *testing.T) {
	for want, change := range map[string]func(*anthropic.Config){
		"no model is named":                  func(c *anthropic.Config) { c.Model = "" },
		"ANTHROPIC_API_KEY is not set":       func(c *anthropic.Config) { c.Key = "" },
		"spaces and line ends":               func(c *anthropic.Config) { c.Key += "\n" },
		"not https":                          func(c *anthropic.Config) { c.Client.BaseURL = "http://example.com" },
		"webSearch, webFetch, codeExecution": func(c *anthropic.Config) { c.Tools = []string{"googleMaps"} },
		"make it a skill of the Expert":      func(c *anthropic.Config) { c.Skills = []expert.ProviderSkill{{Type: "custom", Name: "x"}} },
		"pdf, docx, pptx and xlsx":           func(c *anthropic.Config) { c.Skills = []expert.ProviderSkill{{Type: "builtin", SkillID: "mp3"}} },
		`cannot set "messages"`:              func(c *anthropic.Config) { c.Extra = wire.Extra{"messages": rawjson.Value(`[]`)} },
		`cannot set "max_tokens"`:            func(c *anthropic.Config) { c.Extra = wire.Extra{"max_tokens": rawjson.Value(`1`)} },
		"is negative":                        func(c *anthropic.Config) { c.MaxTokens = -1 },
		"no HTTP client":                     func(c *anthropic.Config) { c.Client.HTTP = nil },
	} {
		cfg := anthropic.Config{Key: key}
		cfg.Model = "m"
		cfg.Client.HTTP = &http.Client{}
		change(&cfg)
		m, err := anthropic.New(cfg)
		if m != nil || err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), key) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}
