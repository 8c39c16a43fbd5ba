package engine

import (
	"cmp"
	"context"
	"errors"
	"math"
	"sync"
	"time"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/expert"
	"github.com/perstack-go/perstack/model"
)

const (
	// minOutput is how many tokens an answer must be allowed. If fewer are left, the limit
	// is reached: so short an answer is worth less than the question costs.
	minOutput = 256
	// goodOutput is what an answer is allowed if waiting can make it available. Otherwise
	// many Runs that share a small rest would all be cut off, and all pay for it.
	goodOutput = 4096
	// usualOutput is taken for the longest answer of a model if that is unknown.
	usualOutput = 32_000
)

// A budget is what one Run, including its delegates, has used and can use. Budgets are
// nested: what a Run uses counts in its own budget, in its parent's, and so on up to that of
// the job. Before the model is asked, the most that the answer can cost is reserved; after
// it, the actual cost is counted. So Runs that work at the same time cannot spend the same
// money twice.
type budget struct {
	pool   *budgetPool
	parent *budget // nil for the job's
	limits expert.Limits
	since  time.Time

	maxOutput int // tokens of the longest answer of the Run's model

	time *timeLimit // of the Run; nil if there is none

	// The fields below are guarded by pool.mu.
	steps  int
	tokens int64
	cost   float64

	working int // Runs that share what is left

	pauses   int // questions to the user that have no answer yet
	pausedAt time.Time

	reservedTokens int64 // for answers that are in progress
	reservedCost   float64
}

// A budgetPool is what all budgets of a job share.
type budgetPool struct {
	mu       sync.Mutex
	released chan struct{} // closed and replaced when a reservation ends
}

// newBudget returns a budget within that of the parent, or the first of a job.
func newBudget(parent *budget, limits expert.Limits, since time.Time, maxOutput int) *budget {
	b := &budget{parent: parent, limits: limits, since: since, maxOutput: cmp.Or(max(maxOutput, 0), usualOutput)}
	if parent == nil {
		b.pool = &budgetPool{released: make(chan struct{})}
	} else {
		b.pool = parent.pool
	}
	return b
}

// add counts what was spent in an earlier execution. The budgets above have counted it
// already.
func (b *budget) add(s expense) {
	b.pool.mu.Lock()
	defer b.pool.mu.Unlock()
	b.steps += s.Steps
	b.tokens += int64(s.Usage.TotalTokens)
	b.cost += s.cost
}

// addWorking changes the number of Runs that share what is left.
func (b *budget) addWorking(n int) {
	b.pool.mu.Lock()
	defer b.pool.mu.Unlock()
	for ; b != nil; b = b.parent {
		b.working += n
	}
}

// takeStep counts a step, or returns the limit that forbids it. A step that only finishes
// calls which were made is not limited.
func (b *budget) takeStep(limited bool) *LimitError {
	b.pool.mu.Lock()
	defer b.pool.mu.Unlock()
	if limit := b.stepLimit(0); limit != nil && limited {
		return limit
	}
	for ; b != nil; b = b.parent {
		b.steps++
	}
	return nil
}

// hasSteps reports whether another step is allowed.
func (b *budget) hasSteps() bool {
	b.pool.mu.Lock()
	defer b.pool.mu.Unlock()
	return b.stepLimit(0) == nil
}

// stepLimit returns the limit on steps that is reached after more steps; nil if none is.
func (b *budget) stepLimit(more int) *LimitError {
	for ; b != nil; b = b.parent {
		if limit := b.limits.MaxSteps; limit > 0 && b.steps+more >= limit {
			return &LimitError{Limit: event.LimitSteps, Used: float64(b.steps), Max: float64(limit)}
		}
	}
	return nil
}

// exhausted returns the limit that forbids a request of input tokens after more steps; nil
// if none does.
func (b *budget) exhausted(more, input int, price expert.Price) *LimitError {
	b.pool.mu.Lock()
	defer b.pool.mu.Unlock()
	if limit := b.stepLimit(more); limit != nil {
		return limit
	}
	_, _, err := b.afford(input, price)
	limit, _ := errors.AsType[*LimitError](err)
	return limit
}

// A reservation is what is set aside for one answer.
type reservation struct {
	output int // tokens of the answer; 0 if not limited
	tokens int64
	cost   float64
}

// reserve sets aside what a request of input tokens and its answer can use. If too little is
// left because of other reservations, it waits until those end.
func (b *budget) reserve(ctx context.Context, input int, price expert.Price) (reservation, error) {
	for {
		b.pool.mu.Lock()
		output, wait, err := b.afford(input, price)
		if err == nil && !wait {
			res := reservation{output: output}
			if output > 0 {
				res.tokens = int64(input) + int64(output)
				res.cost = model.Cost(price, event.Usage{InputTokens: input, OutputTokens: output})
			}
			for o := b; o != nil; o = o.parent {
				o.reservedTokens += res.tokens
				o.reservedCost += res.cost
			}
			b.pool.mu.Unlock()
			return res, nil
		}
		released := b.pool.released
		b.pool.mu.Unlock()
		if err != nil {
			return reservation{}, err
		}
		select {
		case <-released:
		case <-ctx.Done():
			return reservation{}, context.Cause(ctx)
		}
	}
}

