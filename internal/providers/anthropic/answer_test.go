package anthropic_test

import (
	"slices"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/model"
	"github.com/perstack-go/perstack/rawjson"
)

var usage = event.Usage{InputTokens: 1110, CachedInputTokens: 100, OutputTokens: 5, TotalTokens: 1115}

func toolStart(index, id, name string) string {
	return `{"type":"content_block_start","index":` + index + `,"content_block":{"type":"tool_use","id":"` + id + `","name":"` + name + `","input":{}}}`
}

func toolDelta(index, part string) string {
	quoted, _ := jsontext.AppendQuote(nil, part)
	return `{"type":"content_block_delta","index":` + index + `,"delta":{"type":"input_json_delta","partial_json":` + string(quoted) + `}}`
}

func thoughtStart(index string) string {
	return `{"type":"content_block_start","index":` + index + `,"content_block":{"type":"thinking","thinking":"","signature":""}}`
}

// thoughtDelta is a thought and its signature, in two events.
func thoughtDelta(index, thought, signature string) string {
	return `{"type":"content_block_delta","index":` + index + `,"delta":{"type":"thinking_delta","thinking":"` + thought + `"}}` + "\n\ndata: " +
		`{"type":"content_block_delta","index":` + index + `,"delta":{"type":"signature_delta","signature":"` + signature + `"}}`
}

func provider(tool, block string) event.Part {
	return event.Part{Type: event.ProviderPart, ToolName: tool, ProviderData: rawjson.Value(block)}
}

