package llm

import (
	"os"
	"path/filepath"

	"github.com/perstack-go/perstack/internal/testkit/llm/chat"
	"github.com/perstack-go/perstack/internal/testkit/llm/converse"
	"github.com/perstack-go/perstack/internal/testkit/llm/gemini"
	"github.com/perstack-go/perstack/internal/testkit/llm/messages"
	"github.com/perstack-go/perstack/internal/testkit/llm/ollama"
	"github.com/perstack-go/perstack/internal/testkit/llm/responses"
	"github.com/perstack-go/perstack/internal/testkit/llm/script"
)

// wires are the APIs that a server plays. The first that takes a request answers it. A
// request that none takes is refused in the words of the API it was meant for, or of the
// first.
func wires() []script.Wire {
	all := []script.Wire{messages.Wire(), converse.Wire(), responses.Wire(), gemini.Google(), gemini.Vertex(), ollama.Wire()}
	return append(all, chat.Wires()...)
}

// Env returns the environment in which perstack takes a server, at the address that
// [Server.Root] returns, for one of the providers, with the right key. A file with
// credentials is written to dir if the provider needs one. Env returns nil if there is no
// such provider, or if the file cannot be written.
func Env(provider, root, dir string) map[string]string {
	for _, wire := range wires() {
		if wire.Name != provider {
			continue
		}
		env := wire.Env(root)
		if wire.Credentials != nil {
			file := filepath.Join(dir, "credentials.json")
			if os.WriteFile(file, wire.Credentials(root, script.Key), 0o600) != nil {
				return nil
			}
			env["GOOGLE_APPLICATION_CREDENTIALS"] = file
		}
		return env
	}
	return nil
}
