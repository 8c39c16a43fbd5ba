package providers_test

import (
	"testing"
	"time"

	"github.com/perstack-go/perstack/internal/providers/chat"
	"github.com/perstack-go/perstack/internal/providers/modeltest"
	"github.com/perstack-go/perstack/internal/providers/ollama"
	"github.com/perstack-go/perstack/internal/providers/wire"
	"github.com/perstack-go/perstack/internal/providers/wire/wiretest"
	"github.com/perstack-go/perstack/model"
)

// A server of the user's own is silent while it collects a call. A limit on silence would fail
// on every retry, so as a run opens these providers, there is none.
func TestSilenceWhileCollecting(t *testing.T) {
	_, root := modeltest.Serve(t, "[[turn]]\ntext = \"I look.\"\nsilence = \"500ms\"\n[[turn.call]]\ntool = \"read\"\n")
	limited := wire.Config{Model: "m", Client: wire.Client{HTTP: wire.NewHTTPClient(nil), Idle: 50 * time.Millisecond}}
	for _, s := range modeltest.Subjects() {
		var m model.Model
		var err error
		switch s.Name {
		case "ollama":
			limited.Client.BaseURL = root
			m, err = ollama.New(limited)
		case "openai-compatible":
			limited.Client.BaseURL = root + "/compatible/v1"
			m, err = chat.New(chat.Config{Config: limited, Dialect: chat.Compatible})
		default:
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		if _, _, err := wiretest.Ask(t.Context(), m, wiretest.Hello()); model.AsError(err).Name != "TimeoutError" {
			t.Errorf("%s with a limit: %v", s.Name, err)
		}
		answer, _, err := wiretest.Ask(t.Context(), s.Open(t, modeltest.Place{Root: root}), wiretest.Hello())
		if err != nil || len(answer.Calls()) != 1 {
			t.Errorf("%s: %v, %v", s.Name, answer, err)
		}
	}
}
