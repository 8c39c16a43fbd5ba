package chat_test

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/expert"
	"github.com/perstack-go/perstack/internal/providers/chat"
	"github.com/perstack-go/perstack/model"
)

func TestReasoning(t *testing.T) {
	effort := func(words string) model.Known {
		return model.Known{Reasoning: model.ReasoningEffort, Efforts: strings.Fields(words)}
	}
	for _, tt := range []struct {
		model  string
		known  model.Known
		budget expert.ReasoningBudget
		want   string // the effort
	}{
		{"o4-mini", model.Known{}, "", ""},
		// What is not said is medium, so no thought is asked for by the least word.
		{"o4-mini", model.Known{}, "none", "low"},
		{"o4-mini", model.Known{}, "0", "low"},
		{"gpt-5", model.Known{}, "none", "minimal"},
		{"gpt-5.1", model.Known{}, "none", "low"},
		{"gpt-4.1", model.Known{}, "none", ""},
		{"o3", model.Known{Reasoning: model.ReasoningNone}, "none", ""},
		{"x", effort("minimal low"), "none", "minimal"},
		{"x", effort("low high"), "none", "low"},
		{"o4-mini", model.Known{}, "minimal", "low"},
		{"o4-mini", model.Known{}, "low", "low"},
		{"o4-mini", model.Known{}, "medium", "medium"},
		{"o4-mini", model.Known{}, "high", "high"},
		{"o4-mini", model.Known{}, "1", "low"},
		{"o4-mini", model.Known{}, "2048", "low"},
		{"o4-mini", model.Known{}, "2049", "medium"},
		{"o4-mini", model.Known{}, "5000", "medium"},
		{"o4-mini", model.Known{}, "5001", "high"},
		{"my-dep", model.Known{}, "low", "low"},
		{"gpt-5", model.Known{}, "minimal", "minimal"},
		{"gpt-5-mini", model.Known{}, "minimal", "minimal"},
		{"gpt-5-pro", model.Known{}, "minimal", "low"},
		{"gpt-5-codex", model.Known{}, "minimal", "low"},
		{"gpt-5.1", model.Known{}, "minimal", "low"},
		{"gpt-5-chat-latest", model.Known{}, "low", ""},
		{"gpt-4.1", model.Known{}, "low", ""},
		{"gpt-4o", model.Known{}, "high", ""},
		{"gpt-35", model.Known{}, "high", ""},
		{"chatgpt-4o-latest", model.Known{}, "high", ""},

		{"gpt-4o", effort("low high"), "low", "low"}, // what is known counts more than a name
		{"o3", model.Known{Reasoning: model.ReasoningNone}, "low", ""},
		{"x", effort("low high"), "medium", "low"},
		{"x", effort("medium high"), "minimal", "medium"},
		{"x", effort("high max"), "none", "high"},
		{"x", effort("none low"), "none", "none"},
		{"x", effort("none low"), "minimal", "low"},
		{"x", effort("none"), "low", ""},
		{"x", effort("low high"), "", ""},
		{"x", effort(""), "high", "high"},
	} {
		req := hello()
		req.Reasoning = tt.budget
		body := bodiesOf(t, both(named(tt.model), knows(tt.known)), req)[0]
		var sent struct {
			Effort   string `json:"reasoning_effort"`
			Thinking any    `json:"thinking"`
		}
		if err := json.Unmarshal([]byte(body), &sent); err != nil {
			t.Fatal(err)
		}
		if sent.Effort != tt.want || sent.Thinking != nil {
			t.Errorf("%s (%v) with %q: sent %+v", tt.model, tt.known, tt.budget, sent)
		}
	}
}

