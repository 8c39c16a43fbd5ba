// Package gemini is Google's generateContent, streamed, as the scripted server speaks it:
// that of the Gemini API, and that of Vertex AI with its token server.
//
// Where the service ignores nothing it does not know, neither does this. A signature names
// the part that it was given with: on another part, or changed, it is refused.
package gemini

import (
	"net/http"
	"regexp"
	"strings"

	"github.com/perstack-go/perstack/internal/testkit/llm/script"
)

// A service is one of the two that speak this wire.
type service struct {
	vertex bool
}

// Google is the wire of the Gemini API.
func Google() script.Wire {
	w := service{}.wire("google")
	w.Env = func(root string) map[string]string {
		return map[string]string{"GOOGLE_GENERATIVE_AI_API_KEY": script.Key, "GOOGLE_GENERATIVE_AI_BASE_URL": root + "/v1beta"}
	}
	return w
}

// Vertex is the wire of Vertex AI.
func Vertex() script.Wire {
	w := service{vertex: true}.wire("google-vertex")
	w.Beside, w.Credentials = tokens, ServiceAccount
	w.Env = func(root string) map[string]string {
		return map[string]string{
			"GOOGLE_VERTEX_PROJECT": "p", "GOOGLE_VERTEX_LOCATION": "l",
			"GOOGLE_VERTEX_BASE_URL": root + "/v1beta1/projects/p/locations/l/publishers/google",
		}
	}
	return w
}

const method = ":streamGenerateContent"

// Where the models of the services are. A tuned one has a collection of its own.
var (
	googlePath = regexp.MustCompile(`^/v1beta/(models|tunedModels)/[^/]+` + method + `$`)
	vertexPath = regexp.MustCompile(`^/v1beta1/projects/[^/]+/locations/[^/]+/(publishers/google/models|endpoints)/[^/]+` + method + `$`)
)

func (s service) wire(name string) script.Wire {
	root := googlePath
	if s.vertex {
		root = vertexPath
	}
	return script.Wire{
		Name:  name,
		Takes: func(r *http.Request) bool { return root.MatchString(r.URL.Path) },
		Misses: func(r *http.Request) (string, bool) {
			meant := strings.HasSuffix(r.URL.Path, method) && s.vertex == (r.Header.Get("X-Goog-Api-Key") == "")
			return "Requested entity was not found.", meant
		},
		Key:         s.key,
		Look:        s.look,
		ContentType: "text/event-stream",
		Events:      events,
		Refuse:      refuse,
		Error:       func(f script.Failure) []byte { return script.SSE("", described(f)) },
		Begin:       func(*script.Turn, script.Reply) [][]byte { return nil },
		End:         func(t *script.Turn, re script.Reply) [][]byte { return [][]byte{end(t, re)} },
		Delta:       delta,
		Huge:        huge,
	}
}

// token is what Vertex AI takes for a key.
func token(key string) string { return "ya29." + key }

func (s service) key(r *http.Request, _ []byte, script *script.Script) (sent, right bool) {
	header, want := r.Header.Values("X-Goog-Api-Key"), script.Key()
	if s.vertex {
		header, want = r.Header.Values("Authorization"), "Bearer "+token(script.Key())
	}
	return len(header) > 0, len(header) == 1 && header[0] == want
}

// statuses are the service's words for its codes.
var statuses = map[int]string{
	400: "INVALID_ARGUMENT", 401: "UNAUTHENTICATED", 403: "PERMISSION_DENIED", 404: "NOT_FOUND", 409: "ABORTED", 429: "RESOURCE_EXHAUSTED",
	499: "CANCELLED", 500: "INTERNAL", 501: "UNIMPLEMENTED", 503: "UNAVAILABLE", 504: "DEADLINE_EXCEEDED",
}

const badKey = "API key not valid. Please pass a valid API key."

// described is an error as the service words it.
func described(f script.Failure) string {
	if f.Status == 0 {
		f.Status = http.StatusServiceUnavailable
		for code, word := range statuses {
			if f.Kind == word {
				f.Status = code
			}
		}
	}
	if f.Kind == "" {
		if f.Kind = statuses[f.Status]; f.Kind == "" {
			f.Kind = "UNKNOWN"
		}
	}
	details := ""
	if f.Message == badKey {
		details = `,"details":[{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"API_KEY_INVALID","domain":"googleapis.com"}]`
	}
	return `{"error":{"code":` + itoa(f.Status) + `,"message":` + script.Quote(f.Message) + `,"status":` + script.Quote(f.Kind) + details + `}}`
}

func refuse(w http.ResponseWriter, f script.Failure, _ string) {
	w.Header().Set("Content-Type", "application/json; charset=UTF-8")
	w.WriteHeader(f.Status)
	_, _ = w.Write([]byte(described(f))) // a client that has left needs no answer
}

func (s service) look(r *http.Request, body []byte, script *script.Script) (a script.Asked, p *script.Problem) {
	req, p := s.decode(body)
	if req != nil {
		req.model, req.third = modelOf(r.URL.Path)
		a = req.asked()
	}
	if head := s.checkHead(r, body, script); head != nil {
		return a, head
	}
	if p != nil {
		return a, p
	}
	req.in = s
	return a, req.check(script)
}

// modelOf is the model that a path names, and whether it is one of Gemini 3 or later.
func modelOf(path string) (name string, third bool) {
	name = strings.TrimSuffix(path[strings.LastIndexByte(path, '/')+1:], method)
	return name, strings.HasPrefix(name, "gemini-3")
}

func (s service) checkHead(r *http.Request, body []byte, script *script.Script) *script.Problem {
	sent, right := s.key(r, body, script)
	name, _ := modelOf(r.URL.Path)
	switch {
	case r.Method != http.MethodPost:
		return problem(http.StatusNotFound, "Requested entity was not found.")
	case r.URL.Query().Has("key"):
		return invalid("the key is in the address, where logs keep it; send it as a header")
	case s.vertex && !right:
		return problem(http.StatusUnauthorized, "Request had invalid authentication credentials. Expected OAuth 2 access token, login cookie or other valid authentication credential.")
	case !sent:
		return problem(http.StatusForbidden, "Method doesn't allow unregistered callers (callers without established identity). Please use API Key or other form of API consumer identity to call this API.")
	case !right:
		return invalid(badKey)
	case r.URL.RawQuery != "alt=sse":
		return invalid("a script is played as server-sent events; ask with alt=sse and nothing else")
	case !strings.HasPrefix(r.Header.Get("Content-Type"), "application/json"):
		return invalid("the content type is %q", r.Header.Get("Content-Type"))
	case strings.HasPrefix(name, "missing"):
		return problem(http.StatusNotFound, "models/%s is not found for API version v1beta, or is not supported for generateContent.", name)
	}
	return nil
}

func problem(status int, format string, args ...any) *script.Problem {
	return script.KindProblem(status, format, args...)
}

func invalid(format string, args ...any) *script.Problem {
	return problem(http.StatusBadRequest, format, args...)
}
