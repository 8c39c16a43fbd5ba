package engine

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/model"
)

// generateToolCall asks the model what to do next.
func (r *run) generateToolCall(ctx context.Context) event.Body {
	req := r.request(r.state.Messages())
	req.Tools = r.modelTools()
	answer, err := r.generate(ctx, req, false)
	if err != nil {
		return r.generationFailed(ctx, err)
	}
	calls, hasText := len(answer.Calls()), answer.Text() != ""
	switch {
	case answer.Finish == model.FinishContentFilter:
		return contentFiltered(answer)
	case calls > maxCalls:
		return r.tooManyCalls(answer)
	case calls > 0 && answer.Finish != model.FinishToolCalls && answer.Finish != model.FinishStop:
		return r.callsCutOff(answer)
	case calls > 0:
		return r.callToolsEvent(answer)
	case answer.Finish == model.FinishPause:
		return r.providerPaused(answer)
	case hasText && answer.Finish == model.FinishLength:
		return r.textCutOff(answer)
	case hasText && answer.Finish != model.FinishStop:
		return unexpectedFinish(answer)
	case hasText && r.wroteCall(answer):
		return r.callAsText(answer)
	case hasText:
		return event.CompleteRun{NewMessage: r.expertMessage(answer), Usage: answer.Usage}
	}
	return r.emptyAnswer(answer)
}

// modelTools returns the tools that the model can call. The list is made once for each
// version of the toolbox, so that its length does not make every step slower.
func (r *run) modelTools() []model.Tool {
	if v := r.toolbox.Version(); r.tools == nil || r.toolsVersion != v {
		r.tools, r.toolsVersion = nil, v
		for _, t := range r.toolbox.Tools() {
			r.tools = append(r.tools, model.Tool{Name: t.Name, Description: r.parts.redact(t.Description), InputSchema: r.redactSchema(t.InputSchema)})
		}
	}
	return slices.Clip(r.tools)
}

// generateRunResult asks the model for its final answer, after attemptCompletion succeeded.
func (r *run) generateRunResult(ctx context.Context) event.Body {
	calls := r.state.Step.Calls
	ref := r.toolMessageRef(calls)
	req := r.request(append(r.state.Messages(), toolMessage(ref, calls)))
	req.Tools, req.TextOnly = r.modelTools(), true
	if r.remindOfText {
		req.Messages = append(req.Messages, r.userMessage(finalReminder))
	}
	answer, err := r.generate(ctx, req, true)
	switch {
	case err != nil:
		return r.generationFailed(ctx, err)
	case answer.Finish == model.FinishContentFilter:
		return contentFiltered(answer)
	case len(answer.Calls()) > 0 && answer.Text() == "", !r.remindOfText && r.wroteCall(answer): // some providers cannot forbid calls
		r.remindOfText = true
		return r.generationFailed(ctx, &model.Error{
			Name: "EmptyGeneration", Message: "the model called tools instead of giving its final answer", Retryable: true, Usage: answer.Usage,
		})
	case answer.Finish == model.FinishLength:
		return event.StopRunByError{Usage: answer.Usage, Error: event.Failure{
			Name:    "LengthExceeded",
			Message: "the final answer was cut off by the model's output limit; ask for a shorter one",
		}}
	}
	if answer.Finish != model.FinishStop && !(answer.Finish == model.FinishToolCalls && len(answer.Calls()) > 0) {
		return unexpectedFinish(answer)
	}
	return event.CompleteRun{ToolMessage: ref, NewMessage: r.expertMessage(answer), Usage: answer.Usage}
}

func (r *run) request(messages []*event.Message) *model.Request {
	return &model.Request{
		Expert:    r.expert.Key,
		Messages:  messages,
		Reasoning: r.spec.Reasoning,
		Turn:      r.state.Turn,
		Attempt:   r.state.Attempt,
	}
}