// afford returns how many tokens an answer can have; 0 if not limited. It is the model's
// maximum or, if less, a fair share of what is left in each budget.
func (b *budget) afford(input int, price expert.Price) (output int, wait bool, err error) {
	maxOutput := float64(b.maxOutput)
	limited, allowed, good := false, maxOutput, min(goodOutput, maxOutput)
	for ; b != nil; b = b.parent {
		for _, rest := range b.rest(input, price) {
			limited = true
			switch {
			case rest.output < minOutput && !rest.reserved:
				return 0, false, rest.limit
			case rest.output < good && rest.reserved:
				wait = true
			}
			allowed = min(allowed, rest.output, max(rest.output/float64(max(b.working, 1)), good))
		}
	}
	if !limited || wait {
		return 0, wait, nil
	}
	return int(allowed), false, nil
}

// A rest is what a limit leaves for an answer.
type rest struct {
	output   float64 // tokens
	reserved bool    // more can become available when reservations end
	limit    *LimitError
}

// rest lists what the limits of this budget alone leave for the answer to a request.
func (b *budget) rest(input int, price expert.Price) (all []rest) {
	if limit := b.limits.MaxTokens; limit > 0 {
		all = append(all, rest{
			float64(limit - b.tokens - b.reservedTokens - int64(input)), b.reservedTokens > 0,
			&LimitError{Limit: event.LimitTokens, Used: float64(b.tokens), Max: float64(limit), Needs: float64(b.tokens + int64(input))},
		})
	}
	if limit := b.limits.MaxCost; limit > 0 {
		money := limit - b.cost - b.reservedCost - model.Cost(price, event.Usage{InputTokens: input})
		rate := price.For(input).Output
		output := money / rate * 1e6 // prices are for a million tokens
		if rate == 0 {
			output = math.Copysign(math.Inf(1), money) // only the input costs money
		}
		all = append(all, rest{output, b.reservedCost > 0, &LimitError{Limit: event.LimitCost, Used: b.cost, Max: limit}})
	}
	return all
}

// settle ends a reservation and counts what the answer used.
func (b *budget) settle(res reservation, u event.Usage, price expert.Price) {
	b.pool.mu.Lock()
	defer b.pool.mu.Unlock()
	close(b.pool.released)
	b.pool.released = make(chan struct{})
	for ; b != nil; b = b.parent {
		b.reservedTokens -= res.tokens
		b.reservedCost = max(0, b.reservedCost-res.cost)
		b.tokens += int64(u.TotalTokens)
		b.cost += model.Cost(price, u)
		if b.reservedTokens == 0 {
			b.reservedCost = 0 // removes rounding errors
		}
	}
}

// pause stops the time of the Run and of those that wait for it, while the user is asked.
func (b *budget) pause(source Source) {
	b.pool.mu.Lock()
	defer b.pool.mu.Unlock()
	for ; b != nil; b = b.parent {
		if b.pauses++; b.pauses == 1 {
			b.pausedAt = source.Now()
		}
		b.time.pause()
	}
}

// resume ends a pause.
func (b *budget) resume(source Source) {
	b.pool.mu.Lock()
	defer b.pool.mu.Unlock()
	for ; b != nil; b = b.parent {
		if b.pauses--; b.pauses == 0 {
			b.since = b.since.Add(source.Now().Sub(b.pausedAt))
		}
		b.time.resume()
	}
}

// enforceTime stops the Run, or one that it works for, if its time is up.
func (b *budget) enforceTime() {
	for ; b != nil; b = b.parent {
		b.time.enforce()
	}
}

// elapsed returns how long the Run has worked.
func (b *budget) elapsed(now time.Time) time.Duration {
	if b.pauses > 0 {
		now = b.pausedAt
	}
	return now.Sub(b.since)
}

// usage lists how much of each limit is used, for the budget with the greatest share.
func (b *budget) usage(now time.Time) []event.LimitWarning {
	b.pool.mu.Lock()
	defer b.pool.mu.Unlock()
	all := make([]event.LimitWarning, 4)
	for ; b != nil; b = b.parent {
		for i, u := range []event.LimitWarning{
			{Limit: event.LimitSteps, Used: float64(b.steps), Max: float64(b.limits.MaxSteps)},
			{Limit: event.LimitTokens, Used: float64(b.tokens), Max: float64(b.limits.MaxTokens)},
			{Limit: event.LimitCost, Used: b.cost, Max: b.limits.MaxCost},
			{Limit: event.LimitDuration, Used: b.elapsed(now).Seconds(), Max: b.limits.MaxDuration.Seconds()},
		} {
			if u.Max > 0 && (all[i].Max == 0 || u.Used/u.Max > all[i].Used/all[i].Max) {
				all[i] = u
			}
		}
	}
	return all
}
