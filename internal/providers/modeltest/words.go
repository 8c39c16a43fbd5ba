package modeltest

import (
	"fmt"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/model"
)

// quoted writes a text for a script: what JSON escapes, TOML reads.
func quoted(s string) string {
	text, _ := jsontext.AppendQuote(nil, s) // its error is about characters that it replaced
	return string(text)
}

// said is a turn of words alone.
func said(words string) string { return "text = " + quoted(words) + "\n" }

const twoTexts = "[[turn]]\ntext = \"One.\"\n[[turn]]\ntext = \"Two.\"\n"

func spoke(words string) Reading {
	return Reading{Heard: words, Text: words, Finish: model.FinishStop}
}

func wordCases() []Case {
	const odd = "Hello <b>&\u2028 \U0001F44B \"you\", \\ and \t tabs, é, \u00a0.\n\n\n  - a\n\n- b\n"
	var long strings.Builder
	for i := range 4_000 {
		fmt.Fprintf(&long, "word %d, ", i)
	}
	return []Case{
		{Name: "text", Golden: true, Talk: Always(Talk{
			Script: twoTexts,
			Said:   []Say{Instructed("Be \"brief\".\nAnd kind.", Text("Hello <b>&\u2028 \U0001F44B")), User(Text("Again."), Text("And again."))},
			Want:   []Reading{spoke("One."), spoke("Two.")},
			Has:    []string{"And kind.", "\U0001F44B", "One.", "And again."},
		})},
		{Name: "text with empty lines and signs", Talk: Always(Once(said(odd), spoke(odd)))},
		{Name: "text that is long", Talk: Always(Once(said(long.String()), spoke(long.String())))},
		{Name: "an answer of nothing", Talk: Always(Once("text = \"\"\n", Reading{Finish: model.FinishStop}))},
		// What a conversation holds is anything: a step that failed, a query that is empty.
		{Name: "empty messages before", Talk: Always(Talk{
			Script: "[[turn]]\ntext = \"One.\"\n",
			Said: []Say{history([]*event.Message{
				message(event.UserMessage, Text("")), message(event.UserMessage), message(event.UserMessage, Text(" \n")),
			}, User(Text("Hello")))},
			Want: []Reading{spoke("One.")},
		})},
		{Name: "text that is no UTF-8", Talk: Always(Talk{
			Script: "[[turn]]\ntext = \"One.\"\n", Said: []Say{User(Text("a\xffb"))}, Want: []Reading{spoke("One.")}, Has: []string{"a\ufffdb"},
		})},
	}
}

func thoughtCases() []Case {
	thinks := func(w Traits) bool { return w.Thoughts }
	reads := Call{"c1", "read", `{"path":"a"}`}
	const one = "[[turn.call]]\nid = \"c1\"\ntool = \"read\"\nargs = { path = \"a\" }\n"
	return []Case{
		{
			Name: "reasoning", Skip: needs(thinks, "thoughts do not travel on this wire"), Golden: true,
			Talk: Always(Talk{
				Script: "[[turn]]\nreasoning = \"I think twice. \"\ntext = \"Yes.\"\n[[turn]]\ntext = \"Again.\"\n",
				Said:   []Say{User(Text("Well?")), User(Text("Sure?"))}, Reasoning: "low",
				Want: []Reading{{Heard: "I think twice. Yes.", Thoughts: []string{"I think twice. "}, Text: "Yes.", Finish: model.FinishStop}, spoke("Again.")},
			}),
		},
		// The server refuses the second request if the thought does not come back as it was.
		{Name: "reasoning, then calls", Golden: true, Talk: Always(Talk{
			Script: "[[turn]]\nreasoning = \"I should read.\"\ntext = \"Let me see.\"\n" + one + "[[turn]]\nreasoning = \"Good.\"\ntext = \"Done.\"\n",
			Said:   []Say{User(Text("Read.")), Results(Result(Text("A")))}, Tools: tools, Reasoning: "medium",
			Want: []Reading{
				{
					Heard: "I should read.Let me see.", Thoughts: []string{"I should read."}, Text: "Let me see.", Calls: []Call{reads},
					Finish: model.FinishToolCalls,
				},
				{Heard: "Good.Done.", Thoughts: []string{"Good."}, Text: "Done.", Finish: model.FinishStop},
			},
		})},
		{
			Name: "reasoning between calls", Skip: needs(func(w Traits) bool { return w.Interleaved }, "on this wire all thoughts stand before the calls"),
			Talk: Always(Talk{
				Script: "[[turn]]\nreasoning = \"Both.\"\n" + one +
					"[[turn.call]]\nid = \"c2\"\ntool = \"read\"\nargs = { path = \"b\" }\nreasoning = \"And this.\"\n[[turn]]\ntext = \"Done.\"\n",
				Said: []Say{User(Text("Read.")), Results(Result(Text("A")), Result(Text("B")))}, Tools: tools, Reasoning: "high",
				Want: []Reading{{
					Heard: "Both.And this.", Thoughts: []string{"Both.", "And this."}, Calls: []Call{reads, {"c2", "read", `{"path":"b"}`}},
					Finish: model.FinishToolCalls,
				}, spoke("Done.")},
			}),
		},
		{
			Name: "reasoning that is redacted", Skip: needs(func(w Traits) bool { return w.Redacted }, "this wire has no redacted thoughts"), Golden: true,
			Talk: Always(Talk{
				Script: "[[turn]]\nreasoning = \"Hm.\"\nredacted = \"c2VjcmV0\"\n" + one + "[[turn]]\ntext = \"Done.\"\n",
				Said:   []Say{User(Text("Read.")), Results(Result(Text("A")))}, Tools: tools, Reasoning: "low",
				Want: []Reading{
					{Heard: "Hm.", Thoughts: []string{"Hm.", ""}, Calls: []Call{reads}, Finish: model.FinishToolCalls}, spoke("Done."),
				},
				Has: []string{"c2VjcmV0"},
			}),
		},
		// Whatever the answer holds, a request that asks for no thought is taken too.
		{Name: "reasoning, then none", Talk: Always(Talk{
			Script: "[[turn]]\nreasoning = \"I should read.\"\n" + one + "[[turn]]\ntext = \"Done.\"\n",
			Said:   []Say{User(Text("Read.")), Results(Result(Text("A")))}, Tools: tools, Reasoning: "none",
			Want: []Reading{{Heard: "I should read.", Thoughts: []string{"I should read."}, Calls: []Call{reads}, Finish: model.FinishToolCalls}, spoke("Done.")},
		})},
	}
}
