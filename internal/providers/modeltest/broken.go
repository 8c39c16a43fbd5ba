package modeltest

import (
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/internal/testkit/llm"
	"github.com/perstack-go/perstack/model"
)

// whole is an answer with everything that arrives in pieces.
const whole = "[[turn]]\nreasoning = \"I think so.\"\ntext = \"one two three four\"\n" + used +
	"[[turn.call]]\nid = \"c1\"\ntool = \"read\"\nargs = { path = \"a\" }\n"

func brokenCases() []Case {
	inside := func(name, at, kind string, status int, passes bool) Case {
		return Case{Name: name, Talk: Always(Talk{
			Script: "[[turn]]\ntext = \"one two three four\"\nerrorAfter = " + at + "\n[turn.error]\nkind = \"" + kind + "\"\nmessage = \"the service is sorry\"\n",
			Said:   []Say{User(Text("Hello"))},
			Want:   []Reading{{Failure: Failure{Status: status, Message: "the service is sorry", InStream: true}}},
			Fails:  &Fails{Passing: passes},
		})}
	}
	cut := func(name, fault string) Case {
		return Case{Name: name, Talk: Always(Talk{
			Script: "[[turn]]\ntext = \"one two three four\"\n" + used + fault, Said: []Say{User(Text("Hello"))},
			Want: []Reading{{Failure: Failure{Broken: true}}}, Fails: &Fails{Passing: true},
		})}
	}
	return []Case{
		cut("cut at once", "cutAfter = 0\n"),
		cut("cut in the middle", "cutAfter = 3\n"),
		cut("cut inside an event", "cutAfter = 2\ncutInside = true\n"),
		cut("ended in the middle", "endAfter = 3\n"),
		inside("an error as the first event", "0", "rateLimit", 429, true),
		inside("an error inside a stream", "3", "unavailable", 503, true),
		inside("an error before the end", "-1", "internal", 500, true),
		{Name: "unknown members", Check: func(t *testing.T, s *Subject) {
			_, root := Serve(t, "[[turn]]\nraw = \"deep\"\ndepth = 10\n")
			if got, _, err := Ask(t.Context(), t, s.Open(t, Place{Root: root}), hello()); err != nil || got.Text != "deep" {
				t.Errorf("%+v, %v", got, err)
			}
		}},
		{Name: "an error at every event", Check: func(t *testing.T, s *Subject) {
			everywhere(t, s, "errorAfter = %d\n[turn.error]\nkind = \"unavailable\"\nmessage = \"the service is sorry\"\n", "the service is sorry")
		}},
		{Name: "cut at every event", Check: func(t *testing.T, s *Subject) { everywhere(t, s, "cutAfter = %d\n", "broke off") }},
		{Name: "cut inside every event", Check: func(t *testing.T, s *Subject) { everywhere(t, s, "cutAfter = %d\ncutInside = true\n", "broke off") }},
		{Name: "a clean end at every event", Check: func(t *testing.T, s *Subject) { everywhere(t, s, "endAfter = %d\n", "") }},
		{Name: "a clean end at every byte", Check: checkEveryByte},
		{Name: "usage at every event", Check: checkUsageEverywhere},
	}
}

// A taped server answers as the scripted one did, byte for byte, up to a length.
type taped struct {
	kind  string
	body  []byte
	until int
}

// tape records an answer of the scripted server. What clients ask for beside it, like a
// token, is passed on.
func tape(t *testing.T, s *Subject, script string) (*taped, model.Model) {
	t.Helper()
	parsed, err := llm.Parse(t.Name(), []byte(script))
	if err != nil {
		t.Fatal(err)
	}
	scripted := llm.New(parsed)
	var answer *taped
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if answer != nil && !strings.HasSuffix(r.URL.Path, "/token") {
			_, _ = io.Copy(io.Discard, r.Body) // what arrived does not matter
			w.Header().Set("Content-Type", answer.kind)
			_, _ = w.Write(answer.body[:answer.until]) // a client that has left needs no body
			return
		}
		recorder := httptest.NewRecorder()
		scripted.ServeHTTP(recorder, r)
		maps.Copy(w.Header(), recorder.Header())
		w.WriteHeader(recorder.Code)
		_, _ = w.Write(recorder.Body.Bytes())
		if scripted.Count() > 0 {
			answer = &taped{recorder.Header().Get("Content-Type"), recorder.Body.Bytes(), recorder.Body.Len()}
		}
	}))
	t.Cleanup(server.Close)
	m := s.Open(t, Place{Root: server.URL})
	if _, _, err := Ask(t.Context(), t, m, wholeRequest()); err != nil {
		t.Fatal(err)
	}
	return answer, m
}

// wholeRequest asks for an answer with everything in it.
func wholeRequest() *model.Request {
	req := hello()
	req.Tools, req.Reasoning = tools, "low"
	return req
}

