package wire_test

import (
	"bytes"
	"net/http"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/expert"
	"github.com/perstack-go/perstack/internal/testkit/llm"
	"github.com/perstack-go/perstack/model"
	"github.com/perstack-go/perstack/model/anthropic"
	"github.com/perstack-go/perstack/model/wire"
)

const modelName = "claude-sonnet-4-5"

// A conversation is held with the scripted server, which refuses what the service would;
// each of its requests is then held against the SDK.
type conversation struct {
	name      string
	change    func(*anthropic.Config)
	reasoning expert.ReasoningBudget
	maxTokens int
	tools     []model.Tool
	script    string
	said      [][]*event.Message // before each answer
}

func (c conversation) check(t *testing.T) {
	server, m := start(t, c.script, c.change)
	req := &model.Request{Reasoning: c.reasoning, MaxTokens: c.maxTokens, Tools: c.tools}
	for _, messages := range c.said {
		req.Messages = append(req.Messages, messages...)
		answer, _, err := ask(t.Context(), m, req)
		if err != nil {
			t.Fatal(err)
		}
		req.Messages = append(req.Messages, remember(answer))
	}
	requests := server.Requests()
	if len(requests) != len(c.said) {
		t.Fatalf("%d requests for %d turns", len(requests), len(c.said))
	}
	// What a model wrote is sent as it was. The SDK is no judge of that: it rounds.
	if last := requests[len(requests)-1].Raw; strings.Contains(c.script, large) && !bytes.Contains(last, []byte(large)) {
		t.Errorf("%s became another number in %s", large, last)
	}
	for _, r := range requests {
		var betas []string
		if header := r.Header.Get("Anthropic-Beta"); header != "" {
			betas = strings.Split(header, ",")
		}
		survives(t, r.Raw, betas)
	}
}

// start returns our model, at a server that plays a script.
func start(t *testing.T, script string, change func(*anthropic.Config)) (*llm.Server, *anthropic.Model) {
	t.Helper()
	s, err := llm.Parse(t.Name(), []byte(script))
	if err != nil {
		t.Fatal(err)
	}
	server, url := llm.Start(t, s)
	cfg := anthropic.Config{Client: wire.Client{BaseURL: url, HTTP: wire.NewHTTPClient(nil)}, Key: llm.Key, Model: modelName}
	if change != nil {
		change(&cfg)
	}
	m, err := anthropic.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return server, m
}

// remember is an answer as the engine puts it into the next request.
func remember(a *model.Answer) *event.Message {
	m := &event.Message{Type: event.ExpertMessage, Author: "anthropic/" + modelName}
	for _, thought := range a.Thinking {
		m.Contents = append(m.Contents, event.Part{Type: event.ThinkingPart, Thinking: thought.Text, Signature: thought.Signature, ProviderData: thought.ProviderData})
	}
	if a.Text != "" {
		m.Contents = append(m.Contents, text(a.Text))
	}
	for _, call := range a.Calls {
		m.Contents = append(m.Contents, event.Part{Type: event.ToolCallPart, ToolCallID: call.ID, ToolName: call.Tool, Args: call.Args})
	}
	return m
}

func text(s string) event.Part { return event.Part{Type: event.TextPart, Text: s} }

func message(kind event.MessageType, parts ...event.Part) []*event.Message {
	return []*event.Message{{Type: kind, Contents: parts}}
}

func user(parts ...event.Part) []*event.Message { return message(event.UserMessage, parts...) }

func results(parts ...event.Part) []*event.Message { return message(event.ToolMessage, parts...) }

func result(id string, isError bool, parts ...event.Part) event.Part {
	return event.Part{Type: event.ToolResultPart, ToolCallID: id, IsError: isError, Contents: parts}
}

func image(kind, data string) event.Part {
	return event.Part{Type: event.ImageInlinePart, MIMEType: kind, EncodedData: data}
}

func marked(messages ...[]*event.Message) (all []*event.Message) {
	for _, list := range messages {
		for _, m := range list {
			m.Cache = true
		}
		all = append(all, list...)
	}
	return all
}

// The first bytes of some files, in base64.
const (
	png  = "iVBORw0KGgoAAAAN"
	gif  = "R0lGODlhAQABAAAA"
	pdf  = "JVBERi0xLjcK"
	note = "bm90ZXM="
)

// The schema has what schemas of real tools have, and numbers that a float would change.
var tools = []model.Tool{
	{Name: "read", Description: "Reads a \"file\" <or> more.", InputSchema: jsontext.Value(`{"$schema":"https://json-schema.org/draft/2020-12/schema","type":"object",` +
		`"properties":{"path":{"type":"string","enum":["a","b",null]},"at":{"type":"integer","minimum":0,"maximum":9007199254740993,"default":1.50}},` +
		`"required":["path"],"additionalProperties":false,"$defs":{"x":{"anyOf":[{"type":"null"},true]}}}`)},
	{Name: "think"},
}

const (
	large    = "9007199254740995" // no float64 has it
	twoTexts = "[[turn]]\ntext = \"One.\"\n[[turn]]\ntext = \"Two.\"\n"
	oneCall  = "[[turn]]\n[[turn.call]]\nid = \"c1\"\ntool = \"read\"\nargs = { path = \"a\", at = " + large + " }\n[[turn]]\ntext = \"Done.\"\n"
)

