package chat_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/internal/providers/wire"
	"github.com/perstack-go/perstack/model"
)

func TestAnswers(t *testing.T) {
	long := "files.read/everything in a folder"
	sent := wire.ToolName(long, 64)
	for _, test := range []struct {
		name   string
		events []string
		told   []string
		want   model.Answer
	}{
		{
			"text", []string{filtered, begin, say("Hel"), say("lo"), end("stop"), spent, done},
			[]string{"say:Hel", "say:lo"},
			model.Answer{Parts: []event.Part{text("Hello")}, Usage: usage, Finish: model.FinishStop, Reason: "stop"},
		},
		{
			"thoughts", []string{begin, think("Hm"), think("."), say("Yes"), end("stop"), spent, done},
			[]string{"think:Hm", "think:.", "say:Yes"},
			model.Answer{Parts: []event.Part{thinks("Hm."), text("Yes")}, Usage: usage, Finish: model.FinishStop, Reason: "stop"},
		},
		{
			"thoughts by another name", []string{
				begin, with(`"content":null,"reasoning":"Hm"`), with(`"reasoning":".","reasoning_content":"."`),
				with(`"content":"Yes","reasoning":null,"reasoning_details":[]`), end("stop"), spent, done,
			},
			[]string{"think:Hm", "think:.", "say:Yes"},
			model.Answer{Parts: []event.Part{thinks("Hm."), text("Yes")}, Usage: usage, Finish: model.FinishStop, Reason: "stop"},
		},
		{
			"parts in their order", []string{begin, say("One"), callBegin("0", "a", "read"), callArgs("0", "{}"), think("Hm"), say("Two"), end("tool_calls"), spent, done},
			[]string{"say:One", "think:Hm", "say:Two"},
			model.Answer{Parts: []event.Part{text("One"), calls("a", "read", "{}"), thinks("Hm"), text("Two")}, Usage: usage, Finish: model.FinishToolCalls, Reason: "tool_calls"},
		},
		{
			"parallel calls, interleaved", []string{
				begin, callBegin("0", "a", "read"), callBegin("1", "b", "read"), callArgs("1", `{"path":`), callArgs("0", `{"pa`),
				callArgs("1", `"y"}`), callArgs("0", `th":"x"}`), callBegin("7", "c", "todo"), end("tool_calls"), spent, done,
			},
			nil,
			model.Answer{
				Parts: []event.Part{calls("a", "read", `{"path":"x"}`), calls("b", "read", `{"path":"y"}`), {Type: event.ToolCallPart, ToolCallID: "c", ToolName: "todo"}},
				Usage: usage, Finish: model.FinishToolCalls, Reason: "tool_calls",
			},
		},
		{
			"two calls in one event", []string{
				with(`"tool_calls":[{"index":0,"id":"a","type":"function","function":{"name":"read","arguments":"{}"}},{"index":1,"id":"b","type":"function","function":{"name":"read","arguments":"[]"}}]`),
				end("tool_calls"), done,
			},
			nil,
			model.Answer{Parts: []event.Part{calls("a", "read", "{}"), calls("b", "read", "[]")}, Finish: model.FinishToolCalls, Reason: "tool_calls"},
		},
		{
			"calls without a number, or with the same", []string{
				with(`"tool_calls":[{"id":"a","function":{"name":"read","arguments":"{"}}]`), with(`"tool_calls":[{"function":{"arguments":"}"}}]`),
				with(`"tool_calls":[{"id":"b","function":{"name":"read","arguments":"{}"}}]`),
				callBegin("0", "c", "x"), callArgs("0", "1"), callBegin("0", "d", "y"), callArgs("0", "2"),
				end("stop"), done,
			},
			nil,
			model.Answer{
				Parts:  []event.Part{calls("a", "read", "{}"), calls("b", "read", "{}"), calls("c", "x", "1"), calls("d", "y", "2")},
				Finish: model.FinishStop, Reason: "stop",
			},
		},
		{
			"arguments cut off, no id", []string{with(`"tool_calls":[{"index":0,"function":{"name":"read"}}]`), callArgs("0", `{"path":"x`), end("length"), spent, done},
			nil,
			model.Answer{Parts: []event.Part{calls("", "read", `{"path":"x`)}, Usage: usage, Finish: model.FinishLength, Reason: "length"},
		},
		{
			"names that were changed", []string{callBegin("0", "a", sent), callBegin("1", "b", "unheard_of"), end("tool_calls"), done},
			nil,
			model.Answer{Parts: []event.Part{
				{Type: event.ToolCallPart, ToolCallID: "a", ToolName: long}, {Type: event.ToolCallPart, ToolCallID: "b", ToolName: "unheard_of"},
			}, Finish: model.FinishToolCalls, Reason: "tool_calls"},
		},
		{
			"a refusal", []string{begin, with(`"refusal":"I can"`), with(`"refusal":"not."`), end("stop"), spent, done},
			[]string{"say:I can", "say:not."},
			model.Answer{Parts: []event.Part{text("I cannot.")}, Usage: usage, Finish: model.FinishContentFilter, Reason: "refusal"},
		},
		{
			"unknown members, choices and events", []string{
				`{"object":"news"}`, `{"choices":null}`, `{"choices":[{"index":1,"delta":{"content":"another"},"finish_reason":"length"}]}`,
				`{"choices":[{"index":0,"delta":null,"finish_reason":null,"content_filter_results":{"x":[1]}}],"obfuscation":"abc"}`,
				with(`"content":"found","audio":{"id":"x"},"annotations":[1]`), `{"choices":[{"index":0}]}`, end("stop"), spent, done,
			},
			[]string{"say:found"},
			model.Answer{Parts: []event.Part{text("found")}, Usage: usage, Finish: model.FinishStop, Reason: "stop"},
		},
		{
			"no mark of the end", []string{begin, say("Hi"), end("stop"), spent},
			[]string{"say:Hi"},
			model.Answer{Parts: []event.Part{text("Hi")}, Usage: usage, Finish: model.FinishStop, Reason: "stop"},
		},
		{
			"nothing counted", []string{begin, say("Hi"), end("stop"), done},
			[]string{"say:Hi"},
			model.Answer{Parts: []event.Part{text("Hi")}, Finish: model.FinishStop, Reason: "stop"},
		},
		{
			"usage of DeepSeek", []string{
				say("Hi"),
				`{"choices":[{"index":0,"delta":{"content":""},"finish_reason":"stop"}],"usage":{"prompt_tokens":110,"completion_tokens":7,"total_tokens":117,"prompt_cache_hit_tokens":100,"prompt_cache_miss_tokens":10,"completion_tokens_details":{"reasoning_tokens":3}}}`,
				done,
			},
			[]string{"say:Hi"},
			model.Answer{Parts: []event.Part{text("Hi")}, Usage: usage, Finish: model.FinishStop, Reason: "stop"},
		},
		{
			"parts of usage that are more than the whole", []string{end("stop"), `{"choices":[],"usage":{"prompt_tokens":5,"completion_tokens":2,"prompt_tokens_details":{"cached_tokens":9},"completion_tokens_details":{"reasoning_tokens":9}}}`, done}, nil,
			model.Answer{
				Usage:  event.Usage{InputTokens: 5, CachedInputTokens: 5, OutputTokens: 2, ReasoningTokens: 2, TotalTokens: 7},
				Finish: model.FinishStop, Reason: "stop",
			},
		},
		{"no output", []string{begin, end("stop"), spent, done}, nil, model.Answer{Usage: usage, Finish: model.FinishStop, Reason: "stop"}},
		{
			"nonsense usage", []string{end("stop"), `{"choices":[],"usage":{"prompt_tokens":-5,"completion_tokens":9223372036854775807,"prompt_tokens_details":{"cached_tokens":9},"completion_tokens_details":null}}`, done}, nil,
			model.Answer{Usage: event.Usage{OutputTokens: 1 << 30, TotalTokens: 1 << 30}, Finish: model.FinishStop, Reason: "stop"},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			m := serve(t, streaming(test.events...), nil)
			req := hello()
			req.Tools = []model.Tool{{Name: long}}
			answer, told, err := ask(t.Context(), m, req)
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
		"stop": model.FinishStop, "tool_calls": model.FinishToolCalls, "function_call": model.FinishToolCalls,
		"length": model.FinishLength, "content_filter": model.FinishContentFilter, "tired": model.FinishOther,
	} {
		answer, _, err := ask(t.Context(), serve(t, streaming(begin, say("Hi"), end(reason), spent, done), nil), hello())
		if err != nil || answer.Finish != want || answer.Reason != reason {
			t.Errorf("%s: %+v, %v", reason, answer, err)
		}
	}
}
