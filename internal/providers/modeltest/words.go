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