func TestThinkingSwitch(t *testing.T) {
	const on, off = `"thinking":{"type":"enabled"}`, `"thinking":{"type":"disabled"}`
	for _, tt := range []struct {
		model  string
		known  model.Reasoning
		budget expert.ReasoningBudget
		want   string
	}{
		{"deepseek-chat", "", "", ""},
		{"deepseek-chat", "", "low", on},
		{"deepseek-chat", "", "100", on},
		{"deepseek-chat", "", "none", off},
		{"deepseek-chat", "", "0", off},
		{"deepseek-chat", model.ReasoningNone, "low", ""},
		{"deepseek-chat", model.ReasoningNone, "none", ""},
		{"deepseek-reasoner", "", "low", ""},
		{"deepseek-reasoner", "", "none", ""},
		{"deepseek-reasoner", model.ReasoningSwitch, "low", on},
		{"deepseek-reasoner", model.ReasoningSwitch, "none", off},
	} {
		req := hello()
		req.Reasoning = tt.budget
		body := bodiesOf(t, both(deepSeek, named(tt.model), knows(model.Known{Reasoning: tt.known})), req)[0]
		if strings.Contains(body, "effort") || strings.Contains(body, "thinking") != (tt.want != "") || !strings.Contains(body, tt.want) {
			t.Errorf("%+v: sent %s", tt, body)
		}
	}
}

// A model that must not think is not asked how hard.
func TestNoEffortWithoutThinking(t *testing.T) {
	known := knows(model.Known{Reasoning: model.ReasoningEffort, Efforts: []string{"none", "low", "high"}})
	for name, req := range map[string]*model.Request{
		"off":     {Reasoning: "none", Messages: hello().Messages},
		"foreign": {Reasoning: "high", Messages: worked("anthropic/claude-sonnet-4-5")},
	} {
		body := bodiesOf(t, both(deepSeek, known), req)[0]
		if strings.Contains(body, "reasoning_effort") || !strings.Contains(body, `"thinking":{"type":"disabled"}`) {
			t.Errorf("%s: sent %.300s", name, body)
		}
	}
}

// A deployment may have any name. When its model does not take an effort, the service
// says so once, and is not asked again.
func TestEffortIsTakenBack(t *testing.T) {
	for _, message := range []string{
		"Unrecognized request argument supplied: reasoning_effort", "Unsupported parameter: 'reasoning_effort' is not supported with this model.",
	} {
		asked := 0
		m := serve(t, func(w http.ResponseWriter, r *http.Request) {
			asked++
			if body, _ := io.ReadAll(r.Body); strings.Contains(string(body), "reasoning_effort") {
				refusing(400, nil, problem("invalid_request_error", "null", message))(w, r)
				return
			}
			streaming(begin, say("Hi"), end("stop"), spent, done)(w, r)
		}, named("my-dep"))
		for i, want := range []int{2, 3, 4} {
			req := hello()
			req.Reasoning = []expert.ReasoningBudget{"none", "low", "none"}[i]
			answer, told, err := ask(t.Context(), m, req)
			if err != nil || answer.Text() != "Hi" || len(told) != 1 || asked != want {
				t.Errorf("%d requests, told %q, %v", asked, told, err)
			}
		}
	}
}

// Newer models take tools only when they are not asked to think, or only when they are
// told not to. What is known of the model does not matter: the service says so.
func TestToolsWithoutEffort(t *testing.T) {
	const message = "Function tools with reasoning_effort are not supported for gpt-5.6 in /v1/chat/completions. To use function tools, use /v1/responses or set reasoning_effort to 'none'."
	for name, tt := range map[string]struct {
		takes func(body string) bool
		asked []int
	}{
		"omitted":  {func(body string) bool { return !strings.Contains(body, "reasoning_effort") }, []int{2, 3}},
		"declined": {func(body string) bool { return strings.Contains(body, `"reasoning_effort":"none"`) }, []int{3, 4}},
	} {
		asked := 0
		m := serve(t, func(w http.ResponseWriter, r *http.Request) {
			asked++
			if body, _ := io.ReadAll(r.Body); !tt.takes(string(body)) {
				refusing(400, nil, problem("invalid_request_error", "null", message))(w, r)
				return
			}
			streaming(begin, say("Hi"), end("stop"), spent, done)(w, r)
		}, knows(model.Known{Reasoning: model.ReasoningEffort, Efforts: []string{"low", "high"}}))
		req := hello()
		req.Reasoning = "low"
		for _, want := range tt.asked {
			if answer, _, err := ask(t.Context(), m, req); err != nil || answer.Text() != "Hi" || asked != want {
				t.Errorf("%s: %d requests, want %d: %v", name, asked, want, err)
			}
		}
	}
}

