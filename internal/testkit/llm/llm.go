package llm

import (
	"github.com/perstack-go/perstack/internal/testkit/llm/messages"
	"github.com/perstack-go/perstack/internal/testkit/llm/script"
)

// Key is the API key that is right when the script names none.
const Key = script.Key

// A Script is a list of answers.
type Script = script.Script

// A Request is the body of a request on Anthropic's wire.
type Request = messages.Request

// Parse reads a script. Its name stands in errors.
func Parse(name string, data []byte) (*Script, error) { return script.Parse(name, data) }
