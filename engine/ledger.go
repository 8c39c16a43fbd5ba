package engine

import (
	"context"
	"errors"
	"math"
	"sync"
	"time"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/expert"
)

const (
	// minOutput is how many tokens an answer must be able to have. With fewer left the
	// limit is reached: what a model says in them is worth less than it costs.
	minOutput = 256
	// goodOutput is what an answer gets if it can be had by waiting. Many Runs that share
	// little would else be cut off, and pay for it, all of them.
	goodOutput = 4096
	// usualOutput is taken for the longest answer of a model of which it is not known.
	usualOutput = 32_000
)

// A ledger keeps what the Runs of a job may use. Before a model is asked, what the answer
// may cost is set aside; after it, what it did cost is written down. So children that run
// side by side cannot spend the same money twice.
type ledger struct {
	price     func(provider, model string) (expert.Price, bool)
	maxOutput int

	mu      sync.Mutex
	changed chan struct{} // closed, and made anew, when something that was set aside is free again
}

// A purse is what one Run, with all that it delegates to, has used, and may use. The purse
// of the job holds those of all its Runs.
type purse struct {
	within *purse // nil for the job's
	limits expert.Limits
	since  time.Time

	steps  int
	tokens int64
	cost   float64

	atWork int // Runs that may ask for their share

	heldTokens int64 // set aside for answers that are under way
	heldCost   float64
}

func newLedger(job Job) *ledger {
	l := &ledger{price: job.Price, maxOutput: job.MaxOutput, changed: make(chan struct{})}
	if l.price == nil {
		l.price = func(string, string) (expert.Price, bool) { return expert.Price{}, false }
	}
	if l.maxOutput <= 0 {
		l.maxOutput = usualOutput
	}
	return l
}

// add writes down what was spent earlier. The purses around p have it already.
func (p *purse) add(s Spent, price expert.Price) {
	p.steps += s.Steps
	p.tokens += int64(s.Usage.TotalTokens)
	p.cost += costOf(price, s.Usage)
}

// step takes one step, if there is one left. A step without a question to the model is
// always taken: it only closes what was begun.
func (l *ledger) step(p *purse, asks bool) *LimitError {
	l.mu.Lock()
	defer l.mu.Unlock()
	for q := p; asks && q != nil; q = q.within {
		if most := q.limits.MaxSteps; most > 0 && q.steps >= most {
			return &LimitError{Limit: event.LimitSteps, Used: float64(q.steps), Max: float64(most)}
		}
	}
	for q := p; q != nil; q = q.within {
		q.steps++
	}
	return nil
}

// stepsLeft reports whether another step may be begun.
func (l *ledger) stepsLeft(p *purse) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	for q := p; q != nil; q = q.within {
		if most := q.limits.MaxSteps; most > 0 && q.steps >= most {
			return false
		}
	}
	return true
}

// exhausted says which limit keeps a Run from asking the model again, after one more step;
// nil when none does.
func (l *ledger) exhausted(p *purse, input int, price expert.Price) *LimitError {
	l.mu.Lock()
	defer l.mu.Unlock()
	for q := p; q != nil; q = q.within {
		if most := q.limits.MaxSteps; most > 0 && q.steps+1 >= most {
			return &LimitError{Limit: event.LimitSteps, Used: float64(q.steps), Max: float64(most)}
		}
	}
	_, _, err := l.afford(p, input, price)
	limit, _ := errors.AsType[*LimitError](err)
	return limit
}

// A grant is what was set aside for one answer.
type grant struct {
	output int // tokens of the answer; 0 when nothing limits it
	tokens int64
	cost   float64
}

// reserve sets aside what a request of so many tokens and its answer may use. If too
// little is free because others have set it aside, it waits until they know what they
// really used.
func (l *ledger) reserve(ctx context.Context, p *purse, input int, price expert.Price) (grant, error) {
	for {
		l.mu.Lock()
		output, wait, err := l.afford(p, input, price)
		if err == nil && !wait {
			g := grant{output: output}
			if output > 0 {
				g.tokens = int64(input) + int64(output)
				g.cost = inputCost(price, input) + float64(output)*price.Output/million
			}
			for q := p; q != nil; q = q.within {
				q.heldTokens += g.tokens
				q.heldCost += g.cost
			}
			l.mu.Unlock()
			return g, nil
		}
		changed := l.changed
		l.mu.Unlock()
		if err != nil {
			return grant{}, err
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return grant{}, context.Cause(ctx)
		}
	}
}

// afford says how long an answer may be; 0 when nothing limits it. It is the model's limit,
// or, of what is left in each purse, a fair share for all that are at work there.
func (l *ledger) afford(p *purse, input int, price expert.Price) (output int, wait bool, err error) {
	limited, most, good := false, float64(l.maxOutput), float64(min(goodOutput, l.maxOutput))
	for q := p; q != nil; q = q.within {
		for _, left := range q.left(input, price) {
			limited = true
			switch {
			case left.output < minOutput && !left.held:
				return 0, false, left.limit
			case left.output < good && left.held:
				wait = true
			}
			most = min(most, left.output, max(left.output/float64(max(q.atWork, 1)), good))
		}
	}
	if !limited || wait {
		return 0, wait, nil
	}
	return int(most), false, nil
}

// left is what a limit leaves for an answer.
type left struct {
	output float64 // tokens
	held   bool    // some of it is set aside for others, and may come back
	limit  *LimitError
}

// left lists what the limits of a purse leave for the answer to a request.
func (p *purse) left(input int, price expert.Price) (all []left) {
	if most := p.limits.MaxTokens; most > 0 {
		all = append(all, left{
			float64(most - p.tokens - p.heldTokens - int64(input)), p.heldTokens > 0,
			&LimitError{Limit: event.LimitTokens, Used: float64(p.tokens), Max: float64(most)},
		})
	}
	if most := p.limits.MaxCost; most > 0 {
		money := most - p.cost - p.heldCost - inputCost(price, input)
		output := money / price.Output * million
		if price.Output == 0 {
			output = math.Copysign(math.Inf(1), money) // answers cost nothing, questions do
		}
		all = append(all, left{output, p.heldCost > 0, &LimitError{Limit: event.LimitCost, Used: p.cost, Max: most}})
	}
	return all
}

// settleUsage writes down what an answer used, instead of what was set aside for it.
func (l *ledger) settleUsage(p *purse, g grant, u event.Usage, price expert.Price) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for q := p; q != nil; q = q.within {
		q.heldTokens -= g.tokens
		q.heldCost = max(0, q.heldCost-g.cost)
		q.tokens += int64(u.TotalTokens)
		q.cost += costOf(price, u)
		if q.heldTokens == 0 {
			q.heldCost = 0 // what rounding has left
		}
	}
	close(l.changed)
	l.changed = make(chan struct{})
}

// work counts a Run among those that share what is left, or does so no more.
func (l *ledger) work(p *purse, n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for q := p; q != nil; q = q.within {
		q.atWork += n
	}
}

const million = 1e6

// costOf is what tokens cost. What was not read from the provider's cache counts as
// written to it: all of it may have been, and a limit must not be passed by rounding down.
func costOf(p expert.Price, u event.Usage) float64 {
	cached := min(u.CachedInputTokens, u.InputTokens)
	return inputCost(p, u.InputTokens-cached) + (float64(cached)*p.CachedInput+float64(u.OutputTokens)*p.Output)/million
}

func inputCost(p expert.Price, tokens int) float64 {
	return float64(tokens) * max(p.Input, p.CacheWrite) / million
}
