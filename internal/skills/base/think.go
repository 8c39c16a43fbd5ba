package base

import (
	"context"
	_ "embed"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/skill"
)

//go:embed think.md
var thinkText string

const thinkSchema = `{
	"type": "object",
	"properties": {
		"thought": {"type": "string", "description": "what you think"},
		"nextThoughtNeeded": {"type": "boolean", "description": "whether another thought should follow"}
	},
	"required": ["thought"],
	"additionalProperties": false
}`

type thinkArgs struct {
	Thought           *string `json:"thought"`
	NextThoughtNeeded *bool   `json:"nextThoughtNeeded"`
}

func (s *Skill) think() tool {
	return tool{
		Tool: skill.Tool{
			Name:        "think",
			Title:       "Think",
			Description: strings.TrimSpace(thinkText),
			InputSchema: jsontext.Value(thinkSchema),
			Repeatable:  true, // the count is recorded with the result, or not at all
		},
		run: s.runThink,
	}
}

func (s *Skill) runThink(_ context.Context, call event.ToolCall) answer {
	args, err := decode[thinkArgs](call.Args)
	if err == nil {
		_, err = required("thought", args.Thought)
	}
	if err != nil {
		return refuseError(err)
	}
	count := s.notes.think()
	return answer{body: struct {
		NextThoughtNeeded    *bool `json:"nextThoughtNeeded,omitzero"`
		ThoughtHistoryLength int64 `json:"thoughtHistoryLength"`
	}{args.NextThoughtNeeded, count}}
}
