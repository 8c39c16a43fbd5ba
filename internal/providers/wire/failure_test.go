package wire_test

import (
	"testing"

	"github.com/perstack-go/perstack/internal/providers/wire"
)

// What passes is told by the status, and where that tells nothing by the words.
func TestFailuresThatPass(t *testing.T) {
	for _, c := range []struct {
		message     string
		status      int
		final, want bool
	}{
		{"no", 403, false, false},
		{"Rate limit reached", 403, false, true},
		{"upstream request timeout", 403, false, true},
		{"Service Unavailable", 451, false, true},
		{"rate limit: your quota is used up", 403, true, false},
		{"tools.3: timeout is no name", 400, false, false}, // such a status is about the request itself
		{"rate limit", 401, false, false},
		{"no model is called rate limit", 404, false, false},
		{"The Goats Are Asleep", 403, false, true}, // in the provider's own words
		{"The goats are asleep", 404, false, false},
		{"The sheep are asleep", 403, false, false},
	} {
		client := &wire.Client{Provider: "acme", PassingWords: []string{"goats are asleep"}}
		if got := client.Failure(c.status, wire.Problem{Message: c.message, Final: c.final}).Retryable; got != c.want {
			t.Errorf("%d %s: that it passes is %v", c.status, c.message, got)
		}
	}
}
