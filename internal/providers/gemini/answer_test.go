package gemini_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/internal/providers/gemini"
	"github.com/perstack-go/perstack/internal/providers/wire/wiretest"
	"github.com/perstack-go/perstack/model"
	"github.com/perstack-go/perstack/rawjson"
)

func TestAnswers(t *testing.T) {
	for _, test := range []struct {
		name   string
		chunks []string
		told   []string
		want   model.Answer
	}{
		{
			"text", []string{parts(hel), parts(`{"text":""}`), parts(lo), ending("STOP", `{"text":""}`)},
			[]string{"say:Hel", "say:lo"},
			model.Answer{Parts: []event.Part{text("Hello")}, Usage: usage, Finish: model.FinishStop, Reason: "STOP"},
		},
		{
			"a thought, then text with a signature at its end", []string{
				parts(`{"text":"Hm","thought":true}`), parts(`{"text":".","thought":true}`), parts(hel), parts(`{"text":"lo","thoughtSignature":"c2ln"}`), ending("STOP", `{"text":"!"}`),
			},
			[]string{"think:Hm", "think:.", "say:Hel", "say:lo", "say:!"},
			model.Answer{Parts: []event.Part{thinks("Hm."), text("Hel"), marked(text("lo"), `{"thoughtSignature":"c2ln"}`), text("!")}, Usage: usage, Finish: model.FinishStop, Reason: "STOP"},
		},
		{
			"signatures of nothing, and of a thought", []string{
				parts(`{"text":"Hm","thought":true,"thoughtSignature":"MQ=="}`, `{"text":"So","thought":true}`), parts(hel), ending("STOP", `{"text":"","thoughtSignature":"Mg=="}`, `{"thoughtSignature":"Mw=="}`),
			},
			[]string{"think:Hm", "think:So", "say:Hel"},
			model.Answer{Parts: []event.Part{
				marked(thinks("Hm"), `{"thoughtSignature":"MQ=="}`), thinks("So"), text("Hel"), marked(text(""), `{"thoughtSignature":"Mg=="}`), marked(text(""), `{"thoughtSignature":"Mw=="}`),
			}, Usage: usage, Finish: model.FinishStop, Reason: "STOP"},
		},
		{
			"calls", []string{
				parts(hel, `{"functionCall":{"name":"read","args":{"path":"x","at":9007199254740995}},"thoughtSignature":"c2ln"}`),
				parts(`{"functionCall":{"name":"web_20_search_2f_1_xa269301f"}}`, `{"functionCall":{"id":"i7","name":"nobody","args":null}}`, `{"functionCall":{"name":"read","args":[1]}}`), ending("STOP"),
			},
			[]string{"say:Hel"},
			model.Answer{Parts: []event.Part{
				text("Hel"), marked(calls("", "read", `{"path":"x","at":9007199254740995}`), `{"thoughtSignature":"c2ln"}`),
				calls("", "web search/1", `{}`), marked(calls("i7", "nobody", `{}`), `{"id":"i7"}`), calls("", "read", `[1]`),
			}, Usage: usage, Finish: model.FinishToolCalls, Reason: "STOP"},
		},
		{
			"what Google ran", []string{
				parts(`{"executableCode":{"language":"PYTHON","code":"1"},"thoughtSignature":"c2ln"}`), parts(`{"codeExecutionResult":{"outcome":"OUTCOME_OK","output":"1"}}`),
				parts(`{"toolCall":{"toolType":"GOOGLE_SEARCH_WEB","id":"a"}}`, `{"toolResponse":{"toolType":"GOOGLE_SEARCH_WEB","id":"a","response":{}}}`),
				`{"candidates":[{"content":{"parts":[{"text":"One."}]},"groundingMetadata":{"webSearchQueries":["early"]}}]}`,
				`{"candidates":[{"finishReason":"STOP","groundingMetadata":{"webSearchQueries":["x"]},"urlContextMetadata":{"urlMetadata":[]}}]}`,
			},
			[]string{"say:One."},
			model.Answer{Parts: []event.Part{
				ran("codeExecution", `{"executableCode":{"language":"PYTHON","code":"1"},"thoughtSignature":"c2ln"}`), ran("codeExecution", `{"codeExecutionResult":{"outcome":"OUTCOME_OK","output":"1"}}`),
				ran("toolCall GOOGLE_SEARCH_WEB", `{"toolCall":{"toolType":"GOOGLE_SEARCH_WEB","id":"a"}}`), ran("toolCall GOOGLE_SEARCH_WEB", `{"toolResponse":{"toolType":"GOOGLE_SEARCH_WEB","id":"a","response":{}}}`),
				text("One."), ran("groundingMetadata", `{"groundingMetadata":{"webSearchQueries":["x"]}}`), ran("urlContextMetadata", `{"urlContextMetadata":{"urlMetadata":[]}}`),
			}, Usage: begun, Finish: model.FinishStop, Reason: "STOP"},
		},
		{
			"unknown members and parts, and a second candidate", []string{
				`{"news":1,"candidates":[{"index":0,"news":[],"content":{"parts":[{"news":{"odd":1}},{"text":"Hel","news":{}}]}},{"index":1,"content":{"parts":[{"text":"other"}]},"finishReason":"SAFETY"}]}`, `{}`, ending("STOP", lo),
			},
			[]string{"say:Hel", "say:lo"},
			model.Answer{Parts: []event.Part{text("Hello")}, Usage: usage, Finish: model.FinishStop, Reason: "STOP"},
		},
		{
			"the reason before the last words", []string{ending("STOP", hel), ending("STOP", lo), `{"candidates":[]}`},
			[]string{"say:Hel", "say:lo"},
			model.Answer{Parts: []event.Part{text("Hello")}, Usage: usage, Finish: model.FinishStop, Reason: "STOP"},
		},
		{
			"a question that is not read", []string{`{"promptFeedback":{"blockReason":"PROHIBITED_CONTENT"},"usageMetadata":{"promptTokenCount":10}}`},
			nil, model.Answer{Usage: begun, Finish: model.FinishContentFilter, Reason: "PROHIBITED_CONTENT"},
		},
		{"no output", []string{`{"candidates":[{"finishReason":"STOP"}]}`}, nil, model.Answer{Finish: model.FinishStop, Reason: "STOP"}},
		{
			"nonsense usage", []string{`{"candidates":[{"finishReason":"STOP"}],"usageMetadata":{"promptTokenCount":-5,"candidatesTokenCount":9223372036854775807}}`}, nil,
			model.Answer{Usage: event.Usage{OutputTokens: 1 << 30, TotalTokens: 1 << 30}, Finish: model.FinishStop, Reason: "STOP"},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			req := hello()
			req.Tools = tools
			answer, told, err := ask(t.Context(), serve(t, streaming(test.chunks...)), req)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(&test.want, answer); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if !slices.Equal(told, test.told) {
				t.Errorf("told %q", told)
			}
		})
	}
}

