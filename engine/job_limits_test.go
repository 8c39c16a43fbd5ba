package engine

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/expert"
	"github.com/perstack-go/perstack/job"
	"github.com/perstack-go/perstack/model"
	"github.com/perstack-go/perstack/skill"
)

// costing is a turn with a usage.
func (t turn) costing(input, output int) turn {
	return t.with(func(a *model.Answer) {
		a.Usage = event.Usage{InputTokens: input, OutputTokens: output, TotalTokens: input + output}
	})
}

// many returns n calls of an Expert.
func many(n int, name string) (calls []string) {
	for i := range n {
		calls = append(calls, fmt.Sprintf(`%s {"query":"%d"}`, name, i))
	}
	return calls
}

// limited lists the ends by a limit of a kind, by Expert.
func (b *bench) limited(limit string) (ends []string) {
	for _, e := range b.events {
		if l, ok := e.Body.(event.StopRunByLimit); ok && l.Limit == limit {
			ends = append(ends, e.ExpertKey)
		}
	}
	return ends
}

// A limit on tokens holds for the whole job: delegates that run at the same time cannot spend
// the same tokens, and answers are limited to what is left.
func TestTokenLimitOfAJob(t *testing.T) {
	const most = 20_000
	for _, atOnce := range []int{1, 4, 16} {
		t.Run(fmt.Sprint(atOnce), func(t *testing.T) {
			b := newTeam(t, map[string][]turn{
				"writer": {does(many(16, "helper")...).costing(1000, 500), says("done").costing(1000, 100)},
				"helper": {says("helped").costing(1500, 900)},
			})
			b.atOnce, b.limits.MaxTokens = atOnce, most
			r := b.must(job.Input{Query: "go"})
			for _, req := range b.script.requests {
				if req.MaxTokens < minOutput || req.MaxTokens > most {
					t.Errorf("a request of %s may have %d tokens", req.Expert, req.MaxTokens)
				}
			}
			h, err := Load(t.Context(), b.store, "job")
			if err != nil {
				t.Fatal(err)
			}
			used := h.Job.Usage.TotalTokens
			// The scripted model ignores its output limit, which causes the overshoot.
			if over := used - most; over > atOnce*2400 {
				t.Errorf("%d tokens were used, %d are allowed", used, most)
			}
			if len(b.limited(event.LimitTokens)) == 0 || r.Status != event.StatusStoppedByLimit || r.Limit == nil || r.Limit.Limit != event.LimitTokens || r.Limit.Max != most {
				t.Errorf("%+v, ends by limit: %q", r, b.limited(event.LimitTokens))
			}
			b.checkJournal()
			b.checkFold()
			b.checkTree()
		})
	}
}

// A limit on cost stops a job before the money is spent and counts earlier executions. The
// job resumes when more is allowed.
func TestCostLimitOfAJob(t *testing.T) {
	b := newBench(t, does("read").costing(10_000, 1000), does("act").costing(10_000, 1000), says("done").costing(10_000, 1000))
	b.price = expert.Price{Input: 10, CachedInput: 1, Output: 50} // 0.15 a turn
	b.limits.MaxCost = 0.40
	r := b.must(job.Input{Query: "go"})
	if r.Status != event.StatusStoppedByLimit || r.Limit.Limit != event.LimitCost || r.Limit.Used < 0.299 || r.Limit.Used > 0.301 || r.Limit.Max != 0.40 {
		t.Fatalf("%+v, %+v", r, r.Limit)
	}
	if len(b.script.requests) != 2 {
		t.Errorf("the model was asked %d times", len(b.script.requests))
	}
	again := b.must(job.Input{Continue: true})
	if again.Status != event.StatusStoppedByLimit || len(b.script.requests) != 2 {
		t.Errorf("with the same limit: %+v after %d requests", again, len(b.script.requests))
	}
	b.limits.MaxCost = 0.60
	if r := b.must(job.Input{Continue: true}); r.Text != "done" {
		t.Errorf("with a higher limit: %+v", r)
	}
	// The answer can be as long as the budget affords.
	if got, want := b.script.requests[0].MaxTokens, 8000; got > want || got < want-1000 {
		t.Errorf("the first answer may have %d tokens, of %d that could be paid", got, want)
	}
}

