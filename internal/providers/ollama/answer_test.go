package ollama_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/internal/providers/wire"
	"github.com/perstack-go/perstack/model"
	"github.com/perstack-go/perstack/rawjson"
)

func TestAnswers(t *testing.T) {
	for _, test := range []struct {
		name  string
		lines []string
		told  []string
		want  model.Answer
	}{
		{
			"text", []string{one, "", two, end}, []string{"say:Hel", "say:lo"},
			model.Answer{Parts: []event.Part{text("Hello")}, Usage: used, Finish: model.FinishStop, Reason: "stop"},
		},
		{
			"thinking", []string{thought, thought, one, end}, []string{"think:Hm. ", "think:Hm. ", "say:Hel"},
			model.Answer{Parts: []event.Part{thinks("Hm. Hm. "), text("Hel")}, Usage: used, Finish: model.FinishStop, Reason: "stop"},
		},
		// The parts are in the order in which they came.
		{
			"calls", []string{thought, one, called(`"id":"call_1",`, "read", `{"path":"x","at":9007199254740995}`), thought, called("", "think", `{}`), two, end},
			[]string{"think:Hm. ", "say:Hel", "think:Hm. ", "say:lo"},
			model.Answer{
				Parts: []event.Part{thinks("Hm. "), text("Hel"), calls("call_1", "read", `{"path":"x","at":9007199254740995}`), thinks("Hm. "), calls("", "think", `{}`), text("lo")},
				Usage: used, Finish: model.FinishToolCalls, Reason: "stop",
			},
		},
		{
			"all in one line", []string{
				`{"message":{"role":"assistant","content":"b","thinking":"a","tool_calls":[{"function":{"name":"read"}},{"function":{"name":"read","arguments":null}}]},"done":true,"done_reason":"stop"}`,
			},
			[]string{"think:a", "say:b"},
			model.Answer{Parts: []event.Part{thinks("a"), text("b"), {Type: event.ToolCallPart, ToolName: "read"}, calls("", "read", "null")}, Finish: model.FinishToolCalls, Reason: "stop"},
		},
		// What imitates the server writes arguments as others do.
		{
			"arguments as text", []string{called(`"id":"c",`, "read", `"{\"path\":\"x\"}"`), called(`"id":"c",`, "read", `"{\"pa"`), ended("length")}, nil,
			model.Answer{Parts: []event.Part{calls("c", "read", `{"path":"x"}`), calls("c", "read", `{"pa`)}, Usage: used, Finish: model.FinishLength, Reason: "length"},
		},
		{
			"names that were changed", []string{called("", wire.ToolName("files.read/all", 64), `{}`), called("", "nobody", `{}`), end}, nil,
			model.Answer{Parts: []event.Part{calls("", "files.read/all", `{}`), calls("", "nobody", `{}`)}, Usage: used, Finish: model.FinishToolCalls, Reason: "stop"},
		},
		{
			"unknown members", []string{
				`{"news":{"a":[1]},"message":{"role":"assistant","content":"x","audio":5,"thinking":null},"done":false,"logprobs":[{}],"error":null}`, `{"error":""}`, end,
			}, []string{"say:x"},
			model.Answer{Parts: []event.Part{text("x")}, Usage: used, Finish: model.FinishStop, Reason: "stop"},
		},
		{"no output", []string{end}, nil, model.Answer{Usage: used, Finish: model.FinishStop, Reason: "stop"}},
		{"nothing but an end", []string{`{"done":true}`}, nil, model.Answer{Finish: model.FinishOther}},
		{"more after the end", []string{one, end, two, "garbage"}, []string{"say:Hel"}, model.Answer{Parts: []event.Part{text("Hel")}, Usage: used, Finish: model.FinishStop, Reason: "stop"}},
		{"half a character", []string{`{"message":{"content":"a` + "\xc3" + `"},"done":false}`, end}, []string{"say:a\ufffd"},
			model.Answer{Parts: []event.Part{text("a\ufffd")}, Usage: used, Finish: model.FinishStop, Reason: "stop"}},
		{"a cache", []string{`{"done":true,"done_reason":"stop","prompt_eval_count":26,"prompt_eval_cached_count":20,"eval_count":5}`}, nil,
			model.Answer{Usage: event.Usage{InputTokens: 26, CachedInputTokens: 20, OutputTokens: 5, TotalTokens: 31}, Finish: model.FinishStop, Reason: "stop"}},
		{"nonsense usage", []string{`{"done":true,"prompt_eval_count":-5,"prompt_eval_cached_count":9,"eval_count":9223372036854775807}`}, nil,
			model.Answer{Usage: event.Usage{OutputTokens: 1 << 30, TotalTokens: 1 << 30}, Finish: model.FinishOther}},
	} {
		t.Run(test.name, func(t *testing.T) {
			req := hello()
			req.Tools = tools
			answer, told, err := ask(t.Context(), serve(t, streaming(test.lines...), nil), req)
			if err != nil {
				t.Fatal(err)
			}
			test.want.CutsInput = true // the server is the user's own
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
		"stop": model.FinishStop, "length": model.FinishLength, "load": model.FinishOther, "unload": model.FinishOther, "tired": model.FinishOther, "": model.FinishOther,
	} {
		answer, _, err := ask(t.Context(), serve(t, streaming(one, ended(reason)), nil), hello())
		if err != nil || answer.Finish != want || answer.Reason != reason {
			t.Errorf("%s: %+v, %v", reason, answer, err)
		}
	}
}

// What the model answered is what it is sent again.
func TestThoughtsComeBack(t *testing.T) {
	var bodies []string
	m := serve(t, recording(&bodies), nil)
	answer, _, err := ask(t.Context(), serve(t, streaming(thought, one, called(`"id":"c1",`, "read", `{"n":1.50}`), end), nil), hello())
	if err != nil {
		t.Fatal(err)
	}
	req := hello()
	req.Messages = append(req.Messages, says(own, answer.Parts...), results(returned("c1", "read", false, text("A"))))
	if _, _, err := ask(t.Context(), m, req); err != nil {
		t.Fatal(err)
	}
	const want = `{"role":"assistant","content":"Hel","thinking":"Hm. ","tool_calls":[{"id":"c1","function":{"index":0,"name":"read","arguments":{"n":1.50}}}]}`
	if !strings.Contains(bodies[0], want) || !rawjson.Value(bodies[0]).IsValid() {
		t.Error(bodies[0])
	}
}
