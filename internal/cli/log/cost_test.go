package log

import (
	"strings"
	"testing"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/model"
)

// What a job cost is the sum over its Runs, each by its own model. What has no price is not
// guessed, and neither is a sum with it.
func TestCosts(t *testing.T) {
	price, ok := model.PriceOf("anthropic", "claude-sonnet-4-5")
	if !ok || price.CacheWrite <= price.Input {
		t.Fatalf("the price of the example is %+v", price)
	}
	start := func(run, provider, name string) event.Event {
		return event.Event{RunID: run, Body: event.StartRun{Provider: provider, Model: name}}
	}
	known := start("r1", "anthropic", "claude-sonnet-4-5")
	used := event.Usage{InputTokens: 100_000, CachedInputTokens: 40_000, OutputTokens: 10_000}
	// 60,000 at 3.75, 40,000 at 0.30 and 10,000 at 15 dollars a million.
	const once, twice = "about $0.3870,", "about $0.7740,"
	for name, tt := range map[string]struct {
		events []event.Event
		want   string
	}{
		"nothing used":      {[]event.Event{known}, ""},
		"one answer":        {[]event.Event{known, {RunID: "r1", Body: event.CompleteRun{Usage: used}}}, once},
		"a turn, a failure": {[]event.Event{known, {RunID: "r1", Body: event.CallTools{Usage: used}}, {RunID: "r1", Body: event.StopRunByError{Usage: used}}}, twice},
		"a retry":           {[]event.Event{known, {RunID: "r1", Body: event.Retry{Usage: used}}}, once},
		"two runs":          {[]event.Event{known, start("r2", "anthropic", "claude-sonnet-4-5"), {RunID: "r1", Body: event.CompleteRun{Usage: used}}, {RunID: "r2", Body: event.CompleteRun{Usage: used}}}, twice},
		"one unknown":       {[]event.Event{known, start("r2", "anthropic", "nobody-knows-it"), {RunID: "r1", Body: event.CompleteRun{Usage: used}}, {RunID: "r2", Body: event.CompleteRun{Usage: used}}}, ""},
		"unknown, unused":   {[]event.Event{known, start("r2", "anthropic", "nobody-knows-it"), {RunID: "r1", Body: event.CompleteRun{Usage: used}}}, once},
		"changed model":     {[]event.Event{start("r1", "replay", "replay"), known, {RunID: "r1", Body: event.CompleteRun{Usage: used}}}, once},
		"without a start":   {[]event.Event{{RunID: "r1", Body: event.CompleteRun{Usage: used}}}, ""},
	} {
		teller := newTeller()
		for _, e := range tt.events {
			teller.tell(e)
		}
		if got := cost(teller.totals); tt.want == "" && got != "" || !strings.HasPrefix(got, tt.want) {
			t.Errorf("%s: %q, want %q", name, got, tt.want)
		}
	}
}
