package base

import (
	"context"
	_ "embed"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/skill"
)

//go:embed appendTextFile.md
var appendTextFileText string

const appendTextFileSchema = `{
	"type": "object",
	"properties": {
		"path": {"type": "string", "description": "existing file inside the workspace"},
		"text": {"type": "string", "description": "what to add at its end"}
	},
	"required": ["path", "text"],
	"additionalProperties": false
}`

type appendTextFileArgs struct {
	Path *string `json:"path"`
	Text *string `json:"text"`
}

func (s *Skill) appendTextFile() tool {
	return tool{
		Tool: skill.Tool{
			Name:        "appendTextFile",
			Title:       "Append to text file",
			Description: strings.TrimSpace(appendTextFileText),
			InputSchema: jsontext.Value(appendTextFileSchema),
			Repeatable:  false, // a second run adds the text again
		},
		run: s.runAppendTextFile,
	}
}

func (s *Skill) runAppendTextFile(ctx context.Context, call event.ToolCall) answer {
	args, err := decode[appendTextFileArgs](call.Args)
	if err != nil {
		return refuseError(err)
	}
	path, err := required("path", args.Path)
	if err != nil {
		return refuseError(err)
	}
	text, err := required("text", args.Text)
	if err != nil {
		return refuseError(err)
	}
	info, err := s.opts.Workspace.AppendFile(ctx, path, []byte(text))
	if err != nil {
		return refuseError(err)
	}
	return answer{body: struct {
		Path  string `json:"path"`
		Bytes int    `json:"bytes"`
		Size  int64  `json:"size"`
	}{clean(info.Path), len(text), info.Size}}
}
