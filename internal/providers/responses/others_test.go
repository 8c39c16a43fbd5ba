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

// A model that is not known as one of OpenAI's, and that is told not to think, is told nothing,
// wherever it is.
func TestNoThinkingOfUnknownModels(t *testing.T) {
	for name, want := range map[string]bool{"llama3.1:8b": false, "o3": true} {
		for _, change := range []func(*responses.Config){func(*responses.Config) {}, atOpenAI} {
			body := sent(t, func(c *responses.Config) { change(c); c.Model = name }, &model.Request{Reasoning: "none", Messages: []*event.Message{user("Hi")}})
			if strings.Contains(string(body), `"reasoning":{"effort":"low"}`) != want || strings.Contains(string(body), `reasoning`) != want {
				t.Errorf("%s: %s", name, body)
			}
		}
	}
}

// A server that is not OpenAI's may cut what is too long for it.
func TestCutsInput(t *testing.T) {
	for name, tt := range map[string]struct {
		change func(*responses.Config)
		cuts   bool
	}{"another server": {nil, true}, "OpenAI": {atOpenAI, false}} {
		m := serve(t, streaming(created, msgAdded, textOne, textTwo, msgDone, done), tt.change)
		answer, _, err := ask(t.Context(), m, hello())
		if err != nil || answer.CutsInput != tt.cuts {
			t.Errorf("%s: %+v, %v", name, answer, err)
		}
	}
}

// atOpenAI gives a model OpenAI's address. Requests go to the server that it had before.
func atOpenAI(c *responses.Config) {
	server := c.Client.BaseURL
	c.Client.BaseURL = "https://api.openai.com/v1"
	c.Client.HTTP = &http.Client{Transport: toServer(strings.TrimSuffix(server, "/v1"))}
}

type toServer string

func (s toServer) RoundTrip(r *http.Request) (*http.Response, error) {
	there, err := http.NewRequestWithContext(r.Context(), r.Method, string(s)+r.URL.Path, r.Body)
	if err != nil {
		return nil, err
	}
	there.Header = r.Header
	return http.DefaultTransport.RoundTrip(there)
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
