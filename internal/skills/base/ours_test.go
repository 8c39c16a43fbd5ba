package base

import (
	"maps"
	"slices"
	"testing"

	"github.com/perstack-go/perstack/internal/skills/base/prompt"
	"github.com/perstack-go/perstack/internal/terminal"
)

// A tool without a prompt would never be offered; one without code fails in Tools.
func TestEveryToolHasAPrompt(t *testing.T) {
	if got, want := slices.Sorted(maps.Keys(tools)), slices.Sorted(slices.Values(prompt.Names())); !slices.Equal(got, want) {
		t.Errorf("code for %q, prompts for %q", got, want)
	}
}

// Our own texts are not checked for hidden characters at run time, so they have none.
func TestOursHideNothing(t *testing.T) {
	tools, err := New(Options{}).Tools(t.Context())
	if err != nil || len(tools) == 0 {
		t.Fatal(len(tools), err)
	}
	for _, tool := range tools {
		for _, text := range []string{tool.Name, tool.Title, tool.Description, string(tool.InputSchema)} {
			if !tool.Ours || terminal.Reveal(text) != text {
				t.Errorf("%s: ours %t, text %q", tool.Name, tool.Ours, text)
			}
		}
		if !tool.InputSchema.IsValid() {
			t.Errorf("%s: the schema is no JSON", tool.Name)
		}
	}
}
