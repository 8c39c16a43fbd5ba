package engine

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/expert"
	"github.com/perstack-go/perstack/job"
	"github.com/perstack-go/perstack/model"
	"github.com/perstack-go/perstack/skill"
)

// together makes n delegates wait for each other, before any of them asks the model and
// before any has its answer.
func (b *bench) together(n int) {
	var begun, asked sync.WaitGroup
	begun.Add(n)
	asked.Add(n)
	b.skills = func(ctx context.Context, req SkillRequest) (*skill.Toolbox, error) {
		if req.Delegated {
			begun.Done()
			begun.Wait()
		}
		return b.skillsOf(ctx, req)
	}
	var requests atomic.Int64
	b.script.onRequest = func() {
		if i := requests.Add(1); i > 1 && i <= int64(n)+1 { // the first is the parent's
			asked.Done()
			asked.Wait()
		}
	}
}

// Only working Runs share what is left: not a parent that waits, not a delegate that has ended.
func TestFairShare(t *testing.T) {
	const most, alone = 40_000, 30_000 // with what the questions take
	for n, first := range map[int]int{1: alone, 2: alone / 2, 4: alone / 4} {
		b := newTeam(t, map[string][]turn{"writer": {does(many(n, "helper")...), says("done")}, "helper": {says("helped")}})
		b.atOnce, b.limits.MaxTokens = 4, most
		b.together(n)
		b.must(job.Input{Query: "go"})
		highest := 0
		for _, r := range b.script.requests[1 : n+1] {
			highest = max(highest, r.MaxTokens)
		}
		if highest < first || highest > first*4/3 {
			t.Errorf("of %d at once the first may have %d tokens, want %d to %d", n, highest, first, first*4/3)
		}
		for _, i := range []int{0, n + 1} {
			if got := b.script.requests[i].MaxTokens; got < alone {
				t.Errorf("request %d of the writer, alone at work, may have %d tokens", i, got)
			}
		}
	}
}

// The own limit of an Expert is not shared with other Runs of it.
func TestOwnLimitIsNotShared(t *testing.T) {
	const n, own = 16, 10_000
	b := newTeam(t, map[string][]turn{"writer": {does(many(n, "helper")...), says("done")}, "helper": {says("helped")}})
	b.atOnce, b.team[0].MaxTokens = n, own
	b.together(n)
	b.must(job.Input{Query: "go"})
	for _, r := range b.script.requests {
		if r.Expert == "helper" && r.MaxTokens < own*9/10 {
			t.Fatalf("a helper may answer with %d tokens, of %d that are its own", r.MaxTokens, own)
		}
	}
}

// What an Expert and its delegates used before the job was stopped counts after a resume.
func TestOwnLimitOutlivesAResume(t *testing.T) {
	b := newTeam(t, map[string][]turn{
		"writer": {does(`helper {"query":"help"}`), says("done")},
		"helper": {does(`other {"query":"deeper"}`), says("helped")},
		"other":  {does("read"), does("act"), does("wait"), says("otherwise")},
	})
	b.team[0].MaxSteps = 7
	b.interrupted(job.Input{Query: "go"}) // 1 step of the helper, 3 of the other
	asked := len(b.script.requests)
	b.must(job.Input{Continue: true}) // 1 of the helper, 2 of the other, and none for the helper's answer
	var got []string
	for _, r := range b.script.requests[asked:] {
		got = append(got, r.Expert)
	}
	if len(got) != 2 || got[0] != "other" || got[1] != "writer" {
		t.Errorf("asked were %q", got)
	}
	if told := b.answers(len(b.script.requests) - 1); len(told) != 1 || told[0] != "c1 !Delegation failed: no steps are left" {
		t.Errorf("the writer is told %q", told)
	}
}

// The cost of an earlier execution counts at the price of the model that it used. If that
// price is unknown, the price of the current model is used.
func TestCostOfEarlierModels(t *testing.T) {
	for name, tt := range map[string]struct {
		prices map[string]expert.Price
		status event.Status
	}{
		"dear":    {map[string]expert.Price{"first": {Input: 100, Output: 100}, "second": {Input: 1, Output: 1}}, event.StatusStoppedByLimit},
		"cheap":   {map[string]expert.Price{"first": {Input: 1, Output: 1}, "second": {Input: 50, Output: 50}}, event.StatusCompleted},
		"unknown": {map[string]expert.Price{"second": {Input: 50, Output: 50}}, event.StatusStoppedByLimit},
	} {
		b := newBench(t, does("wait").costing(9000, 1000), says("done").costing(100, 100))
		b.prices, b.provider = tt.prices, "first"
		b.interrupted(job.Input{Query: "go"}) // 1 dollar, 1 cent, or half a dollar by the second price
		b.provider, b.limits.MaxCost = "second", 0.95
		if r := b.must(job.Input{Continue: true}); r.Status != tt.status {
			t.Errorf("%s: %s with %+v", name, r.Status, r.Limit)
		}
	}
}

// A limit counts what broken answers used.
func TestLimitCountsBrokenAnswers(t *testing.T) {
	broke := &model.Error{Name: "X", Message: "broke off", Retryable: true, Usage: event.Usage{InputTokens: 1400, OutputTokens: 1, TotalTokens: 1401}}
	b := newBench(t, turn{fail: []error{broke, broke}, answer: says("done").answer})
	b.limits.MaxTokens = 3000
	if r := b.must(job.Input{Query: "go"}); r.Status != event.StatusStoppedByLimit || r.Reason != event.LimitTokens || r.Limit.Used != 1401 {
		t.Errorf("%+v, %+v", r, r.Limit)
	}
}
