package runtimes_test

import (
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/perstack-go/perstack/engine"
	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/expert"
	"github.com/perstack-go/perstack/internal/providers"
	"github.com/perstack-go/perstack/internal/runtimes"
	"github.com/perstack-go/perstack/internal/secret"
	"github.com/perstack-go/perstack/job"
	"github.com/perstack-go/perstack/model"
	"github.com/perstack-go/perstack/rawjson"
)

func cassette(t *testing.T, answer string) expert.Setting {
	t.Helper()
	path := filepath.Join(t.TempDir(), "cassette.toml")
	if err := os.WriteFile(path, []byte("[[turn]]\ntext = \""+answer+"\"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return expert.Setting{Cassette: path}
}

// A request goes to the model of the Expert that asks. Each model is opened once, with the
// Config that the caller changed.
func TestOpenModel(t *testing.T) {
	spec := job.Spec{
		Settings: job.Settings{Provider: "replay", Model: "replay", Setting: cassette(t, "from the job's")},
		Experts: []*expert.Expert{
			{Key: "lead", Name: "lead"},
			{Key: "own", Name: "own", Model: "m", Provider: &expert.Provider{Name: "replay", Setting: cassette(t, "from its own")}},
			{Key: "other", Name: "other"},
		},
	}
	parts := engine.Parts{Variables: func(string) engine.Variable { return engine.Variable{} }, Secrets: new(secret.Set), Log: slog.New(slog.DiscardHandler)}
	changed := 0
	m, err := runtimes.OpenModel(spec, parts, func(c providers.Config) providers.Config { changed++; return c })
	if err != nil || changed != 2 {
		t.Fatalf("%v, %d Configs", err, changed)
	}
	for key, want := range map[string]string{"lead": "from the job's", "own": "from its own", "other": "from the job's"} {
		said := &event.Message{ID: "m", Type: event.UserMessage, Contents: []event.Part{{Type: event.TextPart, Text: "x"}}}
		var got string
		for chunk, err := range m.Generate(t.Context(), &model.Request{Expert: key, Messages: []*event.Message{said}}) {
			if err != nil {
				t.Fatal(err)
			}
			if chunk.Answer != nil {
				got = chunk.Answer.Text()
			}
		}
		if got != want {
			t.Errorf("%s is answered %q", key, got)
		}
	}
	spec.Experts[1].Provider = &expert.Provider{Name: "openai"}
	if _, err := runtimes.OpenModel(spec, parts, nil); err == nil {
		t.Error("a provider without its key was opened")
	}
}

// The keys of all providers in use are hidden, and the headers of each.
func TestHideSecrets(t *testing.T) {
	spec := job.Spec{
		Settings: job.Settings{Provider: "anthropic", Model: "m"},
		Experts: []*expert.Expert{{Key: "own", Name: "own", Model: "gpt", Provider: &expert.Provider{
			Name: "openai", Setting: expert.Setting{Headers: map[string]string{"X-Gateway": "Bearer hT5Kq9ZxWv2Lm8Rj4Nc7"}},
		}}},
	}
	set := new(secret.Set)
	runtimes.HideSecrets(set, spec, func(name string) string { return "value-of-" + name })
	for _, text := range []string{"value-of-ANTHROPIC_API_KEY", "value-of-OPENAI_API_KEY", "hT5Kq9ZxWv2Lm8Rj4Nc7"} {
		if set.Redact(text) == text {
			t.Errorf("%s is shown", text)
		}
	}
}

// What an Expert's own provider is sent is hidden, wherever in extraBody or a header a key is,
// and ordinary words stay.
func TestHideKeysInSettings(t *testing.T) {
	setting := expert.Setting{
		ExtraBody: map[string]rawjson.Value{
			"api_key":  rawjson.Value(`"sk-verysecret-0123456789abcdefABCDEF"`),
			"password": rawjson.Value(`"Tr0ub4dor&3xyz"`),
			"auth":     rawjson.Value(`{"depth": 1, "inner": [{"token": "zX9\u002dqW7eR5tY3uI1"}]}`),
			"keys":     rawjson.Value(`["sk-one-0123456789abcdefABCDEF", "sk-two-0123456789abcdefABCDEF"]`),
			"mode":     rawjson.Value(`"balanced"`),
		},
		Headers: map[string]string{
			"Cookie":        "session=hT5Kq9ZxWv2Lm8Rj4Nc7; theme=dark-colours",
			"X-Api-Key":     "sk-hdr-0123456789abcdefABCDEF, sk-end-0123456789abcdefABCDEF",
			"Authorization": `Digest username="somebody", password="Gh7!kLm2pQ"`,
		},
	}
	spec := job.Spec{Experts: []*expert.Expert{{Key: "a", Provider: &expert.Provider{Name: "openai-compatible", Setting: setting}}}}
	set := new(secret.Set)
	runtimes.HideSecrets(set, spec, func(string) string { return "" })
	for _, text := range []string{
		"sk-verysecret-0123456789abcdefABCDEF", "Tr0ub4dor&3xyz", "zX9-qW7eR5tY3uI1",
		"sk-one-0123456789abcdefABCDEF", "sk-two-0123456789abcdefABCDEF",
		"hT5Kq9ZxWv2Lm8Rj4Nc7", "sk-hdr-0123456789abcdefABCDEF", "sk-end-0123456789abcdefABCDEF", "Gh7!kLm2pQ",
	} {
		if got := set.Redact("it is " + text + "."); strings.Contains(got, text) {
			t.Errorf("%s is shown", got)
		}
	}
	const plain = "the mode balanced of session with dark-colours, a Digest of the username, depth 1"
	if got := set.Redact(plain); got != plain {
		t.Errorf("ordinary words are hidden: %s", got)
	}
}
