package base

import (
	"context"
	_ "embed"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/skill"
)

//go:embed moveFile.md
var moveFileText string

const moveFileSchema = `{
	"type": "object",
	"properties": {
		"source": {"type": "string", "description": "file or directory inside the workspace"},
		"destination": {"type": "string", "description": "its new path, where nothing may be yet"}
	},
	"required": ["source", "destination"],
	"additionalProperties": false
}`

type moveFileArgs struct {
	Source      *string `json:"source"`
	Destination *string `json:"destination"`
}

func (s *Skill) moveFile() tool {
	return tool{
		Tool: skill.Tool{
			Name:        "moveFile",
			Title:       "Move file",
			Description: strings.TrimSpace(moveFileText),
			InputSchema: jsontext.Value(moveFileSchema),
			Repeatable:  false, // a second run does not find the source
		},
		run: s.runMoveFile,
	}
}

func (s *Skill) runMoveFile(ctx context.Context, call event.ToolCall) answer {
	args, err := decode[moveFileArgs](call.Args)
	if err != nil {
		return refuseError(err)
	}
	source, err := required("source", args.Source)
	if err != nil {
		return refuseError(err)
	}
	destination, err := required("destination", args.Destination)
	if err != nil {
		return refuseError(err)
	}
	from, to, err := s.opts.Workspace.Move(ctx, source, destination)
	if err != nil {
		return refuseError(err)
	}
	return answer{body: struct {
		Source      string `json:"source"`
		Destination string `json:"destination"`
	}{clean(from), clean(to)}}
}
