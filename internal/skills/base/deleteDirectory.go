package base

import (
	"context"
	_ "embed"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/skill"
)

//go:embed deleteDirectory.md
var deleteDirectoryText string

const deleteDirectorySchema = `{
	"type": "object",
	"properties": {
		"path": {"type": "string", "description": "directory inside the workspace, not its root"},
		"recursive": {"type": "boolean", "description": "whether to delete what is in it, too"}
	},
	"required": ["path"],
	"additionalProperties": false
}`

type deleteDirectoryArgs struct {
	Path      *string `json:"path"`
	Recursive bool    `json:"recursive"`
}

func (s *Skill) deleteDirectory() tool {
	return tool{
		Tool: skill.Tool{
			Name:        "deleteDirectory",
			Title:       "Delete directory",
			Description: strings.TrimSpace(deleteDirectoryText),
			InputSchema: jsontext.Value(deleteDirectorySchema),
			Repeatable:  false, // a second run may find another directory of that name
		},
		run: s.runDeleteDirectory,
	}
}

func (s *Skill) runDeleteDirectory(ctx context.Context, call event.ToolCall) answer {
	args, err := decode[deleteDirectoryArgs](call.Args)
	if err != nil {
		return refuseError(err)
	}
	path, err := required("path", args.Path)
	if err != nil {
		return refuseError(err)
	}
	removed, err := s.opts.Workspace.RemoveDir(ctx, path, args.Recursive)
	if err != nil {
		return refuseError(err)
	}
	return answer{body: pathBody{clean(removed)}}
}