var conversations = []conversation{
	{name: "text", script: twoTexts, said: [][]*event.Message{
		append(message(event.InstructionMessage, text("Be \"brief\".")), user(text("Hello <b>&\u2028 \U0001F44B"))...), user(text("Again."), text("And again.")),
	}},
	{name: "tools", tools: tools, script: oneCall, said: [][]*event.Message{user(text("Read.")), results(result("c1", false, text("A"), text("B")))}},
	{name: "tool without output", tools: tools, script: oneCall, said: [][]*event.Message{user(text("Read.")), results(result("c1", false))}},
	{name: "tool error", tools: tools, script: oneCall, said: [][]*event.Message{user(text("Read.")), results(result("c1", true, text("no such file")))}},
	{
		name: "parallel calls", tools: tools,
		script: "[[turn]]\ntext = \"I read both.\"\n[[turn.call]]\nid = \"c1\"\ntool = \"read\"\nargs = { path = \"a\" }\n[[turn.call]]\nid = \"c2\"\ntool = \"think\"\n[[turn]]\ntext = \"Done.\"\n",
		said:   [][]*event.Message{user(text("Read.")), append(results(result("c1", false, text("A"))), results(result("c2", true, text("no")))...)},
	},
	{
		name: "thinking", tools: tools, reasoning: "low",
		script: "[[turn]]\nreasoning = \"I should read.\"\n[[turn.call]]\nid = \"c1\"\ntool = \"read\"\n[[turn]]\ntext = \"Done.\"\n",
		said:   [][]*event.Message{user(text("Read.")), results(result("c1", false, text("A")))},
	},
	{
		name: "redacted thinking", tools: tools, reasoning: "high",
		script: "[[turn]]\nreasoning = \"Hm.\"\nredacted = \"c2VjcmV0\"\n[[turn.call]]\nid = \"c1\"\ntool = \"read\"\n[[turn]]\ntext = \"Done.\"\n",
		said:   [][]*event.Message{user(text("Read.")), results(result("c1", false, text("A")))},
	},
	// The server refuses a budget that is not below the limit.
	{name: "limit", maxTokens: 300, script: twoTexts, said: [][]*event.Message{user(text("Hello")), user(text("Again."))}},
	{
		name: "limit with thinking", tools: tools, reasoning: "high", maxTokens: 1500,
		script: "[[turn]]\nreasoning = \"I should read.\"\n[[turn.call]]\nid = \"c1\"\ntool = \"read\"\n[[turn]]\ntext = \"Done.\"\n",
		said:   [][]*event.Message{user(text("Read.")), results(result("c1", false, text("A")))},
	},
	{name: "limit without thinking", reasoning: "high", maxTokens: 1024, script: twoTexts, said: [][]*event.Message{user(text("Hello")), user(text("Again."))}},
	{
		name: "images", tools: tools, script: oneCall,
		said: [][]*event.Message{
			user(text("Look:"), image("image/png", png), image("image/gif", gif),
				event.Part{Type: event.ImageURLPart, MIMEType: "image/png", URL: "https://example.com/a.png?b=1&c=2"}),
			results(result("c1", false, text("look"), image("image/png", png))),
		},
	},
	{
		name: "documents", tools: tools, script: oneCall,
		said: [][]*event.Message{
			user(event.Part{Type: event.FileInlinePart, MIMEType: "application/pdf", EncodedData: pdf},
				event.Part{Type: event.FileURLPart, MIMEType: "application/pdf", URL: "https://example.com/a.pdf"},
				event.Part{Type: event.FileInlinePart, MIMEType: "text/markdown", EncodedData: note}),
			results(result("c1", false, event.Part{Type: event.FileInlinePart, MIMEType: "application/pdf", EncodedData: pdf})),
		},
	},
	{name: "cache marks", tools: tools, script: oneCall, said: [][]*event.Message{
		marked(message(event.InstructionMessage, text("Be brief.")), user(image("image/png", png)), user(text("Read."))),
		marked(results(result("c1", false, text("A")))),
	}},
	{
		name: "provider tools", tools: tools, script: twoTexts,
		change: func(c *anthropic.Config) {
			c.Tools = []string{"webSearch", "webFetch", "codeExecution"}
			c.ToolOptions = &expert.ProviderToolOptions{
				WebSearch: &expert.WebSearchOptions{MaxUses: 3, AllowedDomains: []string{"example.com"}},
				WebFetch:  &expert.WebFetchOptions{MaxUses: 2},
			}
			c.Client.Header = http.Header{"Anthropic-Beta": {"mine-1"}}
		},
		said: [][]*event.Message{user(text("Search.")), user(text("Again."))},
	},
	{
		name: "provider web search", tools: tools, script: twoTexts,
		change: func(c *anthropic.Config) { c.Tools = []string{"webSearch"} },
		said:   [][]*event.Message{user(text("Search."))},
	},
	{
		name: "provider skills", tools: tools, script: twoTexts,
		change: func(c *anthropic.Config) {
			c.Skills = []expert.ProviderSkill{{Type: "builtin", SkillID: "pdf"}, {Type: "builtin", SkillID: "xlsx"}}
		},
		said: [][]*event.Message{user(text("Make a sheet."))},
	},
}