func TestAnswers(t *testing.T) {
	for _, test := range []struct {
		name   string
		events []string
		told   []string
		want   model.Answer
	}{
		{
			"text", []string{start, textStart, ping, textOne, textTwo, stop0, end, stop},
			[]string{"say:Hel", "say:lo"},
			model.Answer{Parts: []event.Part{text("Hello")}, Usage: usage, Finish: model.FinishStop, Reason: "end_turn"},
		},
		{
			"thinking", []string{
				start,
				`{"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":"","signature":""}}`,
				`{"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"Hm"}}`,
				`{"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"."}}`,
				`{"type":"content_block_delta","index":0,"delta":{"type":"signature_delta","signature":"si"}}`,
				`{"type":"content_block_delta","index":0,"delta":{"type":"signature_delta","signature":"g"}}`,
				stop0,
				`{"type":"content_block_start","index":1,"content_block":{"type":"redacted_thinking","data":"secret"}}`,
				`{"type":"content_block_start","index":2,"content_block":{"type":"text","text":"Yes"}}`,
				`{"type":"message_delta","delta":{"stop_reason":"max_tokens"},"usage":{"input_tokens":11,"output_tokens":5,"output_tokens_details":{"thinking_tokens":3}}}`,
				stop,
			},
			[]string{"think:Hm", "think:.", "say:Yes"},
			model.Answer{
				Parts:  []event.Part{thinks("Hm.", "sig"), {Type: event.ThinkingPart, ProviderData: rawjson.Value(`{"type":"redacted_thinking","data":"secret"}`)}, text("Yes")},
				Finish: model.FinishLength, Reason: "max_tokens",
				Usage: event.Usage{InputTokens: 1111, CachedInputTokens: 100, OutputTokens: 5, ReasoningTokens: 3, TotalTokens: 1116},
			},
		},
		{
			"parallel calls, interleaved", []string{
				start, toolStart("0", "a", "read"), toolStart("1", "b", "read"), toolDelta("0", ""), toolDelta("1", `{"path":`),
				toolDelta("0", `{"pa`), toolDelta("1", `"y"}`), toolDelta("0", `th":"x"}`), toolStart("2", "c", "todo"), ending("tool_use"), stop,
			},
			nil,
			model.Answer{Parts: []event.Part{
				calls("a", "read", `{"path":"x"}`),
				calls("b", "read", `{"path":"y"}`),
				calls("c", "todo", `{}`),
			}, Usage: usage, Finish: model.FinishToolCalls, Reason: "tool_use"},
		},
		{
			"arguments cut off, ids twice", []string{start, toolStart("0", "a", "read"), toolDelta("0", `{"path":"x`), toolStart("1", "a", "read"), ending("max_tokens"), stop},
			nil,
			model.Answer{Parts: []event.Part{
				calls("a", "read", `{"path":"x`),
				calls("a", "read", `{}`),
			}, Usage: usage, Finish: model.FinishLength, Reason: "max_tokens"},
		},
		{
			"thoughts between calls stay there", []string{
				start, thoughtStart("0"), thoughtDelta("0", "First.", "s1"), toolStart("1", "a", "read"),
				thoughtStart("2"), thoughtDelta("2", "", "s2"), toolStart("3", "b", "read"), `{"type":"content_block_start","index":4,"content_block":{"type":"text","text":"So."}}`,
				ending("tool_use"), stop,
			},
			[]string{"think:First.", "say:So."},
			model.Answer{Parts: []event.Part{
				thinks("First.", "s1"), calls("a", "read", `{}`), thinks("", "s2"), calls("b", "read", `{}`), text("So."),
			}, Usage: usage, Finish: model.FinishToolCalls, Reason: "tool_use"},
		},
		{
			"what the provider ran", []string{
				start,
				`{"type":"content_block_start","index":0,"content_block":{"type":"server_tool_use","id":"s","name":"web_search","input":{}}}`,
				toolDelta("0", ""), toolDelta("0", `{"query"`), toolDelta("0", `:"x"}`), stop0,
				`{"type":"content_block_start","index":1,"content_block":{"type":"web_search_tool_result","tool_use_id":"s","content":[{"type":"x","n":1.0}],"cache_control":{"type":"ephemeral"}}}`,
				`{"type":"content_block_start","index":2,"content_block":{"type":"text","text":"","citations":[]}}`,
				`{"type":"content_block_delta","index":2,"delta":{"type":"citations_delta","citation":{"type":"web_search_result_location","url":"x"}}}`,
				`{"type":"content_block_delta","index":2,"delta":{"type":"text_delta","text":"found"}}`,
				ending("pause_turn"), stop,
			},
			[]string{"say:found"},
			model.Answer{Parts: []event.Part{
				provider("web_search", `{"type":"server_tool_use","id":"s","input":{"query":"x"},"name":"web_search"}`),
				provider("web_search", `{"type":"web_search_tool_result","content":[{"type":"x","n":1.0}],"tool_use_id":"s"}`),
				{Type: event.TextPart, Text: "found", ProviderData: rawjson.Value(`{"citations":[{"type":"web_search_result_location","url":"x"}]}`)},
			}, Usage: usage, Finish: model.FinishPause, Reason: "pause_turn"},
		},
		{
			"unknown blocks, deltas and events", []string{
				start,
				`{"type":"content_block_start","index":0,"content_block":{"type":"memory","content":"a","text":{"odd":1},"bad":"\ud83d"}}`,
				`{"type":"content_block_delta","index":0,"delta":{"type":"memory_delta","content":"b"}}`,
				`{"type":"content_block_delta","index":0,"delta":{"type":"memory_delta","content":"c","text":{"odd":2},"more":"new"}}`,
				`{"type":"content_block_delta","index":0,"delta":{"type":"citations_delta","citation":{"n":1}}}`,
				`{"type":"content_block_delta","index":0,"delta":{"type":"citations_delta","citation":{"n":2}}}`, stop0,
				`{"type":"content_block_start","index":1,"content_block":{"type":"code","input":{"old":1}}}`, toolDelta("1", `{"broken`),
				`{"type":"content_block_delta","index":7,"delta":{"type":"text_delta","text":"nowhere"}}`,
				`{"type":"news","delta":{"type":"news"}}`,
				end, stop,
			},
			nil,
			model.Answer{Parts: []event.Part{
				provider("memory", `{"type":"memory","bad":"`+"\ufffd"+`","citations":[{"n":1},{"n":2}],"content":"abc","more":"new","text":{"odd":2}}`),
				provider("code", `{"type":"code","input":{}}`),
			}, Usage: usage, Finish: model.FinishStop, Reason: "end_turn"},
		},
		{"no output", []string{start, end, stop}, nil, model.Answer{Usage: usage, Finish: model.FinishStop, Reason: "end_turn"}},
		{"nothing but an end", []string{stop}, nil, model.Answer{Finish: model.FinishOther}},
		{"nonsense usage", []string{`{"type":"message_start","message":{"usage":{"input_tokens":-5,"output_tokens":9223372036854775807}}}`, stop}, nil,
			model.Answer{Usage: event.Usage{OutputTokens: 1 << 30, TotalTokens: 1 << 30}, Finish: model.FinishOther}},
	} {
		t.Run(test.name, func(t *testing.T) {
			m := serve(t, streaming(test.events...), nil)
			answer, told, err := ask(t.Context(), m, hello())
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

func TestFinish(t *testing.T) {
	for reason, want := range map[string]model.Finish{
		"end_turn": model.FinishStop, "stop_sequence": model.FinishStop, "pause_turn": model.FinishPause,
		"tool_use": model.FinishToolCalls, "max_tokens": model.FinishLength, "model_context_window_exceeded": model.FinishLength,
		"refusal": model.FinishContentFilter, "tired": model.FinishOther,
	} {
		answer, _, err := ask(t.Context(), serve(t, streaming(start, textStart, textOne, ending(reason), stop), nil), hello())
		if err != nil || answer.Finish != want || answer.Reason != reason {
			t.Errorf("%s: %+v, %v", reason, answer, err)
		}
	}
}
