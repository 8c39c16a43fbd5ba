package ollama

import (
	"net/http"
	"strings"

	"github.com/perstack-go/perstack/internal/providers/wire"
	"github.com/perstack-go/perstack/internal/terminal"
)

// explain reads the body of a failed answer and adds what helps: the server is the user's
// own, mostly, and so is the remedy.
func (m *Model) explain(status int, body []byte) wire.Problem {
	p := problem(wire.ReadOpenAIError(body))
	switch {
	case status == http.StatusNotFound && strings.Contains(p.Message, "not found"):
		p.Hint = "get it with: ollama pull " + terminal.ShellJoin(m.config.Model)
	case status == http.StatusUnauthorized:
		p.Hint = "sign in with: ollama signin"
	case strings.Contains(p.Message, "does not support tools"):
		p.Hint = "choose a model that can call tools"
	}
	return p
}

// problem adds what an error means: a text, or an object from what imitates this server.
func problem(e wire.OpenAIError) wire.Problem {
	p := e.Problem()
	switch {
	case wire.Says(p.Message, "context length", "context size", "exceed_context"):
		p.Final = true
		p.Hint = "raise the server's context length: OLLAMA_CONTEXT_LENGTH, or num_ctx in the options of extraBody"
	case wire.Says(p.Message, "requires more system memory", "image input is not supported", "only supports one image"):
		p.Final = true // reported as failures of the server, but they will be the same next time
	}
	return p
}