// An Expert's own limits hold for one Run of it, including its delegates. The parent
// continues.
func TestLimitsOfAnExpert(t *testing.T) {
	b := newTeam(t, map[string][]turn{
		"writer": {does(`helper {"query":"help"}`), says("done")},
		"helper": {does(`other {"query":"1"}`), does(`other {"query":"2"}`), says("helped")},
		"other":  {does("read"), does("act"), says("otherwise")},
	})
	b.team[0].MaxSteps = 6
	r := b.must(job.Input{Query: "go"})
	if r.Status != event.StatusCompleted || r.Text != "done" {
		t.Errorf("%+v", r)
	}
	h, err := Load(t.Context(), b.store, "job")
	if err != nil {
		t.Fatal(err)
	}
	stopped := map[string]int{}
	for _, s := range h.runs {
		if s.Status == event.StatusStoppedByExceededMaxSteps {
			stopped[s.Expert.Key]++
		}
	}
	if stopped["helper"] != 1 || stopped["writer"] != 0 {
		t.Errorf("stopped: %v; story %s", stopped, b.story())
	}
	if got := b.answers(len(b.script.requests) - 1); len(got) != 1 || got[0] != "c1 !Delegation failed: no steps are left" {
		t.Errorf("the parent is told %q", got)
	}
}

// No generation starts when the steps of the job are used up: not for delegates that wait for
// a slot, and not for a job that is resumed.
func TestStepLimitOfAJob(t *testing.T) {
	b := newTeam(t, map[string][]turn{"writer": {does(many(20, "helper")...), says("done")}, "helper": {says("helped")}})
	b.maxSteps, b.atOnce = 5, 3
	r := b.must(job.Input{Query: "go"})
	if r.Status != event.StatusStoppedByExceededMaxSteps || len(b.script.requests) != 5 {
		t.Errorf("%+v after %d requests", r, len(b.script.requests))
	}
	if again := b.must(job.Input{Continue: true}); again.Status != event.StatusStoppedByExceededMaxSteps || len(b.script.requests) != 5 {
		t.Errorf("again: %+v after %d requests", again, len(b.script.requests))
	}
	b.checkTree()
}

// From 80 % of a limit on, the model is told in its next request, once and in one sentence.
func TestLimitWarning(t *testing.T) {
	tests := []struct {
		name   string
		limits expert.Limits
		steps  int
		said   string
		from   int // the request that says it first
	}{
		{"tokens", expert.Limits{MaxTokens: 10_000}, 100, "8000 of 10000 tokens", 8},
		{"cost", expert.Limits{MaxCost: 0.10}, 100, "0.0800 of 0.1000 US dollars", 8},
		{"steps", expert.Limits{}, 11, "9 of 11 steps", 9},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var turns []turn
			for i := range 8 {
				turns = append(turns, does(fmt.Sprintf(`act {"n":%d}`, i)).costing(900, 100))
			}
			b := newBench(t, append(turns, does("read").costing(100, 10), says("done").costing(100, 10))...)
			b.limits, b.maxSteps = tt.limits, tt.steps
			b.price = expert.Price{Input: 10, Output: 10}
			if r := b.must(job.Input{Query: "go"}); r.Status != event.StatusCompleted {
				t.Fatalf("%+v", r)
			}
			for i, req := range b.script.requests {
				said := 0
				for _, m := range req.Messages {
					said += strings.Count(m.Text(), tt.said)
				}
				if want := i >= tt.from; (said == 1) != want || said > 1 {
					t.Errorf("request %d says it %d times", i, said)
				}
			}
			w := last[event.LimitWarning](b)
			if w.Limit != tt.name || w.NewMessage == nil || strings.Count(w.NewMessage.Text(), ". ") > 0 {
				t.Errorf("%+v", w)
			}
			b.checkJournal()
			b.checkFold()
		})
	}
}

// An Expert that makes the same call with the same result 5 times in a row is stopped.
func TestLoop(t *testing.T) {
	same, other := does(`act {"n":1}`), does(`act {"n":2}`)
	b := newBench(t, same, same, same, same, other, same, same, same, same, same, says("never"))
	r := b.must(job.Input{Query: "go"})
	if r.Status != event.StatusStoppedByLimit || r.Reason != event.LimitLoop || r.Limit.Used != 5 || len(b.script.requests) != 10 {
		t.Errorf("%+v after %d requests", r, len(b.script.requests))
	}
	// A new query resets the count.
	if r := b.must(job.Input{Continue: true}); r.Text != "never" {
		t.Errorf("%+v", r)
	}
	b.checkJournal()
	b.checkFold()

	// Several equal calls in one turn are not a loop.
	b = newBench(t, does("read", "read", "read", "read", "read", "read"), says("done"))
	if r := b.must(job.Input{Query: "go"}); r.Text != "done" {
		t.Errorf("in one turn: %+v", r)
	}
}

