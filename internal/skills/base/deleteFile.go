package base

import (
	"context"
	_ "embed"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/skill"
)

//go:embed deleteFile.md
var deleteFileText string

const deleteFileSchema = `{
	"type": "object",
	"properties": {
		"path": {"type": "string", "description": "file inside the workspace"}
	},
	"required": ["path"],
	"additionalProperties": false
}`

func (s *Skill) deleteFile() tool {
	return tool{
		Tool: skill.Tool{
			Name:        "deleteFile",
			Title:       "Delete file",
			Description: strings.TrimSpace(deleteFileText),
			InputSchema: jsontext.Value(deleteFileSchema),
			Repeatable:  false, // a second run may find another file of that name
		},
		run: s.runDeleteFile,
	}
}

func (s *Skill) runDeleteFile(ctx context.Context, call event.ToolCall) answer {
	path, err := pathOnly(call.Args)
	if err != nil {
		return refuseError(err)
	}
	removed, err := s.opts.Workspace.RemoveFile(ctx, path)
	if err != nil {
		return refuseError(err)
	}
	return answer{body: pathBody{clean(removed)}}
}
