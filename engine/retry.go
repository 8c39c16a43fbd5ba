package engine

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/model"
)

// generationFailed decides between a retry and the end of the Run when no answer came. Such
// a retry stays within the step and is not visible in the conversation.
func (r *run) generationFailed(ctx context.Context, err error) event.Body {
	e := model.AsError(err)
	if reason := r.stopRequested(ctx); reason != nil {
		r.lostUsage = e.Usage
		return r.stopRun(reason)
	}
	failure := event.Failure{Name: e.Name, Message: validText(e.Message), StatusCode: e.StatusCode, IsRetryable: e.Retryable}
	if !e.Retryable {
		return event.StopRunByError{Error: failure, Usage: e.Usage}
	}
	if r.state.RetryCount >= r.spec.Limits.Retries() {
		failure.Message = fmt.Sprintf("Max retries (%d) exceeded: %s", r.spec.Limits.Retries(), e.Message)
		return event.StopRunByError{Error: failure, Usage: e.Usage}
	}
	return event.Retry{
		Reason:      errorJSON(e.Name, e.Message),
		NewMessages: []*event.Message{},
		Transport:   true,
		Usage:       e.Usage,
		DelayMS:     r.retryDelay(e.RetryAfter).Milliseconds(),
	}
}

const (
	firstDelay    = 2 * time.Second
	maxDelay      = 32 * time.Second
	maxRetryAfter = 10 * time.Minute // the longest delay that a provider can request
)

// retryDelay returns the time until the next attempt: what the provider requested, or twice
// the delay before. A random part keeps many runs from retrying at the same moment.
func (r *run) retryDelay(retryAfter time.Duration) time.Duration {
	if retryAfter > 0 {
		return min(retryAfter, maxRetryAfter)
	}
	d := min(firstDelay<<min(r.state.RetryCount, 10), maxDelay)
	return d/2 + time.Duration(r.parts.Source.Fraction()*float64(d/2))
}

// A problem is what is wrong with an answer, in words for the model, which tries again, and
// in words for the user, for when the retries are used up.
type problem struct{ name, forModel, forUser string }

const outputLimitHint = "; ask for less, or raise maxOutputTokens of the model"

// reason is the problem as the model reads it.
func (p problem) reason() string { return errorJSON(p.name, p.forModel) }

// retryAnswer makes the model try again after an answer that cannot be used. The retry has
// what the model is shown of its mistake.
func (r *run) retryAnswer(p problem, retry event.Retry) event.Body {
	if r.state.RetryCount >= r.spec.Limits.Retries() {
		failure := event.Failure{Name: "MaxRetriesExceeded", Message: fmt.Sprintf("Max retries (%d) exceeded: %s", r.spec.Limits.Retries(), p.forUser)}
		return event.StopRunByError{Error: failure, Usage: retry.Usage}
	}
	retry.Reason = p.reason()
	return retry
}

// rejectText handles an answer whose text is not the final answer: a user message says why.
func (r *run) rejectText(answer *model.Answer, p problem) event.Body {
	return r.retryAnswer(p, event.Retry{Usage: answer.Usage, NewMessages: []*event.Message{r.expertMessage(answer), r.userMessage(p.reason())}})
}

// emptyAnswer handles an answer with neither calls nor text.
func (r *run) emptyAnswer(answer *model.Answer) event.Body {
	p := problem{
		"EmptyGeneration",
		"The answer held neither a tool call nor text. Call a tool, or answer with text.",
		"the model answered with neither text nor a tool call",
	}
	return r.retryAnswer(p, event.Retry{Usage: answer.Usage, NewMessages: []*event.Message{r.userMessage(p.reason())}})
}

// maxCalls is how many calls a turn can have. Each costs records and a place in the
// conversation.
const maxCalls = 4096

// tooManyCalls handles a turn with more than maxCalls calls.
func (r *run) tooManyCalls(answer *model.Answer) event.Body {
	n := len(answer.Calls())
	return r.rejectCalls(answer, problem{
		"CutOff",
		fmt.Sprintf("The answer had %d tool calls, and at most %d are carried out in a turn, so none was. Make fewer.", n, maxCalls),
		fmt.Sprintf("the model made %d tool calls in one turn, and at most %d are carried out", n, maxCalls),
	})
}

