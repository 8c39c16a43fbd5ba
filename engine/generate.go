package engine

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"time"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/model"
)

// generateToolCall asks the model what to do next.
func (r *run) generateToolCall(ctx context.Context) event.Body {
	req := r.request(r.state.Messages())
	req.Tools = r.tools()
	answer, err := r.generate(ctx, req, false)
	if err != nil {
		return r.failedGeneration(ctx, err)
	}
	calls, said := len(answer.Calls()), answer.Text() != ""
	switch {
	case answer.Finish == model.FinishContentFilter:
		return filtered(answer)
	case calls > maxCalls:
		return r.tooMany(answer)
	case calls > 0 && answer.Finish != model.FinishToolCalls && answer.Finish != model.FinishStop:
		return r.cutOff(answer)
	case calls > 0:
		return r.calls(answer)
	case answer.Finish == model.FinishPause:
		return r.paused(answer)
	case said && answer.Finish == model.FinishLength:
		return r.cutText(answer)
	case said && answer.Finish != model.FinishStop:
		return unexplained(answer)
	case said:
		return event.CompleteRun{NewMessage: r.expertMessage(answer), Usage: answer.Usage}
	}
	return r.uselessAnswer(answer.Usage, complaint{
		"EmptyGeneration", "The answer held neither a tool call nor text. Call a tool, or answer with text.", "the model answered with neither text nor a tool call",
	}, nil)
}

// tools are what the model can call. They are made once: a step costs the same however
// many there are.
func (r *run) tools() []model.Tool {
	if v := r.toolbox.Version(); r.offered == nil || r.offeredVersion != v {
		r.offered, r.offeredVersion = nil, v
		for _, t := range r.toolbox.Tools() {
			r.offered = append(r.offered, model.Tool{Name: t.Name, Description: r.Redact(t.Description), InputSchema: r.redactSchema(t.InputSchema)})
		}
	}
	return slices.Clip(r.offered)
}

// generateRunResult asks the model for its final answer, after it declared itself done.
func (r *run) generateRunResult(ctx context.Context) event.Body {
	calls := r.state.Step.Calls
	ref := r.toolMessageRef(calls)
	req := r.request(r.state.Thread.Append(toolMessage(ref, calls)).messagesAfter(r.state.Instruction))
	req.Tools, req.TextOnly = r.tools(), true
	answer, err := r.generate(ctx, req, true)
	switch {
	case err != nil:
		return r.failedGeneration(ctx, err)
	case answer.Finish == model.FinishContentFilter:
		return filtered(answer)
	case len(answer.Calls()) > 0 && answer.Text() == "": // some cannot be told to call nothing
		return r.failedGeneration(ctx, &model.Error{
			Name: "EmptyGeneration", Message: "the model called tools instead of giving its final answer", Retryable: true, Usage: answer.Usage,
		})
	case answer.Finish == model.FinishLength:
		return event.StopRunByError{Usage: answer.Usage, Error: event.Failure{
			Name:    "LengthExceeded",
			Message: "the final answer was cut off by the model's output limit; ask for a shorter one",
		}}
	}
	if answer.Finish != model.FinishStop && !(answer.Finish == model.FinishToolCalls && len(answer.Calls()) > 0) {
		return unexplained(answer)
	}
	return event.CompleteRun{ToolMessage: ref, NewMessage: r.expertMessage(answer), Usage: answer.Usage}
}

// filtered ends a run whose answer the provider withheld.
func filtered(answer *model.Answer) event.Body {
	return event.StopRunByError{Usage: answer.Usage, Error: event.Failure{
		Name:    "ContentFilter",
		Message: "the provider's content filter stopped the answer; change the query or the instruction",
	}}
}