// generate asks the model once and publishes the stream of its answer. The journal is
// committed meanwhile.
func (r *run) generate(ctx context.Context, req *model.Request, isResult bool) (answer *model.Answer, err error) {
	defer func() {
		// A bug in a provider's client must not keep the end of the Run from being recorded.
		if p := recover(); p != nil {
			r.parts.Log.Error("panic in the model", "value", p, "stack", string(debug.Stack()))
			err = fmt.Errorf("internal error in the model's client: %v; please report it", p)
		}
	}()
	r.recorder.commitInBackground()
	r.exec.snapshots.start(r.parentCtx)
	if d := r.state.retryDelayMS; d > 0 {
		if err := r.parts.Source.Sleep(ctx, time.Duration(d)*time.Millisecond); err != nil {
			return nil, err
		}
	}
	input := r.estimate(req)
	reserved, err := r.budget.reserve(ctx, input, r.price)
	if limit, ok := errors.AsType[*LimitError](err); ok {
		r.limit = limit
	}
	if err != nil {
		return nil, err
	}
	req.MaxTokens = reserved.output
	var used event.Usage
	defer func() { r.budget.settle(reserved, used, r.price) }()
	if r.spec.Limits.GenerationTimeout() > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, r.spec.Limits.GenerationTimeout())
		defer cancel()
	}
	stream := stream{publish: r.publish, isResult: isResult}
	for chunk, err := range r.parts.Model.Generate(ctx, req) {
		r.publishReports()
		switch {
		case err != nil:
			used = model.AsError(err).Usage
			return nil, err
		case chunk.Answer != nil: // it is paid for, so it is used even if the listener is gone
			used = usageOrEstimate(chunk.Answer, input)
			stream.finish(chunk.Answer)
			return chunk.Answer, r.warnOfCutInput(req, chunk.Answer, input)
		case r.recorder.silenced() != nil:
			return nil, r.recorder.silenced()
		case chunk.Reasoning != "":
			stream.addReasoning(chunk.Reasoning)
		case chunk.Text != "":
			stream.addText(chunk.Text)
		}
	}
	return nil, &model.Error{Name: "IncompleteAnswer", Message: "the model's answer broke off", Retryable: true}
}

// expertMessage returns the model's turn as a message without calls. It always has a text
// part, even if that is empty.
func (r *run) expertMessage(answer *model.Answer) *event.Message {
	m := r.message(slices.DeleteFunc(slices.Clone(answer.Parts), func(p event.Part) bool { return p.Type == event.ToolCallPart }))
	if !slices.ContainsFunc(m.Contents, func(p event.Part) bool { return p.Type == event.TextPart }) {
		m.Contents = append(m.Contents, r.textPart(""))
	}
	return m
}

// message makes a message from the parts of an answer. They keep their order, because some
// providers accept their own reasoning only where it was.
func (r *run) message(parts []event.Part) *event.Message {
	contents := make([]event.Part, 0, len(parts))
	for _, p := range parts {
		if !p.ProviderData.IsValid() { // it could not be recorded
			p.ProviderData = nil
			if p.Type == event.ProviderPart {
				continue
			}
		}
		p.ID, p.Text, p.Thinking, p.Signature = r.newID(), validText(p.Text), validText(p.Thinking), validText(p.Signature)
		contents = append(contents, p)
	}
	return &event.Message{ID: r.newID(), Type: event.ExpertMessage, Contents: contents, Author: r.author()}
}

// author is the name of the model as it is recorded in the Expert's messages.
func (r *run) author() string {
	if r.model.Provider == "" {
		return r.model.Model
	}
	return r.model.Provider + "/" + r.model.Model
}

// A stream publishes one generation as it arrives: the reasoning, and then the text, which is the final
// answer, or can be a remark beside tool calls.
type stream struct {
	publish  func(event.Body)
	isResult bool

	reasoning       strings.Builder
	text            strings.Builder
	reasoningClosed bool
}

func (s *stream) addReasoning(delta string) {
	if s.reasoningClosed {
		return // reasoning events must come before text events
	}
	if s.reasoning.Len() == 0 {
		s.publish(event.StartStreamingReasoning{})
	}
	s.reasoning.WriteString(delta)
	s.publish(event.StreamReasoning{Delta: delta})
}

func (s *stream) closeReasoning() {
	if s.reasoning.Len() > 0 && !s.reasoningClosed {
		s.publish(event.CompleteStreamingReasoning{Text: s.reasoning.String()})
	}
	s.reasoningClosed = true
}

func (s *stream) addText(delta string) {
	s.closeReasoning()
	if s.text.Len() == 0 {
		s.publish(s.choose(event.StartStreamingRunResult{}, event.StartStreamingText{}))
	}
	s.text.WriteString(delta)
	s.publish(s.choose(event.StreamRunResult{Delta: delta}, event.StreamText{Delta: delta}))
}

// choose returns the event for the final answer, or that for other text.
func (s *stream) choose(result, text event.Body) event.Body {
	if s.isResult {
		return result
	}
	return text
}

// finish publishes the ends of reasoning and text. Reasoning that was not streamed is taken
// from the answer and published as a whole.
func (s *stream) finish(answer *model.Answer) {
	if s.reasoning.Len() == 0 && !s.reasoningClosed {
		for _, p := range answer.Parts {
			s.reasoning.WriteString(p.Thinking)
		}
	}
	s.closeReasoning()
	if s.text.Len() > 0 {
		s.publish(s.choose(event.CompleteStreamingRunResult{Text: s.text.String()}, event.CompleteStreamingText{Text: s.text.String()}))
	}
}