func ran(tool, data string) event.Part {
	return event.Part{Type: event.ProviderPart, ToolName: tool, ProviderData: rawjson.Value(data)}
}

func TestFinish(t *testing.T) {
	for reason, want := range map[string]model.Finish{
		"STOP": model.FinishStop, "MAX_TOKENS": model.FinishLength,
		"SAFETY": model.FinishContentFilter, "RECITATION": model.FinishContentFilter, "BLOCKLIST": model.FinishContentFilter,
		"PROHIBITED_CONTENT": model.FinishContentFilter, "SPII": model.FinishContentFilter, "MODEL_ARMOR": model.FinishContentFilter,
		"IMAGE_SAFETY": model.FinishContentFilter, "IMAGE_PROHIBITED_CONTENT": model.FinishContentFilter, "IMAGE_RECITATION": model.FinishContentFilter,
		"OTHER": model.FinishOther, "FINISH_REASON_UNSPECIFIED": model.FinishOther, "LANGUAGE": model.FinishOther,
		"TOO_MANY_TOOL_CALLS": model.FinishOther, "tired": model.FinishOther,
	} {
		answer, _, err := ask(t.Context(), serve(t, streaming(parts(hel), ending(reason))), hello())
		if err != nil || answer.Finish != want || answer.Reason != reason {
			t.Errorf("%s: %+v, %v", reason, answer, err)
		}
	}
	answer, _, err := ask(t.Context(), serve(t, streaming(ending("MAX_TOKENS", `{"functionCall":{"name":"read"}}`))), hello())
	if err != nil || answer.Finish != model.FinishLength || len(answer.Calls()) != 1 {
		t.Errorf("a call at the limit: %+v, %v", answer, err)
	}
}

