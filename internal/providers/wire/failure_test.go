package wire_test

import (
	"testing"

	"github.com/perstack-go/perstack/internal/providers/wire"
)

// What passes is told by the status, and where that tells nothing by the words.
func TestFailuresThatPass(t *testing.T) {
	for _, c := range []struct {
		provider, message string
		status            int
		final, want       bool
	}{
		{"openai", "no", 403, false, false},
		{"openai", "Rate limit reached", 403, false, true},
		{"deepseek", "upstream request timeout", 403, false, true},
		{"azure-openai", "Service Unavailable", 451, false, true},
		{"openai", "rate limit: your quota is used up", 403, true, false},
		{"openai", "tools.3: timeout is no name", 400, false, false}, // whoever says so means the request
		{"openai", "rate limit", 401, false, false},
		{"openai", "no model is called rate limit", 404, false, false},
		{"anthropic", "Overloaded", 403, false, true},
		{"openai", "Overloaded", 403, false, false},
		{"google", "Quota exceeded for requests", 403, false, true},
		{"google-vertex", "Quota exceeded for requests", 403, false, true},
		{"azure-openai", "Quota exceeded", 403, false, false},
		{"amazon-bedrock", "Request was throttled", 403, false, true},
		{"ollama", "dial tcp: connection refused", 403, false, true},
	} {
		client := &wire.Client{Provider: c.provider}
		if got := client.Failure(c.status, wire.Problem{Message: c.message, Final: c.final}).Retryable; got != c.want {
			t.Errorf("%s, %d %s: that it passes is %v", c.provider, c.status, c.message, got)
		}
	}
}
