package ollama

import (
	"net/http"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/perstack-go/perstack/internal/providers/wire"
	"github.com/perstack-go/perstack/rawjson"
)

// explain reads the body of a failed answer and adds what helps: the server is the user's
// own, mostly, and so is the remedy.
func (m *Model) explain(status int, body []byte) wire.Problem {
	var failed struct {
		Error rawjson.Value `json:"error"`
	}
	if wire.Decode(body, &failed) != nil {
		return wire.Problem{} // a page of some proxy, most likely
	}
	p := problem(failed.Error)
	switch {
	case status == http.StatusNotFound && strings.Contains(p.Message, "not found"):
		p.Hint = "get it with: ollama pull " + m.config.Model
	case status == http.StatusUnauthorized:
		p.Hint = "sign in with: ollama signin"
	case strings.Contains(p.Message, "does not support tools"):
		p.Hint = "choose a model that can call tools"
	}
	return p
}

// problem reads an error: a text, or an object from what imitates this server.
func problem(raw rawjson.Value) wire.Problem {
	var p wire.Problem
	var object struct {
		Message string `json:"message"`
	}
	switch raw.Kind() {
	case '"':
		_ = json.Unmarshal(raw, &p.Message, jsontext.AllowInvalidUTF8(true)) // what is there is enough
	case '{':
		_ = wire.Decode(raw, &object)
		p.Message = object.Message
	}
	switch {
	case tellsOf(p.Message, "context length", "context size", "exceed_context"):
		p.Final = true
		p.Hint = "raise the server's context length: OLLAMA_CONTEXT_LENGTH, or num_ctx in the options of extraBody"
	case tellsOf(p.Message, "requires more system memory", "image input is not supported", "only supports one image"):
		p.Final = true // reported as failures of the server, but they will be the same next time
	}
	return p
}

func tellsOf(message string, words ...string) bool {
	for _, w := range words {
		if strings.Contains(message, w) {
			return true
		}
	}
	return false
}
