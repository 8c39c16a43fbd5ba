package wire_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/model"
)

func args(s string) (v any) {
	d := json.NewDecoder(strings.NewReader(s))
	d.UseNumber()
	if err := d.Decode(&v); err != nil {
		panic(err)
	}
	return v
}

// said is an answer of ten events: the message's start, the block's, a ping, four words,
// the block's end, then the message's delta and its end.
const said = "[[turn]]\ntext = \"one two three four\"\n"

// used is what an answer costs. Its first event counts all of the input and the first token
// of the output; the last but one counts everything.
const used = "usage = { input = 7, output = 50, cached = 100, cacheWrite = 1000 }\n"

var (
	paid    = event.Usage{InputTokens: 1107, CachedInputTokens: 100, OutputTokens: 1, TotalTokens: 1108}
	paidAll = event.Usage{InputTokens: 1107, CachedInputTokens: 100, OutputTokens: 50, TotalTokens: 1157}
)

var answers = []answer{
	{
		name: "text", script: "[[turn]]\ntext = \"Hello <b>&\\u2028 \\U0001F44B \\\"you\\\".\\n\"\n",
		want: reading{Heard: "Hello <b>&\u2028 \U0001F44B \"you\".\n", Text: "Hello <b>&\u2028 \U0001F44B \"you\".\n", Finish: model.FinishStop},
	},
	{name: "no output", script: "[[turn]]\ntext = \"\"\n", want: reading{Finish: model.FinishStop}},
	{
		name: "thinking", script: "[[turn]]\nreasoning = \"I think. \"\nsignature = \"c2ln+/==\"\ntext = \"Yes.\"\n",
		want: reading{Heard: "I think. Yes.", Text: "Yes.", Thinking: []model.Thinking{{Text: "I think. ", Signature: "c2ln+/=="}}, Finish: model.FinishStop},
	},
	{
		name: "redacted thinking", script: "[[turn]]\nreasoning = \"Hm.\"\nsignature = \"s\"\nredacted = \"c2VjcmV0\"\n[[turn.call]]\ntool = \"read\"\n",
		want: reading{
			Heard:    "Hm.",
			Thinking: []model.Thinking{{Text: "Hm.", Signature: "s"}, {ProviderData: []byte(`{"type":"redacted_thinking","data":"c2VjcmV0"}`)}},
			Calls:    []call{{"toolu_1_1", "read", args("{}")}}, Finish: model.FinishToolCalls,
		},
	},
	{
		name: "tools", script: "[[turn]]\n[[turn.call]]\nid = \"c1\"\ntool = \"read\"\nargs = { path = \"\\\"ä\\\" \\\\ \\n\", at = 9007199254740993, list = [1.5, true, {}] }\n",
		want: reading{Calls: []call{{"c1", "read", args(`{"path":"\"ä\" \\ \n","at":9007199254740993,"list":[1.5,true,{}]}`)}}, Finish: model.FinishToolCalls},
	},
	{
		name:   "parallel calls",
		script: "[[turn]]\ntext = \"Both.\"\n[[turn.call]]\nid = \"c1\"\ntool = \"read\"\nargs = { path = \"a\" }\n[[turn.call]]\nid = \"c2\"\ntool = \"read\"\nargs = { path = \"b\" }\n[[turn.call]]\ntool = \"think\"\n",
		want: reading{
			Heard: "Both.", Text: "Both.", Finish: model.FinishToolCalls,
			Calls: []call{{"c1", "read", args(`{"path":"a"}`)}, {"c2", "read", args(`{"path":"b"}`)}, {"toolu_1_3", "think", args("{}")}},
		},
	},
	{
		name: "usage with cache", script: "[[turn]]\ntext = \"x\"\nusage = { input = 7, output = 50, cached = 100, cacheWrite = 1000, reasoning = 20 }\n",
		want: reading{
			Heard: "x", Text: "x", Finish: model.FinishStop,
			Usage: event.Usage{InputTokens: 1107, CachedInputTokens: 100, OutputTokens: 50, ReasoningTokens: 20, TotalTokens: 1157},
		},
	},
	{
		name: "stopped by the limit", script: "[[turn]]\ntext = \"x\"\nusage = { input = 7, output = 5000, reasoning = 4500 }\n",
		want: reading{
			Heard: "x", Text: "x", Finish: model.FinishLength,
			Usage: event.Usage{InputTokens: 7, OutputTokens: maxTokens, ReasoningTokens: maxTokens, TotalTokens: 7 + maxTokens},
		},
	},
	stopped("max_tokens", model.FinishLength),
	stopped("refusal", model.FinishContentFilter),
	stopped("pause_turn", model.FinishStop),
	stopped("stop_sequence", model.FinishStop),
	{name: "error as first event", script: said + "errorAfter = 0\n[turn.error]\ntype = \"rate_limit_error\"\nmessage = \"slow down\"\n", want: reading{Failure: failure{Status: 429, Message: "slow down"}}},
	{name: "error inside the stream", script: said + "errorAfter = 5\n", want: reading{Heard: "one two ", Failure: failure{Status: 529, Message: "Overloaded"}}},
	{name: "api_error in the stream", script: said + "errorAfter = 9\n[turn.error]\ntype = \"api_error\"\nmessage = \"oops\"\n", want: reading{Heard: "one two three four", Failure: failure{Status: 500, Message: "oops"}}},
	{name: "usage of an error", script: said + used + "errorAfter = 5\n", want: reading{Heard: "one two ", Usage: paid, Failure: failure{Status: 529, Message: "Overloaded"}}},
	{name: "usage of a cut", script: said + used + "cutAfter = 5\n", want: reading{Heard: "one two ", Usage: paid, Failure: failure{Broken: true}}},
	{name: "usage of a late cut", script: said + used + "cutAfter = 9\n", want: reading{Heard: "one two three four", Usage: paidAll, Failure: failure{Broken: true}}},
	{name: "usage of nothing", script: said + used + "cutAfter = 0\n", want: reading{Failure: failure{Broken: true}}},
	{name: "cut at once", script: said + "cutAfter = 0\n", want: reading{Failure: failure{Broken: true}}},
	{name: "cut stream", script: said + "cutAfter = 5\n", want: reading{Heard: "one two ", Failure: failure{Broken: true}}},
	{name: "cut inside an event", script: said + "cutAfter = 6\ncutInside = true\n", want: reading{Heard: "one two three ", Failure: failure{Broken: true}}},
	{name: "cut before the last", script: said + "cutAfter = 9\n", want: reading{Heard: "one two three four", Failure: failure{Broken: true}}},
	{name: "end without the last", script: said + "endAfter = 9\n", want: reading{Heard: "one two three four", Failure: failure{Broken: true}}},
}

func stopped(reason string, finish model.Finish) answer {
	return answer{
		name: "stop " + reason, script: "[[turn]]\ntext = \"x\"\nstop = \"" + reason + "\"\n",
		want: reading{Heard: "x", Text: "x", Finish: finish},
	}
}

// A refusal is an error in the place of an answer.
type refusal struct {
	name   string
	status int
}

var refusals = []refusal{
	{"400", 400}, {"401", 401}, {"402", 402}, {"403", 403}, {"404", 404}, {"413", 413}, {"429", 429}, {"500", 500}, {"504", 504}, {"529", 529},
}

func (r refusal) check(t *testing.T) {
	words := "the service says \"no\""
	answer{
		script: fmt.Sprintf("[[turn]]\n[turn.error]\nstatus = %d\nmessage = %q\nretryAfter = \"1\"\n", r.status, words),
		want:   reading{Failure: failure{Status: r.status, Message: words}},
	}.check(t)
}
