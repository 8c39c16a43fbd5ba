package responses_test

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/perstack-go/perstack/internal/providers/responses"
	"github.com/perstack-go/perstack/internal/providers/wire"
	"github.com/perstack-go/perstack/internal/providers/wire/wiretest"
)

// Whatever comes, there is an answer or an error, and no more comes out than went in. What
// an answer wants to see again can be sent: it is JSON, and the next request is.
func FuzzTurn(f *testing.F) {
	f.Add(asSSE(created, msgAdded, textOne, msgDone, done))
	f.Add(asSSE(added(0, rs), summary(0, 0, "x"), ended(0, rs), ended(1, search), ended(2, call("a", "b", "{")), done))
	f.Add(asSSE(nested("a", `"b"`, "c")))
	f.Add(asSSE(failed("a", "b")))
	f.Add(asSSE(incomplete("x")))
	f.Add("data: {}\n\n")
	body, sent := "", ""
	cfg := responses.Config{Key: key}
	cfg.Model = "gpt-5"
	cfg.Client = wire.Client{MaxEvent: 10_000, MaxStream: 100_000, HTTP: &http.Client{Transport: wiretest.RoundTrip(func(r *http.Request) (*http.Response, error) {
		raw, err := io.ReadAll(r.Body)
		sent = string(raw)
		return &http.Response{StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"text/event-stream"}}, Body: io.NopCloser(strings.NewReader(body))}, err
	})}}
	m, err := responses.New(cfg)
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, stream string) {
		body = stream
		answer, _, err := ask(t.Context(), m, hello())
		if (answer == nil) == (err == nil) {
			t.Fatalf("answer %v, error %v", answer, err)
		}
		if answer == nil {
			return
		}
		if len(answer.Text()) > 4*len(stream) {
			t.Error("more came out than went in")
		}
		req := hello()
		req.Messages = append(req.Messages, says(own, answer.Parts...))
		_, _, _ = ask(t.Context(), m, req)
		var v any
		if err := wire.Decode([]byte(sent), &v); err != nil {
			t.Errorf("the answer makes a request of %s: %v", sent, err)
		}
	})
}
