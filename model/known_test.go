package model

import "testing"

func TestLookup(t *testing.T) {
	tests := []struct {
		provider, model string
		window, output  int
	}{
		{"anthropic", "claude-sonnet-4-5", 200_000, 64_000},
		{"anthropic", "claude-sonnet-4-5-20250929", 200_000, 64_000},
		{"anthropic", "claude-opus-4-20250514", 200_000, 32_000},
		{"anthropic", "claude-opus-4-1", 200_000, 32_000},
		{"anthropic", "claude-3-haiku-20240307", 200_000, 4_096},
		{"anthropic", "claude-next", 0, 0},
		{"openai", "claude-sonnet-4-5", 0, 0},
	}
	for _, tt := range tests {
		k, ok := Lookup(tt.provider, tt.model)
		if k.ContextWindow != tt.window || k.MaxOutputTokens != tt.output || ok != (tt.window > 0) {
			t.Errorf("Lookup(%s, %s) = %+v, %v", tt.provider, tt.model, k, ok)
		}
	}
}
