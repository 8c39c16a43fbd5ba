package engine

import (
	"context"
	"errors"
	"sync"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/expert"
	"github.com/perstack-go/perstack/model"
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
	prices    func(provider, model string) (expert.Price, bool)
	maxOutput int

	mu      sync.Mutex
	changed chan struct{} // closed, and made anew, when something that was set aside is free again
}

func newLedger(job Job) *ledger {
	l := &ledger{prices: job.Price, maxOutput: job.MaxOutput, changed: make(chan struct{})}
	if l.prices == nil {
		l.prices = func(string, string) (expert.Price, bool) { return expert.Price{}, false }
	}
	if l.maxOutput <= 0 {
		l.maxOutput = usualOutput
	}
	return l
}

// step takes one step, if there is one left. A step without a question to the model is
// always taken: it only closes what was begun.
func (l *ledger) step(p *purse, asks bool) *LimitError {
	l.mu.Lock()
	defer l.mu.Unlock()
	if limit := p.outOfSteps(0); asks && limit != nil {
		return limit
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
	return p.outOfSteps(0) == nil
}

// exhausted says which limit keeps a model from being asked, after so many more steps; nil
// when none does.
func (l *ledger) exhausted(p *purse, more, input int, price expert.Price) *LimitError {
	l.mu.Lock()
	defer l.mu.Unlock()
	if limit := p.outOfSteps(more); limit != nil {
		return limit
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
				g.cost = model.Cost(price, event.Usage{InputTokens: input, OutputTokens: output})
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

// settleUsage writes down what an answer used, instead of what was set aside for it.
func (l *ledger) settleUsage(p *purse, g grant, u event.Usage, price expert.Price) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for q := p; q != nil; q = q.within {
		q.heldTokens -= g.tokens
		q.heldCost = max(0, q.heldCost-g.cost)
		q.tokens += int64(u.TotalTokens)
		q.cost += model.Cost(price, u)
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
