package modeltest

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
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
		{Name: "members that nobody knows", Check: func(t *testing.T, s *Subject) {
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
	}
}

// everywhere breaks an answer after each of its events. Either that is a failure that may
// pass, or the answer is the whole one: nothing is taken for complete that is not.
func everywhere(t *testing.T, s *Subject, fault, words string) {
	t.Helper()
	req := hello()
	req.Tools, req.Reasoning = tools, "low"
	_, root := Serve(t, whole)
	want, _, err := Ask(t.Context(), t, s.Open(t, Place{Root: root}), req)
	if err != nil {
		t.Fatal(err)
	}
	keys, calls, _ := strings.Cut(whole, "[[turn.call]]")
	at, tables, _ := strings.Cut(fault, "\n")
	failures := 0
	const most = 200
	for n := range most {
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
	if failures < 5 || failures == most {
		t.Errorf("%d events broke the answer; that is not an answer in pieces", failures)
	}
}
