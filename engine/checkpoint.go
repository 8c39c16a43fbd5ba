package engine

import (
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/perstack-go/perstack/event"
)

// Checkpoint returns s in the shape that programs outside read.
func (s State) Checkpoint() *event.Checkpoint {
	cp := &event.Checkpoint{
		ID:          s.CheckpointID,
		JobID:       s.JobID,
		RunID:       s.RunID,
		Status:      s.Status,
		StepNumber:  s.StepNumber,
		Messages:    s.Messages(),
		Expert:      s.Expert,
		DelegatedBy: s.DelegatedBy,
		Usage:       s.Usage,
		Metadata:    s.metadata(),
		Error:       s.Failure,
		RetryCount:  s.RetryCount,
	}
	if s.ContextWindow > 0 {
		// The size of the last prompt and its answer. Accumulated usage would
		// pass the window after a few steps and mean nothing.
		share := float64(s.LastUsage.InputTokens+s.LastUsage.OutputTokens) / float64(s.ContextWindow)
		cp.ContextWindow, cp.ContextWindowUsage = s.ContextWindow, &share
	}
	if calls := s.open(); len(calls) > 0 {
		cp.PendingToolCalls, cp.PartialToolResults = s.Pending(), results(calls)
		if s.Status == event.StatusStoppedByDelegate {
			cp.DelegateTo, cp.PendingToolCalls = delegations(calls)
		}
	}
	return cp
}

// delegations returns what is handed to other Experts, and the other calls that are open.
func delegations(calls []Call) (to []event.Delegation, others []event.ToolCall) {
	for _, c := range calls {
		switch {
		case c.Result != nil:
		case c.Child == nil:
			others = append(others, c.ToolCall)
		default:
			to = append(to, event.Delegation{Expert: c.Child.Expert, ToolCallID: c.ID, ToolName: c.ToolName, Query: query(c.Args)})
		}
	}
	return to, others
}

// metadata is what a checkpoint says beyond the fields that all runtimes have.
func (s State) metadata() map[string]jsontext.Value {
	all := make(map[string]jsontext.Value)
	if s.Runtime != "" {
		all["runtime"] = mustEncode(s.Runtime)
	}
	if len(s.Memory) > 0 {
		all["skills"] = mustEncode(s.Memory)
	}
	return all
}

// mustEncode encodes a value of strings and valid JSON, which cannot fail.
func mustEncode(v any) jsontext.Value {
	data, err := json.Marshal(v, json.Deterministic(true), jsontext.AllowInvalidUTF8(true))
	if err != nil {
		panic("engine: " + err.Error())
	}
	return data
}

// stepView returns the current step in the shape that programs outside read.
func (s State) stepView() *event.Step {
	step := &event.Step{
		StepNumber:    s.StepNumber,
		InputMessages: append([]*event.Message{}, s.Step.Input...),
		NewMessages:   append([]*event.Message{}, s.Step.Messages...),
		ToolCalls:     toolCalls(s.Step.Calls),
		ToolResults:   results(s.Step.Calls),
		Usage:         s.Step.Usage,
		StartedAt:     s.Step.StartedAt,
		FinishedAt:    s.Step.FinishedAt,
	}
	if calls := s.open(); len(calls) > 0 {
		step.PendingToolCalls, step.PartialToolResults = s.Pending(), results(calls)
	}
	return step
}
