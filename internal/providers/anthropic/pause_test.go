package anthropic_test

import (
	"strings"
	"testing"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/internal/providers/anthropic"
	"github.com/perstack-go/perstack/internal/providers/wire"
	"github.com/perstack-go/perstack/internal/testkit/llm"
	"github.com/perstack-go/perstack/model"
)

// paused is a turn that waits for a search of the provider's own, what follows when it is
// sent back, and two more answers.
const paused = `
[[turn]]
reasoning = "I search."
hosted = ['{"type":"server_tool_use","id":"s1","name":"web_search","input":{"query":"rain"}}']
stop = "pause_turn"
[[turn]]
turn = 2
contains = "What now?"
text = "Nothing."
[[turn]]
turn = 2
contains = "And?"
text = "That was all."
[[turn]]
hosted = ['{"type":"web_search_tool_result","tool_use_id":"s1","content":[]}']
text = "It rains."
`

// A turn that paused continues when it is sent back as it came, and then ends. When the user
// says something new instead, what it waited for is left out. The scripted server refuses
// blocks that it did not give, and calls without a result.
func TestPause(t *testing.T) {
	script, err := llm.Parse("paused", []byte(paused))
	if err != nil {
		t.Fatal(err)
	}
	server, url := llm.Start(t, script)
	m, err := anthropic.New(anthropic.Config{Key: llm.Key, Config: wire.Config{
		Client: wire.Client{BaseURL: url, HTTP: wire.NewHTTPClient(nil)}, Model: "claude-sonnet-4-5",
		Known: model.Known{MaxOutputTokens: 64_000}, Tools: []string{"webSearch"},
	}})
	if err != nil {
		t.Fatal(err)
	}
	answered := func(messages ...*event.Message) (*model.Answer, *event.Message) {
		t.Helper()
		a, _, err := ask(t.Context(), m, &model.Request{Reasoning: "low", Messages: messages})
		if err != nil {
			t.Fatal(err)
		}
		return a, says(own, a.Parts...)
	}
	first, waits := answered(user("Rain?"))
	if first.Finish != model.FinishPause || len(first.Parts) != 2 {
		t.Fatalf("%+v", first)
	}
	whole, rest := answered(user("Rain?"), waits)
	if whole.Text() != "It rains." || whole.Finish != model.FinishStop {
		t.Errorf("%+v", whole)
	}
	if a, _ := answered(user("Rain?"), waits, rest, user("And?")); a.Text() != "That was all." {
		t.Errorf("%+v", a)
	}
	if a, _ := answered(user("Rain?"), waits, user("What now?")); a.Text() != "Nothing." {
		t.Errorf("%+v", a)
	}
	for i, want := range []int{0, 1, 1, 0} {
		if n := strings.Count(string(server.Requests()[i].Raw), `"server_tool_use"`); n != want {
			t.Errorf("request %d has %d calls of the provider", i, n)
		}
	}
}
