package bedrock_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/model"
	"github.com/perstack-go/perstack/rawjson"
)

func at(index, payload string) string {
	return ev("contentBlockDelta", `{"contentBlockIndex":`+index+`,"delta":`+payload+`}`)
}

func toolStart(index, id, name string) string {
	return ev("contentBlockStart", `{"contentBlockIndex":`+index+`,"start":{"toolUse":{"toolUseId":"`+id+`","name":"`+name+`"}}}`)
}

func toolDelta(index, part string) string {
	quoted, _ := jsontext.AppendQuote(nil, part)
	return at(index, `{"toolUse":{"input":`+string(quoted)+`}}`)
}

func closed(index string) string { return ev("contentBlockStop", `{"contentBlockIndex":`+index+`}`) }

func hidden(data string) event.Part {
	return event.Part{Type: event.ThinkingPart, ProviderData: rawjson.Value(`{"redactedContent":"` + data + `"}`)}
}

func TestAnswers(t *testing.T) {
	stop := func(parts ...event.Part) model.Answer {
		return model.Answer{Parts: parts, Usage: usage, Finish: model.FinishStop, Reason: "end_turn"}
	}
	asked := func(parts ...event.Part) model.Answer {
		return model.Answer{Parts: parts, Usage: usage, Finish: model.FinishToolCalls, Reason: "tool_use"}
	}
	for _, test := range []struct {
		name   string
		frames []string
		told   []string
		want   model.Answer
	}{
		{"text", plain, []string{"say:Hel", "say:lo"}, stop(text("Hello"))},
		{
			"thinking", []string{
				begin,
				delta(`{"reasoningContent":{"text":"Hm"}}`), delta(`{"reasoningContent":{"text":"."}}`),
				delta(`{"reasoningContent":{"signature":"si"}}`), delta(`{"reasoningContent":{"signature":"g"}}`), stop0,
				at("1", `{"reasoningContent":{"redactedContent":"YWI="}}`), at("1", `{"reasoningContent":{"redactedContent":"Yw=="}}`), closed("1"),
				at("2", `{"text":"Yes"}`), closed("2"), end, counts,
			},
			[]string{"think:Hm", "think:.", "say:Yes"},
			stop(thinks("Hm.", "sig"), hidden("YWJj"), text("Yes")),
		},
		{
			"parts in the model's order", []string{
				begin, delta(`{"text":"First."}`), stop0,
				at("1", `{"reasoningContent":{"text":"Hm."}}`), at("1", `{"reasoningContent":{"signature":"s"}}`), closed("1"),
				toolStart("2", "a", "read"), toolDelta("2", `{"path":"x"}`), closed("2"), at("3", `{"text":"Then."}`), closed("3"), ending("tool_use"), counts,
			},
			[]string{"say:First.", "think:Hm.", "say:Then."},
			asked(text("First."), thinks("Hm.", "s"), calls("a", "read", `{"path":"x"}`), text("Then.")),
		},
		{
			"parallel calls, interleaved", []string{
				begin, toolStart("0", "a", "read"), toolStart("1", "b", "read"), toolDelta("0", ""), toolDelta("1", `{"path":`),
				toolDelta("0", `{"pa`), toolDelta("1", `"y"}`), toolDelta("0", `th":"x"}`), toolStart("2", "c", "todo"), ending("tool_use"), counts,
			},
			nil,
			asked(calls("a", "read", `{"path":"x"}`), calls("b", "read", `{"path":"y"}`), calls("c", "todo", `{}`)),
		},
		{
			"arguments cut off, ids twice", []string{begin, toolStart("0", "a", "read"), toolDelta("0", `{"path":"x`), toolStart("1", "a", "read"), ending("max_tokens"), counts},
			nil,
			model.Answer{Parts: []event.Part{calls("a", "read", `{"path":"x`), calls("a", "read", `{}`)}, Usage: usage, Finish: model.FinishLength, Reason: "max_tokens"},
		},
		{
			// Some families number all blocks 0.
			"one number for all", []string{
				begin, delta(`{"reasoningContent":{"text":"Hm."}}`), delta(`{"text":"One. "}`), delta(`{"text":"Two."}`), stop0,
				toolStart("0", "a", "read"), toolDelta("0", `{}`), stop0, ending("tool_use"), counts,
			},
			[]string{"think:Hm.", "say:One. ", "say:Two."},
			asked(thinks("Hm.", ""), text("One. Two."), calls("a", "read", `{}`)),
		},
		{"one number, twice", []string{begin, delta(`{"text":"One."}`), stop0, delta(`{"text":"Two."}`), stop0, end, counts}, []string{"say:One.", "say:Two."}, stop(text("One."), text("Two."))},
		{
			"unknown blocks, deltas, members and events", []string{
				frame("", ":message-type", "event", ":event-type", "initial-response"), begin,
				ev("contentBlockStart", `{"contentBlockIndex":0,"start":{"toolUse":{"toolUseId":"s","name":"nova_grounding","type":"server_tool_use"}}}`),
				toolDelta("0", `{"query":"x"}`), stop0,
				ev("contentBlockStart", `{"contentBlockIndex":1,"start":{"image":{"format":"png"}}}`), at("1", `{"image":{"source":{"bytes":"AA=="}}}`), closed("1"),
				toolDelta("7", "nowhere"), ev("news", `not even JSON`),
				at("2", `{"citation":{"title":"x"}}`), at("2", `{"text":"found","more":[1]}`), at("2", `{"text":""}`),
				ev("contentBlockStart", `{"contentBlockIndex":3,"start":{}}`), closed("9"),
				ev("messageStop", `{"stopReason":"end_turn","additionalModelResponseFields":{"stop_sequence":null}}`), counts,
			},
			[]string{"say:found"}, stop(text("found")),
		},
		{"no output", []string{begin, end, counts}, nil, stop()},
		{"the count before the end", []string{begin, textOne, counts, end}, []string{"say:Hel"}, stop(text("Hel"))},
		{"no reason", []string{ev("messageStop", `{}`), counts}, nil, model.Answer{Usage: usage, Finish: model.FinishOther}},
		{"nonsense usage", []string{end, ev("metadata", `{"usage":{"inputTokens":-5,"outputTokens":9223372036854775807}}`)}, nil,
			model.Answer{Usage: event.Usage{OutputTokens: 1 << 30, TotalTokens: 1 << 30}, Finish: model.FinishStop, Reason: "end_turn"}},
		{"no usage", []string{end, ev("metadata", `{}`)}, nil, model.Answer{Finish: model.FinishStop, Reason: "end_turn"}},
		{"more after the end", append(slices.Clone(plain), textOne, "garbage"), []string{"say:Hel", "say:lo"}, stop(text("Hello"))},
		{"half a character", []string{delta("{\"text\":\"a\xc3\"}"), end, counts}, []string{"say:a\ufffd"}, stop(text("a\ufffd"))},
	} {
		t.Run(test.name, func(t *testing.T) {
			answer, told, err := ask(t.Context(), serve(t, streaming(test.frames...), nil), hello())
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
		"end_turn": model.FinishStop, "stop_sequence": model.FinishStop, "tool_use": model.FinishToolCalls,
		"max_tokens": model.FinishLength, "model_context_window_exceeded": model.FinishLength,
		"content_filtered": model.FinishContentFilter, "guardrail_intervened": model.FinishContentFilter, "refusal": model.FinishContentFilter,
		"tired": model.FinishOther,
	} {
		answer, _, err := ask(t.Context(), serve(t, streaming(begin, textOne, ending(reason), counts), nil), hello())
		if err != nil || answer.Finish != want || answer.Reason != reason {
			t.Errorf("%s: %+v, %v", reason, answer, err)
		}
	}
	// Words that the service could not make out may come better the next time.
	for _, reason := range []string{"malformed_model_output", "malformed_tool_use"} {
		_, _, err := ask(t.Context(), serve(t, streaming(begin, textOne, ending(reason), counts), nil), hello())
		if e := failure(t, err); !e.Retryable || e.StatusCode != http.StatusInternalServerError || !strings.Contains(e.Message, reason) || !cmp.Equal(e.Usage, usage) {
			t.Errorf("%+v", e)
		}
	}
}

// What the model answered is sent to it again, and to no other model.
func TestThoughtsComeBack(t *testing.T) {
	frames := []string{
		begin, delta(`{"reasoningContent":{"text":"Hm \"so\"."}}`), delta(`{"reasoningContent":{"signature":"sig+/="}}`), stop0,
		at("1", `{"reasoningContent":{"redactedContent":"c2VjcmV0"}}`), closed("1"), at("2", `{"text":"Yes."}`), end, counts,
	}
	answer, _, err := ask(t.Context(), serve(t, streaming(frames...), nil), hello())
	if err != nil {
		t.Fatal(err)
	}
	const want = `{"reasoningContent":{"reasoningText":{"text":"Hm \"so\".","signature":"sig+/="}}},{"reasoningContent":{"redactedContent":"c2VjcmV0"}},{"text":"Yes."}`
	for author, comes := range map[string]bool{own: true, "amazon-bedrock/other": false, "anthropic/claude-sonnet-4-5": false, "": false} {
		req := &model.Request{Messages: []*event.Message{user("Well?"), says(author, answer.Parts...), user("Go on.")}}
		if got := strings.Contains(string(bodyOf(t, nil, req)), want); got != comes {
			t.Errorf("%q: that it came back is %v", author, got)
		}
	}
}

// A connection whose answer was read to its end serves the next call too.
func TestConnectionIsKept(t *testing.T) {
	seen := map[string]bool{}
	m := serve(t, func(w http.ResponseWriter, r *http.Request) {
		seen[r.RemoteAddr] = true
		streaming(plain...)(w, r)
		http.NewResponseController(w).Flush() // what ends the answer comes apart from it
	}, nil)
	for range 3 {
		if _, _, err := ask(t.Context(), m, hello()); err != nil {
			t.Fatal(err)
		}
	}
	if len(seen) != 1 {
		t.Errorf("%d connections", len(seen))
	}
}