// unexplained ends a run whose answer ended for a reason that nobody knows: it may be half
// of one, and must not pass for a whole.
func unexplained(answer *model.Answer) event.Body {
	message := "the provider does not say why its answer ended, so it may not be complete; continue the job to ask again"
	if answer.Reason != "" {
		message = fmt.Sprintf("the provider ended its answer for the reason %.100q, so it may not be complete; continue the job to ask again", validText(answer.Reason))
	}
	return event.StopRunByError{Usage: answer.Usage, Error: event.Failure{Name: "UnexpectedFinish", Message: message}}
}

func (r *run) request(messages []*event.Message) *model.Request {
	return &model.Request{
		Expert:    r.expert.Key,
		Messages:  messages,
		Reasoning: r.job.Reasoning,
		Turn:      r.state.Turn,
		Attempt:   r.state.Attempt,
	}
}

// generate asks the model once and publishes the stream of its answer. The journal is
// committed meanwhile.
func (r *run) generate(ctx context.Context, req *model.Request, isResult bool) (answer *model.Answer, err error) {
	defer func() {
		// A bug in a provider's client must not cost the user the end of the journal.
		p := recover()
		if p != nil {
			r.Log.Error("panic in the model", "value", p, "stack", string(debug.Stack()))
			err = fmt.Errorf("the model's client failed inside: %v; please report it", p)
		}
	}()
	r.commitBeside()
	if d := r.state.RetryDelayMS; d > 0 {
		if err := r.Source.Sleep(ctx, time.Duration(d)*time.Millisecond); err != nil {
			return nil, err
		}
	}
	input := r.estimate(req, isResult)
	granted, err := r.reserve(ctx, r.purse, input, r.price)
	if limit, ok := errors.AsType[*LimitError](err); ok {
		r.refused = limit
	}
	if err != nil {
		return nil, err
	}
	req.MaxTokens = granted.output
	var used event.Usage
	defer func() { r.settleUsage(r.purse, granted, used, r.price) }()
	if r.job.Timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, r.job.Timeout)
		defer cancel()
	}
	stream := stream{publish: r.show, result: isResult}
	for chunk, err := range r.Model.Generate(ctx, req) {
		r.tell()
		switch {
		case err != nil:
			used = model.AsError(err).Usage
			return nil, err
		case chunk.Answer != nil: // paid for, so it is taken even if nobody listens
			used = orEstimate(chunk.Answer, input)
			stream.finish(chunk.Answer)
			return chunk.Answer, nil
		case r.closed() != nil:
			return nil, r.closed()
		case chunk.Reasoning != "":
			stream.reason(chunk.Reasoning)
		case chunk.Text != "":
			stream.say(chunk.Text)
		}
	}
	return nil, &model.Error{Name: "IncompleteAnswer", Message: "the model's answer broke off", Retryable: true}
}

// expertMessage is the model's turn as a message, without calls. It says something, even
// if that is nothing.
func (r *run) expertMessage(answer *model.Answer) *event.Message {
	m := r.message(slices.DeleteFunc(slices.Clone(answer.Parts), func(p event.Part) bool { return p.Type == event.ToolCallPart }))
	if !slices.ContainsFunc(m.Contents, func(p event.Part) bool { return p.Type == event.TextPart }) {
		m.Contents = append(m.Contents, r.textPart(""))
	}
	return m
}

// message makes parts of an answer into a message, in the order in which the model wrote
// them: some providers know their own thoughts only where they stood.
func (r *run) message(parts []event.Part) *event.Message {
	contents := make([]event.Part, 0, len(parts))
	for _, p := range parts {
		if !p.ProviderData.IsValid() { // it could not be recorded
			p.ProviderData = nil
			if p.Type == event.ProviderPart {
				continue
			}
		}
		p.ID, p.Text, p.Thinking, p.Signature = r.Source.NewID(), validText(p.Text), validText(p.Thinking), validText(p.Signature)
		contents = append(contents, p)
	}
	return &event.Message{ID: r.Source.NewID(), Type: event.ExpertMessage, Contents: contents, Author: r.job.author()}
}
