package docker

import (
	"log/slog"
	"slices"
	"strings"
	"testing"

	"github.com/perstack-go/perstack/engine"
	"github.com/perstack-go/perstack/expert"
	"github.com/perstack-go/perstack/internal/secret"
	"github.com/perstack-go/perstack/job"
	"github.com/perstack-go/perstack/store/memory"
)

// A container gets the keys and the addresses of all providers of a job, and no others.
func TestModelsOfExperts(t *testing.T) {
	spec := job.Spec{
		Settings: job.Settings{Provider: "anthropic", Model: "claude-sonnet-4-5", Runtime: job.Docker},
		Expert:   "lead",
		Experts: []*expert.Expert{
			{Key: "lead", Name: "lead", Delegates: []string{"own"}},
			{Key: "own", Name: "own", Model: "gpt-5", Provider: &expert.Provider{Name: "openai"}},
		},
	}
	keys := map[string]string{"ANTHROPIC_API_KEY": "a", "OPENAI_API_KEY": "o", "DEEPSEEK_API_KEY": "d"}
	parts := engine.Parts{
		Store: memory.New(), Secrets: new(secret.Set), Log: slog.New(slog.DiscardHandler),
		Variables: func(name string) engine.Variable { return engine.Variable{Value: keys[name]} },
	}
	r, err := prepare(spec, parts)
	if err != nil {
		t.Fatal(err)
	}
	if want := []string{"https://api.anthropic.com", "https://api.openai.com"}; !slices.Equal(r.model.URLs, want) {
		t.Errorf("addresses %q, want %q", r.model.URLs, want)
	}
	values := r.variables()
	if values["ANTHROPIC_API_KEY"].Value != "a" || values["OPENAI_API_KEY"].Value != "o" || values["DEEPSEEK_API_KEY"].Value != "" {
		t.Errorf("variables %+v", values)
	}
	delete(keys, "OPENAI_API_KEY")
	if _, err := prepare(spec, parts); err == nil || !strings.HasPrefix(err.Error(), `expert "own": `) {
		t.Errorf("without the key of an Expert's provider: %v", err)
	}
	spec.Experts[1].Provider = &expert.Provider{Name: "openai-compatible", Setting: expert.Setting{BaseURL: "http://127.0.0.1:1/v1"}}
	if _, err := prepare(spec, parts); err == nil || !strings.HasPrefix(err.Error(), `expert "own": openai-compatible at http://127.0.0.1:1`) {
		t.Errorf("an address that no container reaches: %v", err)
	}
	delete(keys, "ANTHROPIC_API_KEY")
	if _, err := prepare(spec, parts); err == nil || strings.Contains(err.Error(), "expert") {
		t.Errorf("without the key of the job's provider: %v", err)
	}
}
