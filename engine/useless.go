package engine

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/go-json-experiment/json"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/model"
)

// A complaint is what is wrong with an answer: in the words for the model, which tries
// again, and in those for people, when it has tried often enough.
type complaint struct{ name, toModel, toPeople string }

const moreOutput = "; ask for less, or raise maxOutputTokens of the model"

// uselessAnswer makes the model try again, with a message that says what was wrong.
func (r *run) uselessAnswer(usage event.Usage, c complaint, pair *exchange) event.Body {
	if r.state.RetryCount >= r.job.MaxRetries {
		failure := event.Failure{Name: "MaxRetriesExceeded", Message: fmt.Sprintf("Max retries (%d) exceeded: %s", r.job.MaxRetries, c.toPeople)}
		return event.StopRunByError{Error: failure, Usage: usage}
	}
	retry := event.Retry{Reason: reason(c.name, c.toModel), Usage: usage}
	if pair == nil {
		retry.NewMessages = []*event.Message{r.userMessage(retry.Reason)}
		return retry
	}
	retry.NewMessages = pair.messages
	if pair.call.ID != "" {
		retry.ToolCalls, retry.ToolResults = []event.ToolCall{pair.call}, []event.ToolResult{pair.result}
	}
	return retry
}

// An exchange is what the model said and an answer, made up to show it its mistake.
type exchange struct {
	call     event.ToolCall // none if it said only text
	result   event.ToolResult
	messages []*event.Message
}

// maxCalls is how many calls a turn may have. Each costs records and, in the end, a place
// in the conversation.
const maxCalls = 4096

// tooMany answers a turn with more calls than anybody needs.
func (r *run) tooMany(answer *model.Answer) event.Body {
	n := len(answer.Calls())
	return r.notCarriedOut(answer, complaint{
		"CutOff", fmt.Sprintf("The answer had %d tool calls, and at most %d are carried out in a turn, so none was. Make fewer.", n, maxCalls),
		fmt.Sprintf("the model made %d tool calls in one turn, and at most %d are carried out", n, maxCalls),
	})
}

// cutOff answers a turn that ended in the middle of its calls: their arguments cannot
// be trusted.
func (r *run) cutOff(answer *model.Answer) event.Body {
	c := complaint{
		"CutOff", "The answer was cut off before the tool calls were complete, so none was carried out. Make smaller calls.",
		"the model's tool calls were cut off at its output limit" + moreOutput,
	}
	if answer.Finish != model.FinishLength {
		why := cmp.Or(answer.Reason, string(answer.Finish))
		c.toModel = fmt.Sprintf("The answer ended for the reason %.100q before its tool calls were complete, so none was carried out. Try again.", why)
		c.toPeople = fmt.Sprintf("the model's answer ended for the reason %.100q before its tool calls were complete", why)
	}
	return r.notCarriedOut(answer, c)
}

// notCarriedOut answers a turn of whose calls none is carried out: the first is answered with
// the reason. What stood before it stays, since some providers know a call only together
// with the thought it follows.
func (r *run) notCarriedOut(answer *model.Answer, c complaint) event.Body {
	parts := slices.Clone(answer.Parts)
	first := slices.IndexFunc(parts, func(p event.Part) bool { return p.Type == event.ToolCallPart })
	only := *answer
	only.Parts = slices.DeleteFunc(parts[:first+1], func(p event.Part) bool { return p.Type == event.TextPart })
	called := r.calls(&only)
	call := callsOf(called)[0]
	result := r.errorResult(call.ToolCall, reason(c.name, c.toModel))
	call.Result = &result
	answered := toolMessage(r.toolMessageRef([]Call{call}), []Call{call})
	return r.uselessAnswer(answer.Usage, c, &exchange{
		call.ToolCall, result, []*event.Message{called.NewMessage, answered},
	})
}

// cutText answers a text that ended at the output limit: half an answer must not pass
// for a whole one.
func (r *run) cutText(answer *model.Answer) event.Body {
	c := complaint{"CutOff", "The answer was cut off at the output limit. Answer again, and shorter.", "the model's answer was cut off at its output limit" + moreOutput}
	pair := []*event.Message{r.expertMessage(answer), r.userMessage(reason(c.name, c.toModel))}
	return r.uselessAnswer(answer.Usage, c, &exchange{messages: pair})
}

// maxPauses is how often in a row a provider may pause, where fewer failures are allowed: a
// pause is none, but something has to end a circle.
const maxPauses = 20

// paused lets a turn go on in which the provider ran tools of its own, and stopped for
// breath: what it has said so far is sent back to it.
func (r *run) paused(answer *model.Answer) event.Body {
	c := complaint{"Paused", "The provider paused in the middle of its own tools.", "the provider paused again and again in the middle of its own tools"}
	if r.state.RetryCount >= max(r.job.MaxRetries, maxPauses) {
		return r.uselessAnswer(answer.Usage, c, nil)
	}
	return event.Retry{Reason: reason(c.name, c.toModel), Usage: answer.Usage, NewMessages: []*event.Message{r.message(answer.Parts)}}
}

// reason is the JSON text by which a failure is described to model and observers.
func reason(name, message string) string {
	text, err := json.Marshal(struct {
		Error   string `json:"error"`
		Message string `json:"message"`
	}{name, validText(message)})
	if err != nil {
		return name
	}
	return string(text)
}
