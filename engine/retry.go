package engine

import (
	"context"
	"fmt"
	"time"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/model"
)

// failedGeneration decides between trying again and giving up. Trying again stays
// within the step: the conversation does not learn of trouble on the line.
func (r *run) failedGeneration(ctx context.Context, err error) event.Body {
	if h, stop := r.halted(ctx); stop {
		r.given = model.AsError(err).Usage
		return r.settle(h)
	}
	e := model.AsError(err)
	failure := event.Failure{Name: e.Name, Message: validText(e.Message), StatusCode: e.StatusCode, IsRetryable: e.Retryable}
	if !e.Retryable {
		return event.StopRunByError{Error: failure, Usage: e.Usage}
	}
	if r.state.RetryCount >= r.job.MaxRetries {
		failure.Message = fmt.Sprintf("Max retries (%d) exceeded: %s", r.job.MaxRetries, e.Message)
		return event.StopRunByError{Error: failure, Usage: e.Usage}
	}
	return event.Retry{
		Reason:      reason(e.Name, e.Message),
		NewMessages: []*event.Message{},
		Transport:   true,
		Usage:       e.Usage,
		DelayMS:     r.delay(e.RetryAfter).Milliseconds(),
	}
}

const (
	firstDelay = 2 * time.Second
	maxDelay   = 32 * time.Second
	maxAsked   = 10 * time.Minute // what a provider can make a run wait
)

// delay says how long to wait before the next try: what the provider asked for, else
// twice as long each time, spread so that many runs do not come back at once.
func (r *run) delay(asked time.Duration) time.Duration {
	if asked > 0 {
		return min(asked, maxAsked)
	}
	d := min(firstDelay<<min(r.state.RetryCount, 10), maxDelay)
	return d/2 + time.Duration(r.Source.Fraction()*float64(d/2))
}
