package engine

import (
	"math"
	"time"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/expert"
	"github.com/perstack-go/perstack/model"
)

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

// add writes down what was spent earlier. The purses around p have it already.
func (p *purse) add(s Spent, price expert.Price) {
	p.steps += s.Steps
	p.tokens += int64(s.Usage.TotalTokens)
	p.cost += model.Cost(price, s.Usage)
}

// outOfSteps says that no step is left, here or around, when so many more are taken; nil
// when there is one.
func (p *purse) outOfSteps(more int) *LimitError {
	for q := p; q != nil; q = q.within {
		if most := q.limits.MaxSteps; most > 0 && q.steps+more >= most {
			return &LimitError{Limit: event.LimitSteps, Used: float64(q.steps), Max: float64(most)}
		}
	}
	return nil
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
		money := most - p.cost - p.heldCost - model.Cost(price, event.Usage{InputTokens: input})
		rate := price.For(input).Output
		output := money / rate * 1e6 // prices are for a million tokens
		if rate == 0 {
			output = math.Copysign(math.Inf(1), money) // answers cost nothing, questions do
		}
		all = append(all, left{output, p.heldCost > 0, &LimitError{Limit: event.LimitCost, Used: p.cost, Max: most}})
	}
	return all
}
