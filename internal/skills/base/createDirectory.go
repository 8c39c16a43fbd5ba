package base

import (
	"context"
	_ "embed"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/skill"
)

//go:embed createDirectory.md
var createDirectoryText string

const createDirectorySchema = `{
	"type": "object",
	"properties": {
		"path": {"type": "string", "description": "directory inside the workspace"}
	},
	"required": ["path"],
	"additionalProperties": false
}`

func (s *Skill) createDirectory() tool {
	return tool{
		Tool: skill.Tool{
			Name:        "createDirectory",
			Title:       "Create directory",
			Description: strings.TrimSpace(createDirectoryText),
			InputSchema: jsontext.Value(createDirectorySchema),
			Repeatable:  false, // a second run finds the directory there
		},
		run: s.runCreateDirectory,
	}
}

func (s *Skill) runCreateDirectory(ctx context.Context, call event.ToolCall) answer {
	path, err := pathOnly(call.Args)
	if err != nil {
		return refuseError(err)
	}
	made, err := s.opts.Workspace.MakeDir(ctx, path)
	if err != nil {
		return refuseError(err)
	}
	return answer{body: pathBody{clean(made)}}
}
