package base

import "context"

type thinkArgs struct {
	Thought           string `json:"thought" jsonschema:"what you think"`
	NextThoughtNeeded *bool  `json:"nextThoughtNeeded,omitzero" jsonschema:"whether another thought should follow"`
}

var _ = tools.add(define("think", (*Skill).think, repeatable, memoryOnly)) // the count is recorded with the result, or not at all

func (s *Skill) think(_ context.Context, args thinkArgs) answer {
	return answer{body: struct {
		NextThoughtNeeded    *bool `json:"nextThoughtNeeded,omitzero"`
		ThoughtHistoryLength int64 `json:"thoughtHistoryLength"`
	}{args.NextThoughtNeeded, s.notes.think()}}
}
