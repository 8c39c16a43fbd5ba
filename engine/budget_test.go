package engine

import (
	"context"
	"errors"
	"math"
	"testing"
	"testing/synctest"
	"time"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/expert"
	"github.com/perstack-go/perstack/job"
)

// limitedTo are limits of ten thousand tokens, as tokens and as cost.
var limitedTo = map[string]struct {
	limits expert.Limits
	price  expert.Price
}{
	"tokens": {expert.Limits{MaxTokens: 10_000}, expert.Price{}},
	"cost":   {expert.Limits{MaxCost: 0.10}, expert.Price{Input: 10, Output: 10}},
}

// within reports whether a number of tokens is the one wanted, but for rounding.
func within(got, want int) bool { return math.Abs(float64(got-want)) <= 1 }

// testBudget returns a budget below parent, or the first of a job.
func testBudget(maxOutput int, parent *budget, limits expert.Limits) *budget {
	return newBudget(parent, limits, time.Time{}, maxOutput)
}

// A reservation waits for the reservations of others, and succeeds as soon as they are settled.
func TestReserveWaitsForReservations(t *testing.T) {
	for name, tt := range limitedTo {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel() // so that a failure is not a deadlock
				job := testBudget(0, nil, tt.limits)
				first, second := testBudget(0, job, expert.Limits{}), testBudget(0, job, expert.Limits{})
				first.addWorking(1)
				held, err := first.reserve(ctx, 1000, tt.price)
				if err != nil || !within(held.output, 9000) {
					t.Fatalf("the first may have %d tokens, %v", held.output, err)
				}
				second.addWorking(1)
				var got reservation
				done := false
				go func() {
					got, err = second.reserve(ctx, 1000, tt.price)
					done = true
				}()
				synctest.Wait()
				if done {
					t.Fatalf("the second did not wait: %+v, %v", got, err)
				}
				first.settle(held, event.Usage{InputTokens: 1000, OutputTokens: 500, TotalTokens: 1500}, tt.price)
				synctest.Wait()
				if !done {
					t.Fatal("the second waits still")
				}
				if err != nil || !within(got.output, goodOutput) {
					t.Errorf("of 7500 tokens for two, the second may have %d, %v", got.output, err)
				}
			})
		})
	}
}

// Waiting for a reservation ends when the Run is cancelled.
func TestReserveIsCancelled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := testBudget(0, nil, expert.Limits{MaxTokens: 10_000})
		if _, err := p.reserve(t.Context(), 1000, expert.Price{}); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancelCause(t.Context())
		why := errors.New("ctrl-c")
		go cancel(why)
		if _, err := p.reserve(ctx, 1000, expert.Price{}); !errors.Is(err, why) {
			t.Errorf("%v", err)
		}
	})
}

// Without other reservations there is nothing to wait for: the limit is reached.
func TestTooLittleLeft(t *testing.T) {
	for name, tt := range limitedTo {
		p := testBudget(0, nil, tt.limits)
		g, err := p.reserve(t.Context(), 10_000-minOutput-2, tt.price)
		if err != nil || g.output < minOutput {
			t.Errorf("%s: just enough: %+v, %v", name, g, err)
		}
		p.settle(g, event.Usage{}, tt.price)
		_, err = p.reserve(t.Context(), 10_000-minOutput+2, tt.price)
		if limit, ok := errors.AsType[*LimitError](err); !ok || limit.Limit != name {
			t.Errorf("%s: too little: %v", name, err)
		}
	}
}

// Sums of money have rounding errors. When no reservation is left, the reserved cost must be
// exactly zero; otherwise a Run would wait forever.
func TestReservationsLeaveNoRest(t *testing.T) {
	p := testBudget(1000, nil, expert.Limits{MaxCost: 100})
	var all []reservation
	price := expert.Price{Input: 1000, Output: 0.1}
	for _, input := range []int{100, 200, 300} { // 0.1 + 0.2 + 0.3 dollars
		g, err := p.reserve(t.Context(), input, price)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, g)
	}
	rest := p.reservedCost
	for _, g := range all {
		rest -= g.cost
	}
	if rest <= 0 {
		t.Fatalf("these numbers lose nothing: %g", rest)
	}
	for _, g := range all {
		p.settle(g, event.Usage{}, price)
	}
	if p.reservedCost != 0 || p.reservedTokens != 0 {
		t.Errorf("%g dollars, %d tokens are set aside", p.reservedCost, p.reservedTokens)
	}
}

// All working Runs share what is left, so that the first does not take it all. A limit of an
// Expert is not shared with others.
func TestShareOfABudget(t *testing.T) {
	job := testBudget(0, nil, expert.Limits{MaxTokens: 100_000})
	var all []*budget
	for range 4 {
		all = append(all, testBudget(0, job, expert.Limits{}))
		all[len(all)-1].addWorking(1)
	}
	if g, err := all[0].reserve(t.Context(), 1000, expert.Price{}); err != nil || g.output != 99_000/4 {
		t.Errorf("of 99,000 tokens for four, one may have %d, %v", g.output, err)
	}
	job = testBudget(0, nil, expert.Limits{})
	for range 16 {
		own := testBudget(0, job, expert.Limits{MaxTokens: 10_000})
		own.addWorking(1)
		if g, err := own.reserve(t.Context(), 1000, expert.Price{}); err != nil || g.output != 9000 {
			t.Errorf("of 9,000 tokens of its own, one may have %d, %v", g.output, err)
		}
	}
}

// A price for input only is still a price: the limit on cost holds.
func TestPriceOfInputOnly(t *testing.T) {
	b := newBench(t, does("read").costing(1_000_000, 10), does("act").costing(1_000_000, 10), says("done").costing(1_000_000, 10))
	b.price = expert.Price{Input: 10}
	b.limits.MaxCost = 5
	if r := b.must(job.Input{Query: "go"}); r.Status != event.StatusStoppedByLimit || len(b.script.requests) != 1 {
		t.Errorf("%s after %d requests of 10 dollars each, with 5 to spend", r.Status, len(b.script.requests))
	}
}

// A long request has its own price, for its input and for the answer.
func TestLongRequestsLeaveLess(t *testing.T) {
	price := expert.Price{Input: 1, Output: 10, Long: expert.LongPrice{Above: 1000, Input: 2, Output: 20}}
	p := testBudget(0, nil, expert.Limits{MaxCost: 1})
	for input, want := range map[int]float64{1000: (1 - 0.001) / 10 * 1e6, 2000: (1 - 0.004) / 20 * 1e6} {
		if got := p.rest(input, price)[0].output; math.Abs(got-want) > 1 {
			t.Errorf("a question of %d tokens leaves %v, want %v", input, got, want)
		}
	}
}
