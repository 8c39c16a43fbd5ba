package ollama_test

import (
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/perstack-go/perstack/expert"
	"github.com/perstack-go/perstack/internal/providers/wire"
	"github.com/perstack-go/perstack/model"
)

func TestThink(t *testing.T) {
	for _, tt := range []struct {
		model  string
		known  model.Known
		budget expert.ReasoningBudget
		want   string // "" if the member is absent
	}{
		{name, model.Known{}, "", ""},
		{name, model.Known{}, "none", "false"},
		{name, model.Known{}, "0", "false"},
		{name, model.Known{}, "minimal", "true"},
		{name, model.Known{}, "12000", "true"},
		{name, model.Known{Reasoning: model.ReasoningNone}, "high", ""},
		{name, model.Known{Reasoning: model.ReasoningSwitch}, "high", "true"},
		{"gpt-oss:20b", model.Known{}, "minimal", `"low"`},
		{"gpt-oss:20b", model.Known{}, "low", `"low"`},
		{"gpt-oss:20b", model.Known{}, "medium", `"medium"`},
		{"gpt-oss:120b", model.Known{}, "high", `"high"`},
		{"gpt-oss:120b", model.Known{}, "4000", `"medium"`},
		{"gpt-oss:120b", model.Known{}, "none", `"low"`}, // it cannot be told not to
		{"someone/gpt-oss:20b", model.Known{}, "high", `"high"`},
		{"gpt-oss:20b", model.Known{Reasoning: model.ReasoningSwitch}, "high", "true"},
		{"new", model.Known{Reasoning: model.ReasoningEffort, Efforts: []string{"low", "medium", "max"}}, "high", `"max"`},
		{"new", model.Known{Reasoning: model.ReasoningEffort, Efforts: []string{"medium", "high"}}, "low", `"medium"`},
	} {
		var bodies []string
		m := serve(t, recording(&bodies), func(c *wire.Config) { c.Model, c.Known = tt.model, tt.known })
		req := hello()
		req.Reasoning = tt.budget
		if _, _, err := ask(t.Context(), m, req); err != nil {
			t.Fatal(err)
		}
		if has := strings.Contains(bodies[0], `"think":`); has != (tt.want != "") || has && !strings.Contains(bodies[0], `"think":`+tt.want+`,`) {
			t.Errorf("%+v: %s", tt, bodies[0])
		}
	}
}

// thoughtless is a server whose model cannot think. It counts what it was asked.
type thoughtless struct {
	mu            sync.Mutex
	with, without int
	words         string
}

func (s *thoughtless) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	s.mu.Lock()
	defer s.mu.Unlock()
	if strings.Contains(string(body), `"think":`) && !strings.Contains(string(body), `"think":false`) {
		s.with++
		w.WriteHeader(http.StatusBadRequest)
		io.WriteString(w, `{"error":`+s.words+`}`)
		return
	}
	s.without++
	streaming(one, two, end)(w, r)
}

// The same question is asked again without, at once, and from then on at first.
func TestModelThatCannotThink(t *testing.T) {
	for _, words := range []string{
		`"\"qwen3:8b\" does not support thinking"`,
		`"invalid think value: \"low\" (must be true or false)"`,
		`"json: cannot unmarshal string into Go struct field ChatRequest.think of type bool"`,
	} {
		server := &thoughtless{words: words}
		m := serve(t, server.ServeHTTP, nil)
		for i := range 3 {
			req := hello()
			req.Reasoning = "low"
			answer, told, err := ask(t.Context(), m, req)
			if err != nil || answer.Text() != "Hello" || strings.Join(told, "|") != "say:Hel|say:lo" {
				t.Fatalf("%+v, %q, %v", answer, told, err)
			}
			if server.with != 1 || server.without != i+1 {
				t.Errorf("asked %d times with think and %d times without", server.with, server.without)
			}
		}
		other := serve(t, server.ServeHTTP, nil) // another model of the same server may be able to
		req := hello()
		req.Reasoning = "low"
		if _, _, err := ask(t.Context(), other, req); err != nil || server.with != 2 {
			t.Errorf("%v, asked %d times", err, server.with)
		}
	}
}

// A refusal for another reason, or one that comes without thinking too, is a failure.
func TestRefusalIsNotAskedAgain(t *testing.T) {
	for _, tt := range []struct {
		budget expert.ReasoningBudget
		status int
		words  string
		asked  int
	}{
		{"low", 400, "model is required", 1},
		{"low", 500, "does not support thinking", 1},
		{"none", 400, "does not support thinking", 2},
		{"low", 400, "does not support thinking", 2},
	} {
		asked := 0
		m := serve(t, func(w http.ResponseWriter, _ *http.Request) {
			asked++
			w.WriteHeader(tt.status)
			io.WriteString(w, `{"error":"`+tt.words+`"}`)
		}, nil)
		req := hello()
		req.Reasoning = tt.budget
		_, _, err := ask(t.Context(), m, req)
		if e := failure(t, err); e.StatusCode != tt.status || asked != tt.asked {
			t.Errorf("%+v: %+v, asked %d times", tt, e, asked)
		}
	}
}