// What the model answered is what it is sent again, with every signature on the part on
// which it came. The server refuses a signature that was moved or changed, and, as Gemini 3
// does, a call without.
func TestSignaturesComeBack(t *testing.T) {
	const script = "[[turn]]\nreasoning = \"Two files.\"\ntext = \"I read.\"\n[[turn.call]]\nid = \"c1\"\ntool = \"read\"\nargs = { path = \"a\" }\n" +
		"[[turn.call]]\nid = \"c2\"\ntool = \"read\"\nargs = { path = \"b\" }\n" +
		"[[turn]]\nreasoning = \"One more.\"\n[[turn.call]]\nid = \"c3\"\ntool = \"web_20_search_2f_1_xa269301f\"\n" +
		"[[turn]]\nreasoning = \"Done.\"\ntext = \"Done.\"\n[[turn]]\ntext = \"Bye.\"\n"
	for _, name := range []string{"gemini-2.5-flash", third} {
		server, m := scripted(t, script, named(name))
		req := &model.Request{Tools: tools, Reasoning: "low", Messages: []*event.Message{user("Read.")}}
		for turn := range 4 {
			answer, _, err := ask(t.Context(), m, req)
			if err != nil {
				t.Fatalf("%s, turn %d: %v\n%s", name, turn+1, err, server.Requests()[turn].Raw)
			}
			said := says("google/"+name, answer.Parts...)
			req.Messages = append(req.Messages, said)
			var done []event.Part
			for i := range said.Contents {
				if p := &said.Contents[i]; p.Type == event.ToolCallPart {
					if (p.ToolCallID != "") != (name == third) {
						t.Errorf("%s: a call has the id %q", name, p.ToolCallID)
					}
					if p.ToolCallID == "" { // as the engine does
						p.ToolCallID = "made" + string(rune('a'+turn)) + string(rune('a'+i))
					}
					done = append(done, returned(p.ToolCallID, text("ok")))
				}
			}
			slices.Reverse(done)
			if len(done) > 0 {
				req.Messages = append(req.Messages, results(done...))
			} else {
				req.Messages = append(req.Messages, user("Go on."))
			}
		}
		if n := strings.Count(string(server.Requests()[3].Raw), "thoughtSignature"); n != 3 {
			t.Errorf("%s: %d signatures came back, want 3", name, n)
		}
	}
}

// The history of another model is taken by Gemini 3, without its marks.
func TestForeignHistory(t *testing.T) {
	server, m := scripted(t, "[[turn]]\ntext = \"One.\"\n[[turn]]\ntext = \"Two.\"\n", named(third))
	req := &model.Request{Tools: tools, Messages: []*event.Message{
		user("Read."),
		says(own, marked(thinks("foreign"), `{"thoughtSignature":"eA=="}`), marked(calls("c1", "read", `{}`), `{"thoughtSignature":"eA==","id":"other"}`), ran("codeExecution", `{"executableCode":{"code":"foreign"}}`)),
		results(returned("c1", text("A"))),
	}}
	if _, _, err := ask(t.Context(), m, req); err != nil {
		t.Fatal(err)
	}
	sent := string(server.Requests()[0].Raw)
	for _, mark := range []string{"foreign", "eA==", "other"} {
		if strings.Contains(sent, mark) {
			t.Errorf("%q is in %s", mark, sent)
		}
	}
}

// A connection that breaks after the reason of the end may have had more to say: some
// models continue after it.
func TestCutAfterTheEnd(t *testing.T) {
	m := serve(t, func(w http.ResponseWriter, r *http.Request) {
		streaming(parts(hel), ending("STOP", lo))(w, r)
		http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	})
	if answer, _, err := ask(t.Context(), m, hello()); err == nil || !model.AsError(err).Retryable {
		t.Errorf("%+v, %v", answer, err)
	}
}

// A server that gave the reason of the end, and then says nothing more, has answered.
func TestStallAfterTheEnd(t *testing.T) {
	m := serve(t, nil, func(c *gemini.Config) {
		c.Client.Idle = time.Millisecond
		body := asSSE(ending("STOP", hel))
		c.Client.HTTP = wiretest.Client("text/event-stream", &body, true)
	})
	answer, _, err := ask(t.Context(), m, hello())
	if err != nil || answer.Text() != "Hel" {
		t.Errorf("%+v, %v", answer, err)
	}
}
