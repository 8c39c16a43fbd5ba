// Package ollama is the chat API of an Ollama server, as a scripted server speaks it.
//
// The real server is lenient: members that it does not know are nothing to it, and it has
// no key. What it refuses, it refuses because it cannot read it into its types, schemas of
// tools included, or because the model cannot do it. Which models can think is known to
// each server alone; on this one, those whose names begin with gemma cannot, and those
// whose names begin with missing do not exist.
//
// A result without a call is refused as well. The real server would show it
// to the model, and the mistake would stay hidden. Start reading at [Wire].
package ollama

import (
	"net/http"
	"strings"

	"github.com/perstack-go/perstack/internal/testkit/llm/script"
)

// Wire returns the chat API.
func Wire() script.Wire {
	return script.Wire{
		Name:        "ollama",
		Env:         func(root string) map[string]string { return map[string]string{"OLLAMA_BASE_URL": root + "/api"} },
		Takes:       func(r *http.Request) bool { return r.URL.Path == "/api/chat" },
		Misses:      func(r *http.Request) (string, bool) { return notFound, strings.HasSuffix(r.URL.Path, "/chat") },
		Key:         func(*http.Request, []byte, *script.Script) (sent, right bool) { return false, true },
		Look:        look,
		ContentType: "application/x-ndjson",
		Events:      events,
		Refuse:      refuse,
		Error:       func(f script.Failure) []byte { return []byte(described(f) + "\n") },
		Begin:       func(*script.Turn, script.Reply) [][]byte { return nil },
		End:         func(t *script.Turn, re script.Reply) [][]byte { return [][]byte{end(t, re)} },
		Delta:       delta,
		Huge:        huge,
	}
}

// described is an error: a text, and nothing of its kind.
func described(f script.Failure) string { return `{"error":` + script.Quote(f.Message) + `}` }

// notFound is what the server says of an address that it does not have: no JSON.
const notFound = "404 page not found"

func refuse(w http.ResponseWriter, f script.Failure, _ string) {
	if f.Message == notFound {
		http.Error(w, f.Message, f.Status)
		return
	}
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	w.WriteHeader(f.Status)
	_, _ = w.Write([]byte(described(f))) // a client that has left needs no answer
}

// look says what is wrong with a request, if anything is.
func look(r *http.Request, body []byte, _ *script.Script) (a script.Asked, p *script.Problem) {
	req, p := decode(body)
	if req != nil {
		a = req.asked()
	}
	switch {
	case r.Method != http.MethodPost:
		return a, script.KindProblem(http.StatusMethodNotAllowed, "method not allowed")
	case p != nil:
		return a, p
	}
	return a, req.check()
}