// A deployment that refuses files gets a line in the place of each, from then on.
func TestFilesAreTakenBack(t *testing.T) {
	asked := 0
	m := serve(t, func(w http.ResponseWriter, r *http.Request) {
		asked++
		body, _ := io.ReadAll(r.Body)
		if strings.Contains(string(body), `"type":"file"`) {
			refusing(400, nil, problem("invalid_request_error", `"invalid_value"`, "Invalid Value: 'file'. This model does not support file content types."))(w, r)
			return
		}
		if !strings.Contains(string(body), "cannot look at it") || !strings.Contains(string(body), `"image_url"`) {
			t.Errorf("sent %s", body)
		}
		streaming(begin, say("Hi"), end("stop"), spent, done)(w, r)
	}, nil)
	pdf := event.Part{Type: event.FileInlinePart, MIMEType: "application/pdf", EncodedData: "JVBERi0xLjQK"}
	png := event.Part{Type: event.ImageURLPart, URL: "https://example.com/a.png"}
	req := &model.Request{Messages: []*event.Message{asks(text("Read."), pdf, png)}}
	for _, want := range []int{2, 3} {
		if answer, _, err := ask(t.Context(), m, req); err != nil || answer.Text() != "Hi" || asked != want {
			t.Errorf("%d requests, want %d: %v", asked, want, err)
		}
	}
}

// A model that is known to take an effort, an effort of the user's own, and any other
// refusal: the error is told as it is.
func TestOtherRefusalsStay(t *testing.T) {
	for name, tt := range map[string]struct {
		status  int
		message string
		budget  expert.ReasoningBudget
		change  func(*chat.Config)
	}{
		"known":           {400, "bad reasoning_effort", "low", knows(model.Known{Reasoning: model.ReasoningEffort})},
		"unsaid":          {400, "bad reasoning_effort", "", nil},
		"another":         {400, "bad temperature", "low", nil},
		"another time":    {503, "reasoning_effort is down", "low", nil},
		"another dialect": {400, "bad reasoning_effort", "low", deepSeek},
	} {
		asked := 0
		m := serve(t, func(w http.ResponseWriter, r *http.Request) {
			asked++
			refusing(tt.status, nil, problem("invalid_request_error", "null", tt.message))(w, r)
		}, tt.change)
		req := hello()
		req.Reasoning = tt.budget
		_, _, err := ask(t.Context(), m, req)
		if e := failure(t, err); e.StatusCode != tt.status || asked != 1 {
			t.Errorf("%s: %d requests, %+v", name, asked, e)
		}
	}
}

// The limit of a request and that of the user: the smaller one is sent, by the name that
// the dialect has for it.
func TestMaxTokens(t *testing.T) {
	for _, tt := range []struct{ own, asked, want int }{{0, 0, 0}, {500, 0, 500}, {0, 700, 700}, {500, 700, 500}, {700, 500, 500}, {500, -1, 500}} {
		req := hello()
		req.MaxTokens = tt.asked
		limit := func(c *chat.Config) { c.MaxTokens = tt.own }
		var sent struct {
			Completion int `json:"max_completion_tokens"`
			Tokens     int `json:"max_tokens"`
		}
		for _, body := range [2]string{bodiesOf(t, limit, req)[0], bodiesOf(t, both(deepSeek, limit), req)[0]} {
			if err := json.Unmarshal([]byte(body), &sent); err != nil {
				t.Fatal(err)
			}
		}
		if sent.Completion != tt.want || sent.Tokens != tt.want {
			t.Errorf("%+v: sent %+v", tt, sent)
		}
	}
}

// A server that says that a model cannot think is asked again without, and remembered.
func TestThinkingRefused(t *testing.T) {
	asked := 0
	m := serve(t, func(w http.ResponseWriter, r *http.Request) {
		asked++
		if body, _ := io.ReadAll(r.Body); strings.Contains(string(body), "reasoning_effort") {
			refusing(400, nil, problem("invalid_request_error", "null", `\"llama3\" does not support thinking`))(w, r)
			return
		}
		streaming(begin, say("Hi"), end("stop"), spent, done)(w, r)
	}, knows(model.Known{Reasoning: model.ReasoningEffort, Efforts: []string{"low", "high"}}))
	for _, want := range []int{2, 3} {
		req := hello()
		req.Reasoning = "low"
		if _, _, err := ask(t.Context(), m, req); err != nil || asked != want {
			t.Errorf("%d requests, want %d: %v", asked, want, err)
		}
	}
}
