package responses_test

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/model"
)

// Thoughts that cannot be opened any more cost one request, and not the job. What is
// thought after them is sent again.
func TestThoughtsThatCannotBeOpened(t *testing.T) {
	var sent []string
	m := serve(t, func(w http.ResponseWriter, r *http.Request) {
		raw, _ := io.ReadAll(r.Body)
		sent = append(sent, string(raw))
		if strings.Contains(string(raw), "sealed-rs_1") {
			refusing(400, nil, apiError("invalid_request_error", `"invalid_encrypted_content"`, "The encrypted content gAAA could not be verified."))(w, r)
			return
		}
		streaming(created, msgAdded, textOne, textTwo, msgDone, done)(w, r)
	}, nil)
	req := &model.Request{Reasoning: "low", Messages: []*event.Message{
		user("Go."), says(own, thinks("rs_1", "Hm."), marked(text("So."), `{"id":"msg_1"}`)), user("On."),
	}}
	for turn, want := range []int{2, 3} {
		if answer, _, err := ask(t.Context(), m, req); err != nil || answer.Text() != "Hello" || len(sent) != want {
			t.Fatalf("turn %d: %d requests, %v", turn+1, len(sent), err)
		}
		req.Messages = append(req.Messages, says(own, thinks("rs_2", "New."), marked(text("Well."), `{"id":"msg_2"}`)), user("On."))
	}
	if last := sent[2]; strings.Contains(last, "msg_1") || !strings.Contains(last, "sealed-rs_2") || !strings.Contains(last, "So.") {
		t.Errorf("sent %s", last)
	}
}
