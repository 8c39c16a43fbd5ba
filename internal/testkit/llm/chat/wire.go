// Package chat is the Chat Completions API as three wires of the scripted server: as Azure
// OpenAI speaks it, below /openai, by deployments and by v1 addresses, as DeepSeek does, and
// as the servers do that are compatible with OpenAI's. Those need no key, call a thought
// reasoning, and drop messages of a role that they do not know without a word.
//
// It looks at a request as closely as the real services do, and refuses what they would
// refuse with the same status and the same kind of body. Where a service lets a member pass
// that it does not know, this one does not: a misspelt member would stay unseen. Start
// reading at [Azure], [DeepSeek] and [Request].
package chat

import (
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/perstack-go/perstack/internal/testkit/llm/script"
)

// maxBody is the largest body that the services take.
const maxBody = 50_000_000

// A dialect is what is different between the services.
type dialect struct {
	azure, compatible bool
}

// Wires returns the services that speak Chat Completions.
func Wires() []script.Wire {
	azure, deepSeek, compatible := wire(dialect{azure: true}), wire(dialect{}), wire(dialect{compatible: true})
	azure.Name, azure.Takes = "azure-openai", isAzure
	azure.Env = func(root string) map[string]string {
		return map[string]string{"AZURE_API_KEY": script.Key, "AZURE_BASE_URL": root + "/openai"}
	}
	deepSeek.Name, deepSeek.Takes = "deepseek", func(r *http.Request) bool { return r.URL.Path == "/deepseek/chat/completions" }
	deepSeek.Env = func(root string) map[string]string {
		return map[string]string{"DEEPSEEK_API_KEY": script.Key, "DEEPSEEK_BASE_URL": root + "/deepseek"}
	}
	deepSeek.Ping = []byte(": keep-alive\n\n") // while a request waits for its turn
	compatible.Name, compatible.Takes = "openai-compatible", func(r *http.Request) bool { return r.URL.Path == "/compatible/v1/chat/completions" }
	compatible.Env = func(root string) map[string]string {
		return map[string]string{"OPENAI_COMPATIBLE_API_KEY": script.Key, "OPENAI_COMPATIBLE_BASE_URL": root + "/compatible/v1"}
	}
	return []script.Wire{azure, deepSeek, compatible}
}

func isChat(r *http.Request) bool { return strings.HasSuffix(r.URL.Path, "/chat/completions") }

// isAzure leaves it to look what stands between, for which the service has its own words.
func isAzure(r *http.Request) bool { return isChat(r) && strings.HasPrefix(r.URL.Path, "/openai/") }

// misses tells the services apart by the key, which is sent to a wrong address as well.
func (d dialect) misses(r *http.Request) (words string, is bool) {
	words = "Not Found"
	if d.azure {
		words = "Resource not found"
	}
	return words, isChat(r) && d.azure == (r.Header.Get("Api-Key") != "")
}

func wire(d dialect) script.Wire {
	return script.Wire{
		Misses:      d.misses,
		Key:         d.key,
		Look:        d.look,
		ContentType: "text/event-stream; charset=utf-8",
		Events:      d.events,
		Refuse:      d.refuse,
		Error:       func(f script.Failure) []byte { return script.SSE("", `{"error":`+described(f)+`}`) },
		Begin:       d.begin,
		End:         d.end,
		Delta:       d.words,
		Huge:        d.huge,
	}
}

func (d dialect) key(r *http.Request, _ []byte, s *script.Script) (sent, right bool) {
	if d.azure {
		given := r.Header.Get("Api-Key")
		return given != "", given == s.Key()
	}
	given := r.Header.Get("Authorization")
	return given != "", given == "Bearer "+s.Key() || d.compatible && given == ""
}

// look says what is wrong with a request, if anything is.
func (d dialect) look(r *http.Request, body []byte, s *script.Script) (a script.Asked, p *script.Problem) {
	if len(body) > maxBody {
		return a, script.KindProblem(http.StatusRequestEntityTooLarge, "Request body is too large")
	}
	req, p := d.decode(body)
	if req != nil && d.compatible {
		req.Messages = slices.DeleteFunc(req.Messages, func(m Message) bool { return m.Role == "developer" })
	}
	if req != nil {
		a = req.asked()
	}
	if wrong := d.checkHead(r, s); wrong != nil {
		return a, wrong
	}
	if p == nil {
		p = d.check(req)
	}
	return a, p
}

// codes are the types and codes of errors that the services have, by the status they come
// with.
var codes = map[int][2]string{
	400: {"invalid_request_error", ""},
	401: {"authentication_error", "invalid_api_key"},
	402: {"unknown_error", "invalid_request_error"},
	403: {"permission_error", "permission_denied"},
	404: {"invalid_request_error", "DeploymentNotFound"},
	413: {"invalid_request_error", "request_too_large"},
	422: {"invalid_request_error", "invalid_request_error"},
	429: {"requests", "rate_limit_exceeded"},
	500: {"server_error", ""},
	503: {"server_error", "service_unavailable"},
	504: {"server_error", "timeout"},
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

// refuse writes an error. The gateway before Azure's models has fewer words for a wrong key
// than they have.
func (d dialect) refuse(w http.ResponseWriter, f script.Failure, id string) {
	text := described(f)
	w.Header().Set("Content-Type", "application/json")
	if d.azure {
		w.Header().Set("Apim-Request-Id", id)
		if f.Status == http.StatusUnauthorized && f.Kind == "" {
			text = `{"code":"401","message":` + script.Quote(f.Message) + `}`
		}
	}
	w.WriteHeader(f.Status)
	_, _ = fmt.Fprintf(w, `{"error":%s}`, text) // a client that has left needs no answer
}