// checkEveryByte ends an answer after each of its bytes. Until the last bytes that say
// something, that is a failure that passes.
func checkEveryByte(t *testing.T, s *Subject) {
	answer, m := tape(t, s, whole)
	size := len(answer.body)
	want, _, err := Ask(t.Context(), t, m, wholeRequest())
	if err != nil {
		t.Fatal(err)
	}
	step := 1
	if testing.Short() {
		step = 23
	}
	for answer.until = 0; answer.until < size; answer.until += step {
		got, _, err := Ask(t.Context(), t, m, wholeRequest())
		if answer.until >= size-s.Tail {
			if diff := cmp.Diff(want, got); err != nil || diff != "" {
				t.Errorf("without its last %d bytes the answer is another: %v (-want +got):\n%s", size-answer.until, err, diff)
			}
			continue
		}
		if err == nil {
			t.Fatalf("%d of %d bytes are an answer", answer.until, size)
		}
		if e := AsFailure(t, err); e.Name != "IncompleteAnswer" || !e.Retryable {
			t.Fatalf("%d of %d bytes: %+v", answer.until, size, e)
		}
		if !strings.HasPrefix(want.Heard, got.Heard) {
			t.Fatalf("%d of %d bytes say %q, not %q", answer.until, size, got.Heard, want.Heard)
		}
	}
}

// checkUsageEverywhere breaks an answer after each of its events, in three ways: the error
// has what was counted until then, whichever way it is. Wires count once, at the begin or
// at the end; some count the output again at the end.
func checkUsageEverywhere(t *testing.T, s *Subject) {
	all := s.counted(usedAll)
	var before event.Usage
	for n := range 200 {
		var counts []event.Usage
		for _, fault := range []string{"cutAfter = %d\n", "endAfter = %d\n", "errorAfter = %d\n"} {
			_, root := Serve(t, "[[turn]]\ntext = \"one two three four\"\n"+used+fmt.Sprintf(fault, n))
			got, _, err := Ask(t.Context(), t, s.Open(t, Place{Root: root}), hello())
			if err == nil || strings.Contains(err.Error(), "does not fit to the wire") {
				if n < 5 {
					t.Errorf("the answer has %d events; that is not an answer in pieces: %v", n, err)
				}
				return
			}
			counts = append(counts, got.Usage)
		}
		u := counts[0]
		if !cmp.Equal(counts[1], u) || !cmp.Equal(counts[2], u) {
			t.Errorf("after %d events: counted %+v by the way it broke", n, counts)
		}
		begun := n > 0 && s.CountsEarly
		switch {
		case u.TotalTokens == 0:
			if begun {
				t.Errorf("after %d events nothing is counted", n)
			}
		case u.InputTokens != all.InputTokens || u.CachedInputTokens != all.CachedInputTokens || u.OutputTokens > all.OutputTokens ||
			u.TotalTokens != u.InputTokens+u.OutputTokens || u.TotalTokens < before.TotalTokens:
			t.Errorf("after %d events %+v is counted, and before %+v, of %+v", n, u, before, all)
		}
		before = u
	}
	t.Error("the answer has no end")
}

// everywhere breaks an answer after each of its events. Either that is a failure that may
// pass, or the answer is the whole one: nothing is taken for complete that is not.
func everywhere(t *testing.T, s *Subject, fault, words string) {
	t.Helper()
	req := wholeRequest()
	_, root := Serve(t, whole)
	want, _, err := Ask(t.Context(), t, s.Open(t, Place{Root: root}), req)
	if err != nil {
		t.Fatal(err)
	}
	keys, calls, _ := strings.Cut(whole, "[[turn.call]]")
	at, tables, _ := strings.Cut(fault, "\n")
	failures := 0
	const most = 200
	step, least := 1, 5
	if testing.Short() {
		step, least = 3, 2
	}
	for n := 0; n < most; n += step {
		script := keys + fmt.Sprintf(at, n) + "\n"
		if strings.HasPrefix(tables, "[") {
			script += "[[turn.call]]" + calls + tables
		} else {
			script += tables + "[[turn.call]]" + calls
		}
		_, root := Serve(t, script)
		got, _, err := Ask(t.Context(), t, s.Open(t, Place{Root: root}), req)
		if err == nil {
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("after %d events the answer is taken for whole (-want +got):\n%s", n, diff)
			}
			break
		}
		e := AsFailure(t, err)
		if strings.Contains(e.Message, "does not fit to the wire") {
			break // there are no more events
		}
		failures++
		if !e.Retryable || !strings.Contains(e.Message, words) {
			t.Errorf("after %d events: %+v; want %q, which may pass", n, e, words)
		}
		if !strings.HasPrefix(want.Heard, got.Heard) {
			t.Errorf("after %d events %q was heard, of %q", n, got.Heard, want.Heard)
		}
	}
	if failures < least || failures >= most/step {
		t.Errorf("%d events broke the answer; that is not an answer in pieces", failures)
	}
}
