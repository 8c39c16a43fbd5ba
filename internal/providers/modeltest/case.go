package modeltest

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/expert"
	"github.com/perstack-go/perstack/internal/testkit/llm"
	"github.com/perstack-go/perstack/model"
	"github.com/perstack-go/perstack/rawjson"
)

// A Case is one promise that every model keeps. It is a conversation or a check of its
// own, never both.
type Case struct {
	Name string

	// Skip says why a wire cannot have this case; "" if it can. It may be nil.
	Skip func(Traits) string

	// Talk is a conversation, in what wires differ by their traits. SDKs judge it too.
	Talk func(Traits) Talk

	// Golden has the requests of the conversation kept in a file.
	Golden bool

	Check func(t *testing.T, s *Subject)
}

// A Talk is held with the scripted server, which refuses what the service would.
type Talk struct {
	Script    string
	Said      []Say // before each answer
	Tools     []model.Tool
	Reasoning expert.ReasoningBudget
	MaxTokens int
	TextOnly  bool // of the last request
	Place     Place
	Want      []Reading // of the answers; what a wire does not carry is taken out

	// Fails is what has to hold of a failure beside what a reading says.
	Fails *Fails

	// Has and Lacks are looked for in the last request as it went over the wire; of Any, one
	// has to be there.
	Has, Lacks, Any []string
}

// Fails is what a run does about a failure.
type Fails struct {
	Passing bool // it is tried again
	After   time.Duration
}

// A Say makes the messages that come before an answer. It is given the calls that it has
// to answer.
type Say func(calls []event.Part) []*event.Message

// A Place is where and how a model is opened. Zero is what the subject says.
type Place struct {
	Root      string // of the scripted server
	Key       string // another than the right one
	Model     string
	Headers   map[string]string
	ExtraBody map[string]rawjson.Value
	Tools     []string // of the provider itself
	Options   *expert.ProviderToolOptions
	Skills    []expert.ProviderSkill
}

// Hold holds the conversation and checks what is wanted. It returns the requests as the
// server took them.
func (k Talk) Hold(t *testing.T, s *Subject) []llm.Recorded {
	t.Helper()
	server, root := Serve(t, k.Script)
	at := k.Place
	at.Root = root
	m := s.Open(t, at)
	req := &model.Request{Expert: "e", Tools: k.Tools, Reasoning: k.Reasoning, MaxTokens: k.MaxTokens}
	var calls []event.Part
	asked := 0
	for i, say := range k.Said {
		asked++
		req.Messages = append(req.Messages, say(calls)...)
		req.Turn, req.TextOnly = i, k.TextOnly && i == len(k.Said)-1
		got, answer, err := Ask(t.Context(), t, m, req)
		var want Reading
		if i < len(k.Want) {
			want = k.Want[i].On(s.Traits)
		}
		if want.Failure != (Failure{}) {
			k.compareFailure(t, want, got, err)
			break
		}
		if err != nil {
			t.Fatalf("answer %d: %v", i+1, err)
		}
		if i < len(k.Want) {
			compare(t, want, got)
		}
		if len(got.Thoughts) > 0 && (len(got.Marks) > 0) != s.Marked {
			t.Errorf("that thoughts are marked is %v, want %v: %q", !s.Marked, s.Marked, got.Marks)
		}
		message := Remember(answer, s.author(k.Place), i)
		calls = callsOf(message)
		req.Messages = append(req.Messages, message)
	}
	requests := server.Requests()
	if len(requests) != asked {
		t.Fatalf("%d requests for %d answers", len(requests), asked)
	}
	k.look(t, requests[len(requests)-1])
	return requests
}

// compareFailure holds a failure against the one that is wanted. Our errors are for
// people: that the service's own words are among them is checked, and they alone are
// compared.
func (k Talk) compareFailure(t *testing.T, want, got Reading, err error) {
	t.Helper()
	e := AsFailure(t, err)
	if strings.Contains(e.Message, llm.Key) {
		t.Errorf("the error shows the key: %s", e.Message)
	}
	if words := want.Failure.Message; words != "" && strings.Contains(e.Message, words) {
		got.Failure.Message = words
	}
	if k.Fails != nil && (e.Retryable != k.Fails.Passing || e.RetryAfter != k.Fails.After) {
		t.Errorf("that it may pass is %v, and after %v; want %+v: %s", e.Retryable, e.RetryAfter, *k.Fails, e.Message)
	}
	want.Heard, want.Usage = got.Heard, got.Usage // how much comes before depends on the wire
	compare(t, want, got)
}

// compare holds a reading against what is wanted. Marks are the wire's own business.
func compare(t *testing.T, want, got Reading) {
	t.Helper()
	if diff := cmp.Diff(want, got, cmpopts.IgnoreFields(Reading{}, "Marks"), cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func (k Talk) look(t *testing.T, last llm.Recorded) {
	t.Helper()
	if last.Problem != "" || !last.KeyRight {
		t.Errorf("the server says %q, and that the key is right is %v", last.Problem, last.KeyRight)
	}
	for _, text := range k.Has {
		if !strings.Contains(string(last.Raw), text) {
			t.Errorf("%q is not in the request:\n%s", text, last.Raw)
		}
	}
	if !containsAny(string(last.Raw), k.Any) {
		t.Errorf("none of %q is in the request:\n%s", k.Any, last.Raw)
	}
	for _, text := range k.Lacks {
		if strings.Contains(string(last.Raw), text) {
			t.Errorf("%q is in the request:\n%s", text, last.Raw)
		}
	}
}

func containsAny(body string, texts []string) bool {
	return len(texts) == 0 || slices.ContainsFunc(texts, func(text string) bool { return strings.Contains(body, text) })
}

func callsOf(m *event.Message) (calls []event.Part) {
	for _, p := range m.Contents {
		if p.Type == event.ToolCallPart {
			calls = append(calls, p)
		}
	}
	return calls
}

// Serve starts a server that plays a script. root is what addresses of providers begin
// with.
func Serve(t testing.TB, text string) (server *llm.Server, root string) {
	t.Helper()
	s, err := llm.Parse(t.Name(), []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	server, _ = llm.Start(t, s)
	return server, server.Root()
}
