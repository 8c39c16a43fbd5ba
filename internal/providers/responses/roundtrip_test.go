package responses_test

import (
	"strings"
	"testing"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/internal/providers/responses"
	"github.com/perstack-go/perstack/internal/testkit/llm"
	"github.com/perstack-go/perstack/model"
)

// What the model answered is what it is sent again, in its order. The server refuses a
// thought that is changed, one without what it led to, and the other way round.
func TestRoundTrip(t *testing.T) {
	const script = `
[[turn]]
reasoning = "First this.\n\nThen \"that\"."
redacted = "c2VjcmV0"
hosted = ['` + search + `']
text = "Let me see."
[[turn.call]]
id = "call_1"
tool = "read"
args = { path = "a" }
[[turn.call]]
id = "call_2"
tool = "read"
args = { path = "b" }
reasoning = "And this."

[[turn]]
reasoning = "Good."
text = "Done."

[[turn]]
text = "Bye."
`
	s, err := llm.Parse("roundtrip", []byte(script))
	if err != nil {
		t.Fatal(err)
	}
	server, url := llm.Start(t, s)
	m, err := responses.New(config(strings.TrimSuffix(url, "/v1"), func(c *responses.Config) {
		c.Key, c.Tools = llm.Key, []string{"webSearch"}
	}))
	if err != nil {
		t.Fatal(err)
	}
	req := &model.Request{Reasoning: "low", Tools: tools, Messages: []*event.Message{instruction("Read."), user("Read a and b.")}}
	var kinds []event.PartType
	for turn, then := range []*event.Message{
		results(returned("call_1", false, text("A")), returned("call_2", true, text("B"))), user("Thanks."), nil,
	} {
		answer, _, err := ask(t.Context(), m, req)
		if err != nil {
			t.Fatalf("turn %d: %v", turn+1, err)
		}
		for _, p := range answer.Parts {
			kinds = append(kinds, p.Type)
		}
		req.Messages = append(req.Messages, says(own, answer.Parts...), then)
	}
	want := []event.PartType{
		event.ThinkingPart, event.ThinkingPart, event.ProviderPart, event.TextPart, event.ToolCallPart, event.ThinkingPart, event.ToolCallPart,
		event.ThinkingPart, event.TextPart, event.TextPart,
	}
	if len(kinds) != len(want) {
		t.Fatalf("%v", kinds)
	}
	for i := range want {
		if kinds[i] != want[i] {
			t.Fatalf("part %d is a %s: %v", i, kinds[i], kinds)
		}
	}
	last := string(server.Requests()[2].Raw)
	for _, mark := range []string{"c2VjcmV0", `"ws_1"`, `"phase":"commentary"`, `"phase":"final_answer"`} {
		if strings.Count(last, mark) != 1 {
			t.Errorf("%s is not in the last request once: %s", mark, last)
		}
	}
}
