package model

import "testing"

func TestOpenAIThinks(t *testing.T) {
	for name, want := range map[string]bool{
		"gpt-5": true, "o4-mini": true, "my-deployment": true, "ft:o4-mini:org::x": true,
		"gpt-4o": false, "gpt-35-turbo": false, "gpt-5-chat-latest": false, "ft:gpt-4.1-2025-04-14:org::x": false,
	} {
		if OpenAIThinks(name) != want {
			t.Errorf("%s: %v", name, !want)
		}
	}
}
