package modeltest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/internal/testkit/llm"
	"github.com/perstack-go/perstack/model"
	"github.com/perstack-go/perstack/rawjson"
)

func lifeCases() []Case {
	return []Case{
		{Name: "cancelled before the answer", Check: checkCancelledFirst},
		{Name: "cancelled in the middle", Check: checkCancelled},
		{Name: "a listener who leaves", Check: checkUnheard},
		{Name: "sixteen at once", Check: checkMany},
		{Name: "each message is encoded once", Check: checkOnce},
	}
}

// A watched server plays a script and knows when its clients have left.
type watched struct {
	*llm.Server
	root string
	left chan struct{} // one for each request that is over
}

func watch(t *testing.T, text string) *watched {
	t.Helper()
	script, err := llm.Parse(t.Name(), []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	w := &watched{Server: llm.New(script), left: make(chan struct{}, 100)}
	server := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		defer func() { w.left <- struct{}{} }()
		w.ServeHTTP(rw, r)
	}))
	t.Cleanup(server.Close) // which waits for connections: one that is left open would hang here
	w.root = server.URL
	return w
}

// slow says a word now and then, for longer than any test takes.
const slow = "[[turn]]\nraw = \"endless\"\neventDelay = \"5ms\"\n"

func checkCancelledFirst(t *testing.T, s *Subject) {
	_, root := Serve(t, "[[turn]]\ntext = \"Hello.\"\n")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, _, err := Ask(ctx, t, s.Open(t, Place{Root: root}), hello())
	if !errors.Is(err, context.Canceled) {
		t.Errorf("%v; want that it was cancelled", err)
	}
}

// checkCancelled stops a run while an answer arrives: the cause comes out, and the
// connection is closed.
func checkCancelled(t *testing.T, s *Subject) {
	server := watch(t, "[[turn]]\neventDelay = \"5ms\"\nusage = { input = 7 }\ntext = \""+strings.Repeat("on and ", 10_000)+"\"\n")
	stopped := errors.New("the user stopped the run")
	ctx, cancel := context.WithCancelCause(t.Context())
	defer cancel(nil)
	var failed error
	for chunk, err := range s.Open(t, Place{Root: server.root}).Generate(ctx, hello()) {
		if chunk.Text != "" {
			cancel(stopped)
		}
		failed = err
	}
	if !errors.Is(failed, stopped) {
		t.Errorf("%v; want the cause", failed)
	}
	if counted := model.AsError(failed).Usage.InputTokens == 7; counted != s.CountsEarly {
		t.Errorf("that the input is counted is %v, want %v", counted, s.CountsEarly)
	}
	server.waitUntilLeft(t)
}

// waitUntilLeft returns when the server sees that the client has gone, and nothing of the
// call is left on our side. The test's own time is the only limit.
func (w *watched) waitUntilLeft(t *testing.T) {
	t.Helper()
	select {
	case <-w.left:
	case <-t.Context().Done():
		t.Fatal("the connection is still open")
	}
	stacks := make([]byte, 1<<20)
	for {
		stacks = stacks[:runtime.Stack(stacks[:cap(stacks)], true)]
		if !strings.Contains(string(stacks), "perstack/internal/providers/wire.") {
			return
		}
		if t.Context().Err() != nil {
			t.Fatalf("something of the call still runs:\n%s", stacks)
		}
		runtime.Gosched()
	}
}

// checkUnheard: who stops listening ends the call.
func checkUnheard(t *testing.T, s *Subject) {
	server := watch(t, slow)
	m := s.Open(t, Place{Root: server.root})
	heard := 0
	for chunk, err := range m.Generate(t.Context(), hello()) {
		if err != nil {
			t.Fatal(err)
		}
		if chunk.Text != "" {
			heard++
		}
		if heard == 2 {
			break
		}
	}
	server.waitUntilLeft(t)
}

