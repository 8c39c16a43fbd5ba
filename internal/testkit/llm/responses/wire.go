// Package responses is OpenAI's Responses API as a scripted server speaks it
// (POST {base}/responses). It streams, and keeps nothing: a thought is taken back only
// with the content that it was encrypted to.
//
// An id of an item that came after a thought ends in t, so that the server, which does not
// remember its answers, knows when a client sends the one without the other.
package responses

import (
	"fmt"
	"net/http"
	"strings"

	"github.com/perstack-go/perstack/internal/testkit/llm/script"
)

// maxBody is the largest body that the service takes.
const maxBody = 50_000_000

// Wire returns the Responses API.
func Wire() script.Wire {
	return script.Wire{
		Name: "openai",
		Env: func(root string) map[string]string {
			return map[string]string{"OPENAI_API_KEY": script.Key, "OPENAI_BASE_URL": root + "/v1"}
		},
		Takes:       func(r *http.Request) bool { return r.URL.Path == "/v1/responses" },
		Misses:      misses,
		Key:         key,
		Look:        look,
		ContentType: "text/event-stream; charset=utf-8",
		Events:      events,
		Refuse:      refuse,
		Error: func(f script.Failure) []byte {
			return script.SSE("error", `{"type":"error","error":`+described(f)+`,"sequence_number":0}`)
		},
		Begin: begin,
		End:   end,
		Delta: delta,
		Huge:  huge,
	}
}

func misses(r *http.Request) (words string, is bool) {
	return "Invalid URL (" + r.Method + " " + r.URL.Path + ")", strings.HasSuffix(r.URL.Path, "/responses")
}

func key(r *http.Request, _ []byte, s *script.Script) (sent, right bool) {
	given := r.Header.Get("Authorization")
	return given != "", given == "Bearer "+s.Key()
}

// look says what is wrong with a request, if anything is.
func look(r *http.Request, body []byte, s *script.Script) (a script.Asked, p *script.Problem) {
	if len(body) > maxBody {
		return a, script.KindProblem(http.StatusRequestEntityTooLarge, "Request body is too large")
	}
	req, p := decode(body)
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

// codes are the types and codes of errors that the service has, by the status they come
// with.
var codes = map[int][2]string{
	400: {"invalid_request_error", ""},
	401: {"invalid_request_error", "invalid_api_key"},
	402: {"invalid_request_error", "billing_not_active"},
	403: {"permission_error", ""},
	404: {"invalid_request_error", "model_not_found"},
	413: {"invalid_request_error", "request_too_large"},
	429: {"tokens", "rate_limit_exceeded"},
	500: {"server_error", "server_error"},
	503: {"server_error", "service_unavailable"},
	504: {"server_error", "vector_store_timeout"},
	529: {"server_error", "server_overloaded"},
}

// described is an error as an object. Of one inside a stream that is known by nothing, the
// service itself is the cause.
func described(f script.Failure) string {
	known, ok := codes[f.Status]
	switch {
	case f.Kind != "":
		known = [2]string{f.Kind, f.Kind}
	case !ok && f.Status >= 400 && f.Status < 500:
		known = codes[400]
	case !ok:
		known = codes[500]
	}
	code := "null"
	if known[1] != "" {
		code = script.Quote(known[1])
	}
	return `{"message":` + script.Quote(f.Message) + `,"type":` + script.Quote(known[0]) + `,"param":null,"code":` + code + `}`
}

func refuse(w http.ResponseWriter, f script.Failure, id string) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("X-Request-Id", "req_"+id)
	w.WriteHeader(f.Status)
	_, _ = fmt.Fprintf(w, `{"error":%s}`, described(f)) // a client that has left needs no answer
}
