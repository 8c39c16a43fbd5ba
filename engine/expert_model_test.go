package engine

import (
	"testing"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/expert"
	"github.com/perstack-go/perstack/job"
)

// newPair is a coordinator with the model of the job and a delegate with its own, which costs
// ten times as much.
func newPair(t *testing.T) *bench {
	b := newTeam(t, map[string][]turn{
		"writer": {does(`helper {"query":"x"}`).costing(90_000, 1000), says("done").costing(90_000, 1000)},
		"helper": {does("read").costing(9_000, 1000), says("helped").costing(9_000, 1000)},
	})
	b.provider = "replay"
	b.prices = map[string]expert.Price{"replay": {Input: 10, Output: 10}, "dear": {Input: 100, Output: 100}}
	b.team[0].Model, b.team[0].Provider = "dear", &expert.Provider{Name: "other"}
	return b
}

// The Runs of an Expert with its own model record it, and their cost counts with its price:
// 0.91 dollars a turn of the coordinator, 1 a turn of the delegate.
func TestModelOfAnExpert(t *testing.T) {
	for _, c := range []struct {
		limit, used float64 // used is 0 if the job completes
	}{
		{4, 0}, {3.5, 2.91}, {2, 1.91},
	} {
		b := newPair(t)
		b.limits.MaxCost = c.limit
		r := b.must(job.Input{Query: "go"})
		if c.used == 0 {
			if r.Status != event.StatusCompleted {
				t.Errorf("%+v, limit %v", r, r.Limit)
			}
		} else {
			if r.Limit == nil || r.Limit.Limit != event.LimitCost || r.Limit.Used < c.used-0.001 || r.Limit.Used > c.used+0.001 {
				t.Errorf("limit %g: %+v, %v", c.limit, r, r.Limit)
			}
			// What was spent before counts with the same prices when the job is resumed.
			if again := b.must(job.Input{Continue: true}); again.Limit == nil || again.Limit.Used < c.used-0.001 || again.Limit.Used > c.used+0.001 {
				t.Errorf("limit %g, resumed: %+v, %v", c.limit, again, again.Limit)
			}
			b.limits.MaxCost = 20
			if r = b.must(job.Input{Continue: true}); r.Status != event.StatusCompleted {
				t.Errorf("limit %g, resumed with more: %+v", c.limit, r)
			}
		}
		for _, rec := range b.written() {
			if s, ok := rec.Event.Body.(event.StartRun); ok {
				want := map[string]string{"writer": "replay/replay", "helper": "other/dear"}[s.Expert.Key]
				if got := s.Provider + "/" + s.Model; got != want {
					t.Errorf("a Run of %s starts with %s", s.Expert.Key, got)
				}
			}
			if calls, ok := rec.Event.Body.(event.CallTools); ok && rec.Event.ExpertKey == "helper" && calls.NewMessage.Author != "other/dear" {
				t.Errorf("a message of %s", calls.NewMessage.Author)
			}
		}
		b.checkJournal()
		b.checkFold()
		b.checkTree()
	}
}
