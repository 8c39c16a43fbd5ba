package responses_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/internal/providers/wire"
	"github.com/perstack-go/perstack/model"
)

const (
	rs      = `{"type":"reasoning","id":"rs_1","encrypted_content":"sealed","summary":[{"type":"summary_text","text":"One."},{"type":"summary_text","text":"Two."}]}`
	rsEmpty = `{"type":"reasoning","id":"rs_2","encrypted_content":"hidden","summary":[]}`
)

func summary(at, part int, words string) string {
	return fmt.Sprintf(`{"type":"response.reasoning_summary_text.delta","output_index":%d,"summary_index":%d,"delta":%q}`, at, part, words)
}

func summaryPart(at, part int) string {
	return fmt.Sprintf(`{"type":"response.reasoning_summary_part.added","output_index":%d,"summary_index":%d,"part":{"type":"summary_text","text":""}}`, at, part)
}

var hello1 = marked(text("Hello"), `{"id":"msg_1","phase":"final_answer"}`)

func TestAnswers(t *testing.T) {
	stop := model.Answer{Parts: []event.Part{hello1}, Usage: usage, Finish: model.FinishStop, Reason: "completed"}
	for _, test := range []struct {
		name   string
		events []string
		told   []string
		want   model.Answer
	}{
		{"text", []string{created, msgAdded, textOne, textTwo, msgDone, done}, []string{"say:Hel", "say:lo"}, stop},
		{"text without pieces", []string{created, msgAdded, msgDone, done}, []string{"say:Hello"}, stop},
		{
			"text in the last event alone",
			[]string{`{"type":"response.completed","response":{"status":"completed","output":[` + msg + `],` + counted + `}}`},
			[]string{"say:Hello"}, stop,
		},
		{
			"an item that ends twice", []string{created, ended(0, search), ended(0, search), done}, nil,
			model.Answer{Parts: []event.Part{ran(search)}, Usage: usage, Finish: model.FinishStop, Reason: "completed"},
		},
		{"an end of another API", []string{textOne, textTwo, "[DONE]", msgDone, done}, []string{"say:Hel", "say:lo"}, stop},
		{
			"thoughts, a search, text and calls in order", []string{
				created, added(0, `{"type":"reasoning","id":"rs_1","encrypted_content":"not yet","summary":[]}`),
				summaryPart(0, 0), summary(0, 0, "On"), summary(0, 0, "e."), summaryPart(0, 1), summary(0, 1, "Two."), ended(0, rs),
				added(1, rsEmpty), ended(1, rsEmpty),
				added(2, `{"type":"web_search_call","id":"ws_1","status":"in_progress"}`), `{"type":"response.web_search_call.searching","item_id":"ws_1","output_index":2}`, ended(2, search),
				added(3, call("a", "read", "")), arguments(3, `{"pa`), arguments(3, `th":"x"}`), ended(3, call("a", "read", `{"path":"x"}`)),
				added(4, `{"type":"reasoning","id":"rs_3","summary":[]}`), ended(4, `{"type":"reasoning","id":"rs_3","encrypted_content":"more","summary":null}`),
				added(5, call("b", wire.ToolName("files.read/all", 64), "")), ended(5, call("b", wire.ToolName("files.read/all", 64), "{}")),
				done,
			},
			[]string{"think:On", "think:e.", "think:\n\n", "think:Two."},
			model.Answer{Parts: []event.Part{
				marked(event.Part{Type: event.ThinkingPart, Thinking: "One.\n\nTwo."}, `{"type":"reasoning","id":"rs_1","summary":[{"type":"summary_text","text":"One."},{"type":"summary_text","text":"Two."}],"encrypted_content":"sealed"}`),
				marked(event.Part{Type: event.ThinkingPart}, `{"type":"reasoning","id":"rs_2","summary":[],"encrypted_content":"hidden"}`),
				marked(event.Part{Type: event.ProviderPart, ToolName: "web_search"}, search),
				marked(calls("a", "read", `{"path":"x"}`), `{"id":"fc_a"}`),
				marked(event.Part{Type: event.ThinkingPart}, `{"type":"reasoning","id":"rs_3","summary":[],"encrypted_content":"more"}`),
				marked(calls("b", "files.read/all", `{}`), `{"id":"fc_b"}`),
			}, Usage: usage, Finish: model.FinishToolCalls, Reason: "completed"},
		},
		{
			"calls side by side, interleaved; ids twice; broken arguments", []string{
				added(0, call("a", "read", "")), added(1, call("a", "nobody", "")), arguments(0, ""), arguments(1, `{"path":`), arguments(0, `{"x`),
				ended(1, call("a", "nobody", `{"path":`)), ended(0, call("a", "read", `{"x`)), incomplete("max_output_tokens"),
			}, nil,
			model.Answer{Parts: []event.Part{
				marked(calls("a", "read", `{"x`), `{"id":"fc_a"}`), marked(calls("a", "nobody", `{"path":`), `{"id":"fc_a"}`),
			}, Usage: usage, Finish: model.FinishLength, Reason: "max_output_tokens"},
		},
		{
			"a call without an announcement", []string{arguments(0, `{"a":1}`), ended(0, call("a", "read", `{"a":1}`)), done}, nil,
			model.Answer{Parts: []event.Part{marked(calls("a", "read", `{"a":1}`), `{"id":"fc_a"}`)}, Usage: usage, Finish: model.FinishToolCalls, Reason: "completed"},
		},
		{
			"a last event that counts in another way", []string{
				ended(0, call("a", "read", "{}")), `{"type":"response.completed","response":{"output":[` + rs + `,` + call("a", "read", "{}") + `],` + counted + `}}`,
			}, nil,
			model.Answer{Parts: []event.Part{marked(calls("a", "read", `{}`), `{"id":"fc_a"}`)}, Usage: usage, Finish: model.FinishToolCalls, Reason: "completed"},
		},
		{
			"a refusal in words", []string{
				created, msgAdded, `{"type":"response.refusal.delta","output_index":0,"content_index":0,"delta":"No."}`,
				ended(0, `{"type":"message","id":"msg_1","content":[{"type":"refusal","refusal":"No."}]}`), done,
			}, []string{"say:No."},
			model.Answer{Parts: []event.Part{marked(text("No."), `{"type":"refusal","id":"msg_1"}`)}, Usage: usage, Finish: model.FinishContentFilter, Reason: "refusal"},
		},
		{
			"a message of two texts", []string{
				ended(0, `{"type":"message","id":"msg_1","content":[{"type":"output_text","text":"A"},{"type":"output_audio","data":"x"},{"type":"output_text","text":"B"}]}`), done,
			}, []string{"say:A", "say:B"},
			model.Answer{Parts: []event.Part{marked(text("A"), `{"id":"msg_1"}`), marked(text("B"), `{"id":"msg_1"}`)}, Usage: usage, Finish: model.FinishStop, Reason: "completed"},
		},
		{
			"thoughts that are not encrypted", []string{
				`{"type":"response.reasoning_text.delta","output_index":0,"content_index":0,"delta":"Hm."}`,
				ended(0, `{"type":"reasoning","id":"rs_1","summary":[],"content":[{"type":"reasoning_text","text":"Hm."}]}`),
				ended(1, `{"type":"reasoning","id":"rs_2","summary":[],"content":[{"type":"reasoning_text","text":"So."}]}`), done,
			}, []string{"think:Hm.", "think:So."},
			model.Answer{Parts: []event.Part{
				marked(event.Part{Type: event.ThinkingPart, Thinking: "Hm."}, `{"type":"reasoning","id":"rs_1","summary":[]}`),
				marked(event.Part{Type: event.ThinkingPart, Thinking: "So."}, `{"type":"reasoning","id":"rs_2","summary":[]}`),
			}, Usage: usage, Finish: model.FinishStop, Reason: "completed"},
		},
		{
			"unknown items", []string{
				created, `{"type":"keepalive"}`, `{"type":"response.news","delta":{"a":1},"item":[5],"response":5,"error":"x"}`,
				`{"type":"response.output_text.annotation.added","output_index":0,"annotation":{}}`,
				added(7, `{"type":"song","name":5,"content":"x"}`), ended(7, `{"type":"song","name":5,"content":"x"}`),
				textOne, textTwo, `{"type":"response.output_item.done","output_index":0,"more":{"a":[1]},"item":` + msg + `}`, done,
			}, []string{"say:Hel", "say:lo"},
			model.Answer{Parts: []event.Part{
				marked(event.Part{Type: event.ProviderPart, ToolName: "song"}, `{"type":"song","name":5,"content":"x"}`), hello1,
			}, Usage: usage, Finish: model.FinishStop, Reason: "completed"},
		},
		{"no output", []string{created, done}, nil, model.Answer{Usage: usage, Finish: model.FinishStop, Reason: "completed"}},
		{"an empty text", []string{created, msgAdded, ended(0, `{"type":"message","id":"msg_1","content":[{"type":"output_text","text":""}]}`), done}, nil, model.Answer{Usage: usage, Finish: model.FinishStop, Reason: "completed"}},
		{"nothing but an end", []string{`{"type":"response.completed"}`}, nil, model.Answer{Finish: model.FinishStop, Reason: "completed"}},
		{
			"nonsense usage", []string{`{"type":"response.completed","response":{"usage":{"input_tokens":-5,"output_tokens":9223372036854775807}}}`}, nil,
			model.Answer{Usage: event.Usage{OutputTokens: 1 << 30, TotalTokens: 1 << 30}, Finish: model.FinishStop, Reason: "completed"},
		},
		{"withheld", []string{textOne, incomplete("content_filter")}, []string{"say:Hel"}, model.Answer{Parts: []event.Part{text("Hel")}, Usage: usage, Finish: model.FinishContentFilter, Reason: "content_filter"}},
		{"another end", []string{textOne, incomplete("tired")}, []string{"say:Hel"}, model.Answer{Parts: []event.Part{text("Hel")}, Usage: usage, Finish: model.FinishOther, Reason: "tired"}},
		{"no reason", []string{`{"type":"response.incomplete","response":{"incomplete_details":null}}`}, nil, model.Answer{Finish: model.FinishOther}},
		{
			"incomplete, called complete", []string{`{"type":"response.completed","response":{"status":"incomplete","incomplete_details":{"reason":"max_output_tokens"}}}`}, nil,
			model.Answer{Finish: model.FinishLength, Reason: "max_output_tokens"},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			req := hello()
			req.Tools = tools
			answer, told, err := ask(t.Context(), serve(t, streaming(test.events...), nil), req)
			if err != nil {
				t.Fatal(err)
			}
			test.want.CutsInput = true // the server of the test is not OpenAI's
			if diff := cmp.Diff(&test.want, answer, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if !slices.Equal(told, test.told) {
				t.Errorf("told %q", told)
			}
		})
	}
}
