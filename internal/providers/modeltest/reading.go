package modeltest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/model"
	"github.com/perstack-go/perstack/rawjson"
)

// A Reading is what a client makes of one answer: ours, or that of an SDK.
type Reading struct {
	Heard    string   // thoughts and text, piece by piece, until the end or the failure
	Thoughts []string // "" for one that only the provider can read
	Text     string
	Calls    []Call
	Usage    event.Usage // of a failure too
	Finish   model.Finish
	Failure  Failure

	// Marks are what the provider wants to see again: signatures, encrypted thoughts, ids.
	// Of our own reading each is what one part carries; an SDK's marks have to occur in
	// them. Cases do not say what they look like.
	Marks []string
}

// A Call is a call of a tool.
type Call struct {
	ID, Tool string
	Args     string // canonical JSON, or what the model wrote if it is none
}

// A Failure is why there is no answer.
type Failure struct {
	Status  int    // what the service answered, or what its words inside a stream stand for; 0 if there is none
	Message string // what the service said, in its own words
	Broken  bool   // the answer stopped before its end, and there are no words

	InStream bool // of what a case wants: the answer had begun, and not every wire has a word for the status
}

// Canonical is JSON in a form that can be compared; what is no JSON stays as it is.
func Canonical(raw []byte) string {
	v := rawjson.Value(strings.Clone(string(raw)))
	if (*jsontext.Value)(&v).Canonicalize(jsontext.CanonicalizeRawInts(false)) != nil {
		return string(raw)
	}
	return string(v)
}

// Ask asks our model once. It checks what holds for every answer: pieces come first, and
// together they are the answer's words; then comes the answer or an error, and nothing
// after it.
func Ask(ctx context.Context, t testing.TB, m model.Model, req *model.Request) (Reading, *model.Answer, error) {
	t.Helper()
	var r Reading
	var answer *model.Answer
	var failed error
	var heard strings.Builder
	for chunk, err := range m.Generate(ctx, req) {
		if answer != nil || failed != nil {
			t.Fatalf("after the end comes %+v, %v", chunk, err)
		}
		set := 0
		for _, is := range []bool{chunk.Reasoning != "", chunk.Text != "", chunk.Answer != nil, err != nil} {
			if is {
				set++
			}
		}
		if set != 1 {
			t.Errorf("a piece says %d things: %+v, %v", set, chunk, err)
		}
		heard.WriteString(chunk.Reasoning)
		heard.WriteString(chunk.Text)
		answer, failed = chunk.Answer, err
	}
	r.Heard = heard.String()
	switch {
	case failed != nil:
		r.Usage, r.Failure = model.AsError(failed).Usage, failureOf(failed)
	case answer == nil:
		t.Fatal("the sequence has neither an answer nor an error")
	default:
		r.take(t, answer)
	}
	return r, answer, failed
}

func failureOf(err error) Failure {
	e := model.AsError(err)
	if e.Name == "IncompleteAnswer" {
		return Failure{Broken: true}
	}
	return Failure{Status: e.StatusCode, Message: e.Message}
}

// take reads a whole answer.
func (r *Reading) take(t testing.TB, a *model.Answer) {
	t.Helper()
	r.Usage, r.Finish, r.Text = a.Usage, a.Finish, a.Text()
	var said strings.Builder
	for _, p := range a.Parts {
		switch p.Type {
		case event.ThinkingPart:
			said.WriteString(p.Thinking)
			r.Thoughts = append(r.Thoughts, p.Thinking)
		case event.TextPart:
			said.WriteString(p.Text)
		case event.ToolCallPart:
			r.Calls = append(r.Calls, Call{p.ToolCallID, p.ToolName, Canonical(p.Args)})
		case event.ProviderPart:
		default:
			t.Errorf("an answer has a part of type %q", p.Type)
		}
		if p.Signature != "" {
			r.Marks = append(r.Marks, p.Signature)
		}
		if len(p.ProviderData) > 0 {
			if !p.ProviderData.IsValid() {
				t.Errorf("what the provider wants back is no JSON: %s", p.ProviderData)
			}
			r.Marks = append(r.Marks, string(p.ProviderData))
		}
	}
	if said.String() != r.Heard {
		t.Errorf("the pieces say %q, the answer says %q", r.Heard, said.String())
	}
	if u := r.Usage; u.TotalTokens != u.InputTokens+u.OutputTokens || u.CachedInputTokens > u.InputTokens || u.ReasoningTokens > u.OutputTokens {
		t.Errorf("usage does not add up: %+v", u)
	}
}

// Remember is an answer as the engine puts it into the next request: every call has an id
// of its own, and arguments that are an object.
func Remember(a *model.Answer, author string, turn int) *event.Message {
	m := &event.Message{Type: event.ExpertMessage, Author: author}
	taken := map[string]bool{}
	for i, p := range a.Parts {
		p.ID = fmt.Sprintf("p%d_%d", turn, i)
		if p.Type == event.ToolCallPart {
			if p.ToolCallID == "" || taken[p.ToolCallID] {
				p.ToolCallID = fmt.Sprintf("made%d_%d", turn, i)
			}
			taken[p.ToolCallID] = true
			p.Args = object(p.Args)
		}
		m.Contents = append(m.Contents, p)
	}
	return m
}

func object(args rawjson.Value) rawjson.Value {
	switch {
	case len(args) == 0:
		return rawjson.Value(`{}`)
	case args.Kind() == '{' && args.IsValid():
		return args
	}
	wrapped, err := json.Marshal(map[string]string{"_invalid": string(args)}, jsontext.AllowInvalidUTF8(true))
	if err != nil {
		return rawjson.Value(`{}`)
	}
	return wrapped
}

// AsFailure is the model's own error, which every failure of the other side has to be.
func AsFailure(t testing.TB, err error) *model.Error {
	t.Helper()
	var e *model.Error
	if !errors.As(err, &e) {
		t.Fatalf("got %v (%T), want a *model.Error", err, err)
	}
	if e.Name == "" || e.Message == "" {
		t.Errorf("the error does not say what it is: %+v", e)
	}
	return e
}
