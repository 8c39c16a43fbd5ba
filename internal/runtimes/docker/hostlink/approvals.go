package hostlink

import (
	"context"

	"github.com/perstack-go/perstack/engine"
	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/job"
)

// Decide has the host decide about a tool call. If it cannot be asked, the call is refused.
func (c *Conn) Decide(ctx context.Context, request engine.CallRequest) engine.Decision {
	query := CallQuery{RunID: request.RunID, CallID: request.Call.ID, Tool: request.Tool.Digest, Destructive: request.Tool.Destructive}
	done, err := c.askUntil(ctx.Done(), func(id int64) Up {
		query.ID = id
		return Up{Decide: &query}
	})
	if err != nil || done.Decision == nil {
		return engine.Decision{Do: job.Deny, By: "the host did not decide"}
	}
	return engine.Decision(*done.Decision)
}

// Ask has the host ask the user.
func (c *Conn) Ask(ctx context.Context, request event.Request) (event.Answer, error) {
	query := CallQuery{RunID: request.RunID, CallID: request.Question.ID}
	if request.Approval != nil {
		query.CallID = request.Approval.Call.ID
	}
	done, err := c.askUntil(ctx.Done(), func(id int64) Up {
		query.ID = id
		return Up{Ask: &query}
	})
	switch a := done.Answer; {
	case ctx.Err() != nil:
		return event.Answer{}, context.Cause(ctx)
	case err != nil:
		return event.Answer{}, err
	case a == nil || a.None:
		return event.Answer{}, engine.ErrNoAnswer
	default:
		return event.Answer{Text: a.Text, Allow: a.Allow, Scope: a.Scope, Reason: a.Reason}, nil
	}
}