// callsCutOff handles a turn that ended in the middle of its calls, whose arguments can be
// incomplete.
func (r *run) callsCutOff(answer *model.Answer) event.Body {
	p := problem{
		"CutOff",
		"The answer was cut off before the tool calls were complete, so none was carried out. Make smaller calls.",
		"the model's tool calls were cut off at its output limit" + outputLimitHint,
	}
	if answer.Finish != model.FinishLength {
		why := cmp.Or(answer.Reason, string(answer.Finish))
		p.forModel = fmt.Sprintf("The answer ended for the reason %.100q before its tool calls were complete, so none was carried out. Try again.", why)
		p.forUser = fmt.Sprintf("the model's answer ended for the reason %.100q before its tool calls were complete", why)
	}
	return r.rejectCalls(answer, p)
}

// rejectCalls handles a turn whose calls are not carried out: the first call gets an error
// result, the others are dropped. Parts before the first call are kept, because some
// providers accept a call only together with the reasoning before it.
func (r *run) rejectCalls(answer *model.Answer, p problem) event.Body {
	parts := slices.Clone(answer.Parts)
	first := slices.IndexFunc(parts, func(p event.Part) bool { return p.Type == event.ToolCallPart })
	only := *answer
	only.Parts = slices.DeleteFunc(parts[:first+1], func(p event.Part) bool { return p.Type == event.TextPart })
	turn := r.callToolsEvent(&only)
	call := callsOf(turn)[0]
	result := r.errorResult(call.ToolCall, p.reason())
	call.Result = &result
	reply := toolMessage(r.toolMessageRef([]Call{call}), []Call{call})
	return r.retryAnswer(p, event.Retry{
		Usage: answer.Usage, NewMessages: []*event.Message{turn.NewMessage, reply},
		ToolCalls: []event.ToolCall{call.ToolCall}, ToolResults: []event.ToolResult{result},
	})
}

// textCutOff handles a text that ended at the output limit: half an answer is not an answer.
func (r *run) textCutOff(answer *model.Answer) event.Body {
	return r.rejectText(answer, problem{"CutOff", "The answer was cut off at the output limit. Answer again, and shorter.", "the model's answer was cut off at its output limit" + outputLimitHint})
}

// maxPauses is how often in a row a provider can pause if fewer retries are allowed. A pause
// is not a failure, but an endless sequence of them must end.
const maxPauses = 20

// providerPaused continues a turn in which the provider ran tools of its own and paused: its
// answer so far is sent back to it.
func (r *run) providerPaused(answer *model.Answer) event.Body {
	p := problem{"Paused", "The provider paused in the middle of its own tools.", "the provider paused again and again in the middle of its own tools"}
	retry := event.Retry{Reason: p.reason(), Usage: answer.Usage, NewMessages: []*event.Message{r.message(answer.Parts)}}
	if r.state.RetryCount >= max(r.spec.Limits.Retries(), maxPauses) {
		return r.retryAnswer(p, retry)
	}
	return retry
}

// contentFiltered ends a Run whose answer the provider withheld.
func contentFiltered(answer *model.Answer) event.Body {
	return event.StopRunByError{Usage: answer.Usage, Error: event.Failure{
		Name:    "ContentFilter",
		Message: "the provider's content filter stopped the answer; change the query or the instruction",
	}}
}

// unexpectedFinish ends a Run whose answer ended for an unknown reason, because the answer
// can be incomplete.
func unexpectedFinish(answer *model.Answer) event.Body {
	message := "the provider does not say why its answer ended, so it may not be complete; continue the job to ask again"
	if answer.Reason != "" {
		message = fmt.Sprintf("the provider ended its answer for the reason %.100q, so it may not be complete; continue the job to ask again", validText(answer.Reason))
	}
	return event.StopRunByError{Usage: answer.Usage, Error: event.Failure{Name: "UnexpectedFinish", Message: message}}
}

// errorJSON returns the JSON text that describes a failure to the model and in events.
func errorJSON(name, message string) string {
	return mustEncode(struct {
		Error   string `json:"error"`
		Message string `json:"message"`
	}{name, validText(message)}).String()
}
