// Package messages is Anthropic's Messages API (POST {base}/messages) as a wire of the
// scripted server.
//
// It looks at a request as closely as the real service does, and refuses what that would
// refuse with the same status and the same kind of body. Start reading at [Wire] and
// [Request].
package messages

import (
	"fmt"
	"net/http"
	"strings"

	"github.com/perstack-go/perstack/internal/testkit/llm/script"
)

// maxBody is the largest body that the service takes.
const maxBody = 32 << 20

// Wire returns the Messages API.
func Wire() script.Wire {
	return script.Wire{
		Name: "anthropic",
		Env: func(root string) map[string]string {
			return map[string]string{"ANTHROPIC_API_KEY": script.Key, "ANTHROPIC_BASE_URL": root + "/v1"}
		},
		Takes:       func(r *http.Request) bool { return r.URL.Path == "/v1/messages" },
		Misses:      func(r *http.Request) (string, bool) { return "Not found", strings.HasSuffix(r.URL.Path, "/messages") },
		Key:         key,
		Look:        look,
		ContentType: "text/event-stream; charset=utf-8",
		Events:      events,
		Refuse:      refuse,
		Error:       func(f script.Failure) []byte { return script.SSE("error", `{"type":"error","error":`+described(f)+`}`) },
		Begin:       begin,
		End:         finish,
		Delta:       words,
		Ping:        script.SSE("ping", ping),
		Huge:        huge,
	}
}

func key(r *http.Request, _ []byte, s *script.Script) (sent, right bool) {
	given := r.Header.Get("X-Api-Key")
	return given != "", given == s.Key()
}

// look says what is wrong with a request, if anything is.
func look(r *http.Request, body []byte, s *script.Script) (a script.Asked, p *script.Problem) {
	if len(body) > maxBody {
		return a, script.KindProblem(http.StatusRequestEntityTooLarge, "Request exceeds the maximum size")
	}
	req, p := decode(body, r.Header.Get("Anthropic-Beta") != "")
	if req != nil {
		a = req.asked()
	}
	if wrong := checkHead(r, s.Key()); wrong != nil {
		return a, wrong
	}
	if p == nil {
		p = req.check(s)
	}
	return a, p
}

// The types of errors that the service has, with the status they come with.
var kinds = map[int]string{
	400: "invalid_request_error",
	401: "authentication_error",
	402: "billing_error",
	403: "permission_error",
	404: "not_found_error",
	413: "request_too_large",
	429: "rate_limit_error",
	500: "api_error",
	504: "timeout_error",
	529: "overloaded_error",
}

// described is an error as an object. One that is known by nothing is the one that is
// most often seen inside a stream.
func described(f script.Failure) string {
	kind := f.Kind
	switch known := kinds[f.Status]; {
	case kind != "":
	case f.Status == 0:
		kind = kinds[529]
	case known != "":
		kind = known
	case f.Status >= 500:
		kind = kinds[500]
	default:
		kind = kinds[400]
	}
	return `{"type":` + script.Quote(kind) + `,"message":` + script.Quote(f.Message) + `}`
}

func refuse(w http.ResponseWriter, f script.Failure, id string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(f.Status)
	_, _ = fmt.Fprintf(w, `{"type":"error","error":%s,"request_id":"req_%s"}`, described(f), id) // a client that has left needs no answer
}
