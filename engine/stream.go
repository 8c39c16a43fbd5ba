package engine

import (
	"strings"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/model"
)

// A stream publishes one generation as it arrives: reasoning, and text when it is the
// final answer. While the model chooses tools its text is not shown, since it may turn
// out to be a remark beside the calls.
type stream struct {
	publish func(event.Body)
	result  bool

	reasoning       strings.Builder
	text            strings.Builder
	reasoningClosed bool
}

func (s *stream) reason(delta string) {
	if s.reasoningClosed {
		return // the order of the events would no longer hold
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

func (s *stream) say(delta string) {
	s.closeReasoning()
	if !s.result {
		return
	}
	if s.text.Len() == 0 {
		s.publish(event.StartStreamingRunResult{})
	}
	s.text.WriteString(delta)
	s.publish(event.StreamRunResult{Delta: delta})
}

// finish closes what is open. Reasoning that came with the answer only is published
// as one piece.
func (s *stream) finish(answer *model.Answer) {
	if s.reasoning.Len() == 0 && !s.reasoningClosed {
		for _, p := range answer.Parts {
			s.reasoning.WriteString(p.Thinking)
		}
	}
	s.closeReasoning()
	if s.text.Len() > 0 {
		s.publish(event.CompleteStreamingRunResult{Text: s.text.String()})
	}
}