// checkMany holds conversations side by side with one model. None hears another's words,
// and the race detector looks on.
func checkMany(t *testing.T, s *Subject) {
	const many = 16
	var script strings.Builder
	for i := range many {
		fmt.Fprintf(&script, "[[turn]]\nquery = \"number %02d\"\nreasoning = \"Thought %02d.\"\n[[turn.call]]\nid = \"c1\"\ntool = \"read\"\nargs = { path = \"%02d\" }\n", i, i, i)
		fmt.Fprintf(&script, "[[turn]]\nquery = \"number %02d\"\ntext = \"Done %02d.\"\n", i, i)
	}
	_, root := Serve(t, script.String())
	m := s.Open(t, Place{Root: root})
	instruction := message(event.InstructionMessage, Text("Shared by all."))
	var all sync.WaitGroup
	for i := range many {
		all.Go(func() {
			req := &model.Request{Tools: tools, Reasoning: "low", Messages: []*event.Message{instruction, message(event.UserMessage, Text(fmt.Sprintf("number %02d", i)))}}
			got, answer, err := Ask(t.Context(), quietly{t}, m, req)
			if err != nil || len(got.Calls) != 1 || got.Calls[0].Args != fmt.Sprintf(`{"path":"%02d"}`, i) {
				t.Errorf("%d: %+v, %v", i, got, err)
				return
			}
			said := Remember(answer, s.author(Place{}), 0)
			req.Messages = append(append(req.Messages, said), Results(Result(Text("A")))(callsOf(said))...)
			if got, _, err = Ask(t.Context(), quietly{t}, m, req); err != nil || got.Text != fmt.Sprintf("Done %02d.", i) {
				t.Errorf("%d: %+v, %v", i, got, err)
			}
		})
	}
	all.Wait()
}

// quietly is a test for another goroutine, which must not end it.
type quietly struct{ testing.TB }

func (q quietly) Fatal(args ...any)                 { q.Error(args...) }
func (q quietly) Fatalf(format string, args ...any) { q.Errorf(format, args...) }

// checkOnce: a long history is encoded once, no matter how often it is sent. A second
// request allocates a small part of its size; the server keeps nothing.
func checkOnce(t *testing.T, s *Subject) {
	const size = 8 << 20
	script, err := llm.Parse(t.Name(), []byte("[[turn]]\ntext = \"Hello.\"\n"))
	if err != nil {
		t.Fatal(err)
	}
	tokens := llm.New(script) // which some providers ask for first
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.ContentLength >= 0 && r.ContentLength < size/2 {
			tokens.ServeHTTP(w, r)
			return
		}
		_, _ = io.Copy(io.Discard, r.Body) // what arrived does not matter
		w.WriteHeader(http.StatusTeapot)
	}))
	defer server.Close()
	m := s.Open(t, Place{Root: server.URL})
	// A quarter of it in each kind of message.
	words := strings.Repeat("a word ", size/4/7+1)
	said := message(event.ExpertMessage, Text(words), event.Part{Type: event.ToolCallPart, ToolCallID: "c1", ToolName: "read", Args: rawjson.Value(`{}`)})
	said.Author = s.author(Place{})
	req := &model.Request{Tools: tools, Messages: []*event.Message{message(event.InstructionMessage, Text(words)), message(event.UserMessage, Text(words)), said}}
	req.Messages = append(req.Messages, Results(Result(Text(words)))(callsOf(said))...)
	ask := func() (allocated uint64) {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, _, err := Ask(t.Context(), t, m, req)
		runtime.ReadMemStats(&after)
		if e := AsFailure(t, err); e.StatusCode != http.StatusTeapot {
			t.Fatal(e)
		}
		return after.TotalAlloc - before.TotalAlloc
	}
	first, second := ask(), ask()
	if first < size || second > size/8 {
		t.Errorf("a history of %d bytes allocated %d bytes, then %d", size, first, second)
	}
}
