package embed

import (
	"context"
	"iter"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/perstack-go/perstack"
	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/model"
	"github.com/perstack-go/perstack/store/memory"
)

// echo is a model of this program: it answers with the last thing that was said.
type echo struct{}

func (echo) Generate(_ context.Context, req *model.Request) iter.Seq2[model.Chunk, error] {
	return func(yield func(model.Chunk, error) bool) {
		last := req.Messages[len(req.Messages)-1].Text()
		yield(model.Chunk{Answer: &model.Answer{
			Finish: model.FinishStop, Parts: []event.Part{{Type: event.TextPart, Text: "You said: " + last}},
		}}, nil)
	}
}

// A model of the program needs no provider, and is not recorded as that of one.
func TestOwnModel(t *testing.T) {
	s := memory.New()
	text, result := answer(t, newSpec(t, "hello"), perstack.Parts{Model: echo{}, Store: s})
	if text != "You said: hello" {
		t.Errorf("%q", text)
	}
	for r, err := range s.Read(t.Context(), result.JobID, 0) {
		if err != nil {
			t.Fatal(err)
		}
		if b, ok := r.Event.Body.(event.StartRun); ok && (b.Provider != "" || b.Model != "") {
			t.Errorf("recorded as %q of %q", b.Model, b.Provider)
		}
	}
}

// A provider is chosen by its name. Its key is a variable that the program hands in, and
// its address here is a server of the test.
func TestProviderByName(t *testing.T) {
	const key = "sk-ant-of-the-embedding-program-1"
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("X-Api-Key") != key {
			http.Error(w, `{"type":"error","error":{"type":"authentication_error","message":"wrong key"}}`, http.StatusUnauthorized)
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		if _, err := w.Write([]byte(anthropicAnswer)); err != nil {
			t.Error(err)
		}
	}))
	defer server.Close()
	spec := newSpec(t, "hello")
	spec.Provider, spec.Model = "anthropic", "claude-sonnet-4-5"
	spec.Setting.BaseURL, spec.Setting.AllowPrivateEndpoint = server.URL, true
	text, result := answer(t, spec, perstack.Parts{Environ: []string{"ANTHROPIC_API_KEY=" + key}})
	if text != "Hello to you." || result.Usage.TotalTokens != 12 {
		t.Errorf("%q, %+v", text, result.Usage)
	}
	_, err := perstack.Answer(t.Context(), spec, perstack.Parts{Environ: []string{}})
	if err == nil || !strings.Contains(err.Error(), "ANTHROPIC_API_KEY") {
		t.Errorf("without the key: %v", err)
	}
}

const anthropicAnswer = `event: message_start
data: {"type":"message_start","message":{"id":"msg_1","type":"message","role":"assistant","model":"claude-sonnet-4-5","content":[],"stop_reason":null,"usage":{"input_tokens":8,"output_tokens":1}}}

event: content_block_start
data: {"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}

event: content_block_delta
data: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"Hello to you."}}

event: content_block_stop
data: {"type":"content_block_stop","index":0}

event: message_delta
data: {"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":4}}

event: message_stop
data: {"type":"message_stop"}

`
