// Package wiretest is what the tests of the wires share: servers that answer in one way,
// conversations, and a way to read a whole answer.
//
// What every provider must do is tested in package modeltest, by a server that speaks all
// wires. The tests of a wire are about its own words: they write its events by hand, with
// the helpers here.
package wiretest

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/model"
	"github.com/perstack-go/perstack/rawjson"
)

// Ask sends one request. It returns the answer, the pieces that came before it (thoughts
// begin with "think:", text with "say:"), and the error.
func Ask(ctx context.Context, m model.Model, req *model.Request) (answer *model.Answer, pieces []string, err error) {
	for chunk, e := range m.Generate(ctx, req) {
		switch {
		case e != nil:
			err = e
		case chunk.Answer != nil:
			answer = chunk.Answer
		case chunk.Reasoning != "":
			pieces = append(pieces, "think:"+chunk.Reasoning)
		default:
			pieces = append(pieces, "say:"+chunk.Text)
		}
	}
	return answer, pieces, err
}

// Failure returns the model's own error, which must not show the secret.
func Failure(t testing.TB, err error, secret string) *model.Error {
	t.Helper()
	var e *model.Error
	if !errors.As(err, &e) {
		t.Fatalf("got %v (%T), want a *model.Error", err, err)
	}
	if secret != "" && strings.Contains(e.Message, secret) {
		t.Errorf("the key is in the error: %s", e.Message)
	}
	return e
}

// Refusing answers with a status, headers and a body.
func Refusing(status int, header http.Header, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		for name, values := range header {
			w.Header()[name] = values
		}
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body) // a client that has left needs no body
	}
}

// Streaming answers with a stream.
func Streaming(contentType, body string) http.HandlerFunc {
	return Refusing(http.StatusOK, http.Header{"Content-Type": {contentType}}, body)
}

// SSE writes server-sent events, each given as its data.
func SSE(events ...string) string {
	var b strings.Builder
	for _, e := range events {
		b.WriteString("data: " + e + "\n\n")
	}
	return b.String()
}

// Client returns a client that answers every request with the stream that body points to,
// without a network. If silent is true, the stream then stays open and sends nothing.
func Client(contentType string, body *string, silent bool) *http.Client {
	return &http.Client{Transport: RoundTrip(func(r *http.Request) (*http.Response, error) {
		var stream io.Reader = strings.NewReader(*body)
		if silent {
			stream = io.MultiReader(stream, silence{r.Context()})
		}
		return &http.Response{
			StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {contentType}}, Body: io.NopCloser(stream), Request: r,
		}, nil
	})}
}

// A RoundTrip answers requests without a network.
type RoundTrip func(*http.Request) (*http.Response, error)

// RoundTrip calls f.
func (f RoundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

type silence struct{ ctx context.Context }

func (s silence) Read([]byte) (int, error) {
	<-s.ctx.Done()
	return 0, s.ctx.Err()
}

// Hello is a request with one message.
func Hello() *model.Request { return &model.Request{Messages: []*event.Message{User("Hello")}} }

// User is a message of the user with one text.
func User(text string) *event.Message { return Asks(Text(text)) }

// Asks is a message of the user.
func Asks(parts ...event.Part) *event.Message {
	return &event.Message{Type: event.UserMessage, Contents: parts}
}

// Instruction is a system prompt, which the provider is asked to cache.
func Instruction(text string) *event.Message {
	return &event.Message{Type: event.InstructionMessage, Cache: true, Contents: []event.Part{Text(text)}}
}

// Says is an earlier answer, by a model that author names.
func Says(author string, parts ...event.Part) *event.Message {
	return &event.Message{Type: event.ExpertMessage, Author: author, Contents: parts}
}

// Results is a message with results of tools.
func Results(parts ...event.Part) *event.Message {
	return &event.Message{Type: event.ToolMessage, Contents: parts}
}

// Text is a part.
func Text(s string) event.Part { return event.Part{Type: event.TextPart, Text: s} }

// Thinks is a thought.
func Thinks(s string) event.Part { return event.Part{Type: event.ThinkingPart, Thinking: s} }

// Calls is a call of a tool.
func Calls(id, tool, args string) event.Part {
	return event.Part{Type: event.ToolCallPart, ToolCallID: id, ToolName: tool, Args: rawjson.Value(args)}
}

// Marked is a part with data that the provider wants back.
func Marked(p event.Part, data string) event.Part {
	p.ProviderData = rawjson.Value(data)
	return p
}
