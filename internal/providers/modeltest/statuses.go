package modeltest

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/perstack-go/perstack/internal/testkit/llm"
)

// refused is a conversation that ends with an error in the place of the answer.
func refused(table string, status int, fails Fails) Talk {
	const words = "the service says no"
	return Talk{
		Script: "[[turn]]\n[turn.error]\nmessage = " + quoted(words) + "\n" + table,
		Said:   []Say{User(Text("Hello"))},
		Want:   []Reading{{Failure: Failure{Status: status, Message: words}}},
		Fails:  &fails,
	}
}

func statusCases() []Case {
	var all []Case
	for _, status := range []struct {
		code   int
		passes bool
	}{{400, false}, {401, false}, {403, false}, {404, false}, {408, true}, {413, false}, {429, true}, {500, true}, {503, true}, {529, true}} {
		all = append(all, Case{
			Name: fmt.Sprintf("status %d", status.code),
			Talk: Always(refused(fmt.Sprintf("status = %d\n", status.code), status.code, Fails{Passing: status.passes})),
		})
	}
	keyed := needs(func(w Traits) bool { return !w.Keyless }, "this provider has no key")
	return append(all,
		Case{Name: "status 429 with a wait", Talk: Always(refused("status = 429\nretryAfter = \"7\"\n", 429, Fails{Passing: true, After: 7 * time.Second}))},
		Case{Name: "status 503 with a wait in ms", Talk: Always(refused("status = 503\nretryAfterMs = \"1500\"\n", 503, Fails{Passing: true, After: 1500 * time.Millisecond}))},
		Case{
			Name: "a quota that is used up", Skip: needs(func(w Traits) bool { return w.UsedUp != "" }, "this provider has no 429 that is final"),
			Talk: func(w Traits) Talk {
				return refused("status = 429\ntype = "+quoted(w.UsedUp)+"\nretryAfter = \"7\"\n", 429, Fails{})
			},
		},
		Case{Name: "a status 403 that passes", Check: checkPasses},
		Case{Name: "a wrong key", Skip: keyed, Check: checkKey},
		Case{Name: "a key in an error", Skip: keyed, Check: checkEcho},
		Case{Name: "a redirect", Check: checkRedirect},
		Case{Name: "unreachable", Check: checkUnreachable},
		Case{Name: "a wrong base URL", Check: checkElsewhere},
	)
}

// checkPasses: each provider has its own words for a refusal that passes, and another's
// words mean nothing.
func checkPasses(t *testing.T, s *Subject) {
	for _, words := range []string{"Overloaded", "Quota exceeded", "throttled", "connection refused", "no"} {
		_, root := Serve(t, fmt.Sprintf("[[turn]]\n[turn.error]\nstatus = 403\nmessage = %q\n", "sorry: "+words))
		_, _, err := Ask(t.Context(), t, s.Open(t, Place{Root: root}), hello())
		if e := AsFailure(t, err); e.Retryable != (words == s.Passes) {
			t.Errorf("%q: that it passes is %v: %+v", words, e.Retryable, e)
		}
	}
}

// checkKey: the scripted server knows the right one.
func checkKey(t *testing.T, s *Subject) {
	const wrong = "sk-wrong-0123456789"
	server, root := Serve(t, "[[turn]]\ntext = \"Hello.\"\n")
	_, _, err := Ask(t.Context(), t, s.Open(t, Place{Root: root, Key: wrong}), hello())
	e := AsFailure(t, err)
	if e.StatusCode != http.StatusUnauthorized && e.StatusCode != http.StatusForbidden && e.StatusCode != http.StatusBadRequest || e.Retryable {
		t.Errorf("%+v; want a final refusal", e)
	}
	if strings.Contains(e.Message, wrong) {
		t.Errorf("the error shows the key: %s", e.Message)
	}
	for _, r := range server.Requests() {
		if r.KeyRight {
			t.Errorf("the key that was sent is the right one")
		}
	}
}

// checkEcho: some gateways repeat the key that they refuse.
func checkEcho(t *testing.T, s *Subject) {
	const key = "sk-echo-0123456789abcdef"
	for _, status := range []int{400, 401, 500} {
		server, root := Serve(t, fmt.Sprintf("key = %q\n[[turn]]\n[turn.error]\nstatus = %d\nmessage = %q\n", key, status, "key "+s.Prefix+key+" is bad"))
		_, _, err := Ask(t.Context(), t, s.Open(t, Place{Root: root, Key: key}), hello())
		e := AsFailure(t, err)
		if r := server.Requests()[0]; !r.KeyRight || e.StatusCode != status || !strings.Contains(e.Message, "is bad") {
			t.Errorf("that the key was sent is %v: %+v", r.KeyRight, e)
		}
		if strings.Contains(e.Message, s.Prefix+key) {
			t.Errorf("the error shows the key: %s", e.Message)
		}
	}
}

// checkRedirect: it is not followed, so the key stays. The other host is another name of
// this one, and would answer.
func checkRedirect(t *testing.T, s *Subject) {
	for _, status := range []int{301, 302, 303, 307, 308} {
		server, root := Serve(t, fmt.Sprintf("[[turn]]\nredirect = \"http://localhost:{port}/v1/messages?%s\"\n[turn.error]\nstatus = %d\n", llm.Key, status))
		_, _, err := Ask(t.Context(), t, s.Open(t, Place{Root: root}), hello())
		e := AsFailure(t, err)
		if e.StatusCode != status || e.Retryable || !strings.Contains(e.Message, "redirect") || !s.Keyless && strings.Contains(e.Message, llm.Key) {
			t.Errorf("%d: %+v", status, e)
		}
		if n := server.Count(); n != 1 {
			t.Errorf("%d: %d requests, want 1", status, n)
		}
	}
}

// checkUnreachable: a service that cannot be reached may come back.
func checkUnreachable(t *testing.T, s *Subject) {
	_, root := Serve(t, "[[turn]]\ntext = \"Hello.\"\n")
	m := s.Open(t, Place{Root: root})
	gone := s.Open(t, Place{Root: "http://127.0.0.1:1"})
	if _, _, err := Ask(t.Context(), t, m, hello()); err != nil {
		t.Fatal(err)
	}
	_, _, err := Ask(t.Context(), t, gone, hello())
	if e := AsFailure(t, err); e.Retryable == s.Local || e.StatusCode != 0 {
		t.Errorf("%+v; want what may pass, unless the server is local", e)
	}
}

// checkElsewhere: where the service is not, it will not be either when the run tries again.
func checkElsewhere(t *testing.T, s *Subject) {
	_, root := Serve(t, "[[turn]]\ntext = \"Hello.\"\n")
	_, _, err := Ask(t.Context(), t, s.Open(t, Place{Root: root + "/elsewhere"}), hello())
	if e := AsFailure(t, err); e.StatusCode != http.StatusNotFound || e.Retryable || !strings.Contains(e.Message, "; check the") {
		t.Errorf("%+v; want what is final, and a hint", e)
	}
}
