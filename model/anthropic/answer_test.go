package anthropic_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/model"
)

var usage = event.Usage{InputTokens: 1110, CachedInputTokens: 100, OutputTokens: 5, TotalTokens: 1115}

func toolStart(index, id, name string) string {
	return `{"type":"content_block_start","index":` + index + `,"content_block":{"type":"tool_use","id":"` + id + `","name":"` + name + `","input":{}}}`
}

func toolDelta(index, part string) string {
	quoted, _ := jsontext.AppendQuote(nil, part)
	return `{"type":"content_block_delta","index":` + index + `,"delta":{"type":"input_json_delta","partial_json":` + string(quoted) + `}}`
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
			model.Answer{Text: "Hello", Usage: usage, Finish: model.FinishStop},
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
				Thinking: []model.Thinking{{Text: "Hm.", Signature: "sig"}, {ProviderData: jsontext.Value(`{"type":"redacted_thinking","data":"secret"}`)}},
				Text:     "Yes", Finish: model.FinishLength,
				Usage: event.Usage{InputTokens: 1111, CachedInputTokens: 100, OutputTokens: 5, ReasoningTokens: 3, TotalTokens: 1116},
			},
		},
		{
			"parallel calls, interleaved", []string{
				start, toolStart("0", "a", "read"), toolStart("1", "b", "read"), toolDelta("0", ""), toolDelta("1", `{"path":`),
				toolDelta("0", `{"pa`), toolDelta("1", `"y"}`), toolDelta("0", `th":"x"}`), toolStart("2", "c", "todo"), ending("tool_use"), stop,
			},
			nil,
			model.Answer{Calls: []model.Call{
				{ID: "a", Tool: "read", Args: []byte(`{"path":"x"}`)},
				{ID: "b", Tool: "read", Args: []byte(`{"path":"y"}`)},
				{ID: "c", Tool: "todo", Args: []byte(`{}`)},
			}, Usage: usage, Finish: model.FinishToolCalls},
		},
		{
			"arguments cut off, ids twice", []string{start, toolStart("0", "a", "read"), toolDelta("0", `{"path":"x`), toolStart("1", "a", "read"), ending("max_tokens"), stop},
			nil,
			model.Answer{Calls: []model.Call{
				{ID: "a", Tool: "read", Args: []byte(`{"path":"x`)},
				{ID: "a", Tool: "read", Args: []byte(`{}`)},
			}, Usage: usage, Finish: model.FinishLength},
		},
		{
			"unknown blocks, deltas and events", []string{
				start,
				`{"type":"content_block_start","index":0,"content_block":{"type":"server_tool_use","id":"s","name":"web_search","input":{}}}`,
				toolDelta("0", `{"query":"x"}`), stop0,
				`{"type":"content_block_start","index":1,"content_block":{"type":"web_search_tool_result","content":[{"type":"x"}],"text":{"odd":1}}}`,
				`{"type":"content_block_delta","index":7,"delta":{"type":"text_delta","text":"nowhere"}}`,
				`{"type":"news","delta":{"type":"news"}}`,
				`{"type":"content_block_start","index":2,"content_block":{"type":"text","text":""}}`,
				`{"type":"content_block_delta","index":2,"delta":{"type":"citations_delta","citation":{"url":"x"}}}`,
				`{"type":"content_block_delta","index":2,"delta":{"type":"text_delta","text":"found"}}`,
				ending("pause_turn"), stop,
			},
			[]string{"say:found"},
			model.Answer{Text: "found", Usage: usage, Finish: model.FinishStop},
		},
		{"no output", []string{start, end, stop}, nil, model.Answer{Usage: usage, Finish: model.FinishStop}},
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
		"end_turn": model.FinishStop, "stop_sequence": model.FinishStop, "pause_turn": model.FinishStop,
		"tool_use": model.FinishToolCalls, "max_tokens": model.FinishLength, "model_context_window_exceeded": model.FinishLength,
		"refusal": model.FinishContentFilter, "tired": model.FinishOther,
	} {
		answer, _, err := ask(t.Context(), serve(t, streaming(start, textStart, textOne, ending(reason), stop), nil), hello())
		if err != nil || answer.Finish != want {
			t.Errorf("%s: %+v, %v", reason, answer, err)
		}
	}
}

// What the model answered is what it is sent again.
func TestThoughtsComeBack(t *testing.T) {
	m := serve(t, streaming(start,
		`{"type":"content_block_start","index":0,"content_block":{"type":"redacted_thinking","data":"secret"}}`, end, stop), nil)
	answer, _, err := ask(t.Context(), m, hello())
	if err != nil {
		t.Fatal(err)
	}
	if got := string(answer.Thinking[0].ProviderData); got != strings.ReplaceAll(string(redacted.ProviderData), "abc", "secret") {
		t.Error(got)
	}
}

func TestCallerStopsListening(t *testing.T) {
	m := serve(t, streaming(start, textStart, textOne, textTwo, stop0, end, stop), nil)
	n := 0
	for range m.Generate(t.Context(), hello()) {
		n++
		break
	}
	if n != 1 {
		t.Errorf("%d chunks", n)
	}
}
