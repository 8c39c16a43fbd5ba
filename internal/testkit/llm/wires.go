package llm

import (
	"github.com/perstack-go/perstack/internal/testkit/llm/chat"
	"github.com/perstack-go/perstack/internal/testkit/llm/converse"
	"github.com/perstack-go/perstack/internal/testkit/llm/gemini"
	"github.com/perstack-go/perstack/internal/testkit/llm/messages"
	"github.com/perstack-go/perstack/internal/testkit/llm/ollama"
	"github.com/perstack-go/perstack/internal/testkit/llm/responses"
	"github.com/perstack-go/perstack/internal/testkit/llm/script"
)

// wires are those that a server speaks. The first that takes a request answers it; one
// that nobody takes is refused in the words of whom it was meant for, or of the first.
func wires() []script.Wire {
	return []script.Wire{
		messages.Wire(),
		converse.Wire(),
		responses.Wire(),
		gemini.Google(),
		gemini.Vertex(),
		chat.Azure(),
		chat.DeepSeek(),
		ollama.Wire(),
	}
}
