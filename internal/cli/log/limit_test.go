package log

import (
	"testing"

	"github.com/perstack-go/perstack/event"
)

func TestLimitWords(t *testing.T) {
	for _, test := range []struct {
		warning event.LimitWarning
		want    string
	}{
		{event.LimitWarning{Limit: event.LimitSteps, Used: 80, Max: 100}, "steps, 80 of 100 used"},
		{event.LimitWarning{Limit: event.LimitTokens, Used: 2_000_000, Max: 2_500_000}, "tokens, 2000000 of 2500000 used"},
		{event.LimitWarning{Limit: event.LimitTokens, Used: 8, Max: 10, NewMessage: &event.Message{}}, "tokens, 8 of 10 used; the model is told"},
		{event.LimitWarning{Limit: event.LimitCost, Used: 0.41234, Max: 0.5}, "cost, $0.4123 of $0.5000 used"},
		{event.LimitWarning{Limit: event.LimitDuration, Used: 1440.04, Max: 1800}, "duration, 24m0s of 30m0s used"},
		{event.LimitWarning{Limit: event.LimitDuration, Used: 0.2407, Max: 0.3}, "duration, 0.2s of 0.3s used"},
		{event.LimitWarning{Limit: event.LimitLoop, Used: 5, Max: 5}, "loop, the same 5 times in a row"},
		{event.LimitWarning{Limit: event.LimitLoop, Used: 2, Max: 1}, "loop, an Expert above it was asked the very same"},
		{event.LimitWarning{Limit: event.LimitDepth, Used: 9, Max: 8}, "depth, 9 Experts on one path of delegation, and 8 are allowed"},
		{event.LimitWarning{Limit: event.LimitWorkspace, Used: 4096, Max: 4000}, "workspace, 4096 of 4000 used"},
		{event.LimitWarning{Limit: "ofTheFuture", Used: 1.5, Max: 2}, "ofTheFuture, 1.5 of 2 used"},
	} {
		if got := limitWords(test.warning); got != test.want {
			t.Errorf("%+v: got %q, want %q", test.warning, got, test.want)
		}
	}
}
