// Package converse is Amazon Bedrock's side of the ConverseStream API, for the scripted
// server: frames with their checksums, signatures that are computed again from the
// request, and what the service refuses, in its own words.
package converse

import (
	"net/http"
	"net/url"
	"strings"

	"github.com/perstack-go/perstack/internal/testkit/llm/script"
)

// maxBody is the largest body that the service takes.
const maxBody = 25_000_000

// Wire returns the ConverseStream API.
func Wire() script.Wire {
	return script.Wire{
		Name: "amazon-bedrock",
		Env: func(root string) map[string]string {
			return map[string]string{
				"AWS_ACCESS_KEY_ID": AccessKeyID, "AWS_SECRET_ACCESS_KEY": script.Key, "AWS_REGION": "us-east-1",
				"AWS_ENDPOINT_URL_BEDROCK_RUNTIME": root,
			}
		},
		Takes: takes,
		Misses: func(r *http.Request) (string, bool) {
			return "The requested operation is not recognized by the service.", strings.HasSuffix(r.URL.Path, "/converse-stream")
		},
		Key:         key,
		Look:        look,
		ContentType: "application/vnd.amazon.eventstream",
		Events:      events,
		Refuse:      refuse,
		Error:       exception,
		Begin:       begin,
		End:         finish,
		Delta:       words,
		Huge:        huge,
	}
}

// takes looks at the path as it was written: the id of a model is one element of it,
// whatever it contains.
func takes(r *http.Request) bool {
	_, ok := modelOf(r)
	return ok
}

func modelOf(r *http.Request) (id string, ok bool) {
	rest, ok := strings.CutPrefix(r.URL.EscapedPath(), "/model/")
	if !ok {
		return "", false
	}
	if rest, ok = strings.CutSuffix(rest, "/converse-stream"); !ok || strings.Contains(rest, "/") {
		return "", false
	}
	id, err := url.PathUnescape(rest)
	return id, err == nil && id != ""
}

// look says what is wrong with a request, if anything is.
func look(r *http.Request, body []byte, s *script.Script) (a script.Asked, p *script.Problem) {
	if len(body) > maxBody {
		return a, script.KindProblem(http.StatusRequestEntityTooLarge, "Request body too large")
	}
	req, p := decode(body)
	if req != nil {
		a = req.asked()
	}
	a.Model, _ = modelOf(r)
	if wrong := checkHead(r, body, s); wrong != nil {
		return a, wrong
	}
	if p == nil {
		p = req.check(a.Model, s)
	}
	return a, p
}

func checkHead(r *http.Request, body []byte, s *script.Script) *script.Problem {
	if r.Method != http.MethodPost {
		return script.KindProblem(http.StatusMethodNotAllowed, "Method Not Allowed")
	}
	if p := checkKey(r, body, s.Key()); p != nil {
		return p
	}
	if kind := r.Header.Get("Content-Type"); kind != "application/json" {
		return script.KindProblem(http.StatusUnsupportedMediaType, "Unsupported content-type: %s", kind)
	}
	return nil
}
