package responses_test

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/internal/providers/responses"
	"github.com/perstack-go/perstack/model"
)

// Templates of other models than OpenAI's drop what a developer says.
func TestInstructionAtAnotherServer(t *testing.T) {
	for name, want := range map[string]string{"llama3.1:8b": "system", "gpt-oss:20b": "system", "gpt-5": "developer", "o3": "developer", "gpt-4.1": "system"} {
		body := sent(t, func(c *responses.Config) { c.Model = name }, &model.Request{Messages: []*event.Message{instruction("Be brief."), user("Hi")}})
		if !strings.Contains(string(body), `"role":"`+want+`","content":"Be brief."`) {
			t.Errorf("%s: %s", name, body)
		}
	}
}

// A model of which nothing is known, and that is told not to think, is told nothing.
func TestNoThinkingAtAnotherServer(t *testing.T) {
	body := sent(t, func(c *responses.Config) { c.Model = "llama3.1:8b" }, &model.Request{Reasoning: "none", Messages: []*event.Message{user("Hi")}})
	if strings.Contains(string(body), `"reasoning":`) {
		t.Errorf("%s", body)
	}
}

// A server that says that a model cannot think is asked again, once, and not again.
func TestThinkingRefused(t *testing.T) {
	var bodies []string
	m := serve(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		bodies = append(bodies, string(body))
		if strings.Contains(string(body), `"reasoning":{`) {
			refusing(http.StatusBadRequest, nil, `{"error":{"message":"\"llama3.1:8b\" does not support thinking","type":"invalid_request_error"}}`)(w, r)
			return
		}
		streaming(created, msgAdded, textOne, textTwo, msgDone, done)(w, r)
	}, func(c *responses.Config) { c.Model = "llama3.1:8b" })
	for range 2 {
		if _, _, err := ask(t.Context(), m, &model.Request{Reasoning: "low", Messages: []*event.Message{user("Hi")}}); err != nil {
			t.Fatal(err)
		}
	}
	if len(bodies) != 3 || strings.Contains(bodies[2], "reasoning") {
		t.Errorf("%d requests: %q", len(bodies), bodies)
	}
}