// The time of a job is limited, including the time of its delegates. Each Run records the
// limit as its end.
func TestTimeLimitOfAJob(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newTeam(t, map[string][]turn{"writer": {does(many(3, "helper")...), says("done")}, "helper": {turn{block: true}}})
		b.atOnce, b.limits.MaxDuration = 2, time.Minute
		r := b.must(job.Input{Query: "go"})
		if r.Status != event.StatusStoppedByLimit || r.Limit.Limit != event.LimitDuration || r.Limit.Max != 60 {
			t.Errorf("%+v", r)
		}
		if got := len(b.limited(event.LimitDuration)); got != 3 {
			t.Errorf("%d Runs ended by it, want the writer and two helpers", got)
		}
		b.checkJournal()
		b.checkFold()
		// With more time it resumes with the same delegates.
		b.script.team["helper"] = []turn{says("helped")}
		runs := len(b.runIDs())
		if r := b.must(job.Input{Continue: true}); r.Text != "done" || len(b.runIDs()) != runs+1 {
			t.Errorf("%+v with %d Runs after %d", r, len(b.runIDs()), runs)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		b := newTeam(t, map[string][]turn{"writer": {does(`helper {"query":"x"}`), says("done")}, "helper": {turn{block: true}}})
		b.team[0].MaxDuration = time.Minute
		if r := b.must(job.Input{Query: "go"}); r.Text != "done" {
			t.Errorf("an Expert's own time: %+v", r)
		}
		if got := b.answers(2); len(got) != 1 || got[0] != "c1 !Delegation failed: the limit on duration is reached" {
			t.Errorf("the parent is told %q", got)
		}
	})
}

// The usage of a broken answer is counted.
func TestUsageOfFailures(t *testing.T) {
	broke := &model.Error{Name: "X", Message: "broke off", Retryable: true, Usage: event.Usage{InputTokens: 700, OutputTokens: 1, TotalTokens: 701}}
	b := newBench(t, turn{fail: []error{broke, broke}, answer: says("done").costing(700, 10).answer})
	r := b.must(job.Input{Query: "go"})
	h, err := Load(t.Context(), b.store, "job")
	if err != nil || r.Text != "done" {
		t.Fatalf("%+v, %v", r, err)
	}
	if got := h.Job.Usage.TotalTokens; got != 2*701+710 {
		t.Errorf("the job used %d tokens", got)
	}
	b.checkJournal()
}

// A failure of a parent's skill during delegation ends the parent with an error. The
// delegates are only interrupted.
func TestSkillOfAParentFails(t *testing.T) {
	b := newTeam(t, map[string][]turn{"writer": {does(`helper {"query":"help"}`), says("done")}, "helper": {does("wait"), says("helped")}})
	var stop func(error)
	inner := b.skillsOf
	b.skills = func(ctx context.Context, req SkillRequest) (*skill.Toolbox, error) {
		if !req.Delegated {
			stop = req.Stop
		}
		return inner(ctx, req)
	}
	b.tools.onWait = func() { stop(errors.New("the server offers other tools now")) }
	r := b.must(job.Input{Query: "go"})
	if r.Status != event.StatusStoppedByError || r.Failure.Name != SkillFailure {
		t.Errorf("%+v", r)
	}
	if got := b.story(); !strings.Contains(got, "h:stopRunByInterrupt@2 w:startRun@2 w:stopRunByError@2") {
		t.Errorf("story %s", got)
	}
}

// All Runs share one budget for cost. However many work at the same time, the limit is
// exceeded by at most one answer each. A model that respects its output limit exceeds it by
// no more than the error of the input estimate.
func TestCostLimitWithDelegates(t *testing.T) {
	const most = 0.50
	price := expert.Price{Input: 10, Output: 50}
	each := model.Cost(price, event.Usage{InputTokens: 1500, OutputTokens: 900, TotalTokens: 2400})
	for _, atOnce := range []int{1, 4, 16} {
		t.Run(fmt.Sprint(atOnce), func(t *testing.T) {
			b := newTeam(t, map[string][]turn{
				"writer": {does(many(16, "helper")...).costing(1000, 500), says("done").costing(1000, 100)},
				"helper": {says("helped").costing(1500, 900)},
			})
			b.atOnce, b.limits.MaxCost, b.price = atOnce, most, price
			r := b.must(job.Input{Query: "go"})
			h, err := Load(t.Context(), b.store, "job")
			if err != nil {
				t.Fatal(err)
			}
			if spent := model.Cost(price, h.Job.Usage); spent < most/2 || spent > most+float64(atOnce)*each {
				t.Errorf("%.4f dollars were spent, %.2f are allowed, and %.4f a call", spent, most, each)
			}
			if asked := len(b.script.requests); asked < 3 || asked >= 18 {
				t.Errorf("the model was asked %d times; the money is for about ten", asked)
			}
			if r.Status != event.StatusStoppedByLimit || r.Limit == nil || r.Limit.Limit != event.LimitCost || r.Limit.Max != most {
				t.Errorf("%+v", r)
			}
			b.checkJournal()
			b.checkTree()
		})
	}
}
