package base

import (
	"context"
	_ "embed"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/skill"
)

//go:embed writeTextFile.md
var writeTextFileText string

const writeTextFileSchema = `{
	"type": "object",
	"properties": {
		"path": {"type": "string", "description": "file inside the workspace"},
		"text": {"type": "string", "description": "the whole content of the file"}
	},
	"required": ["path", "text"],
	"additionalProperties": false
}`

type writeTextFileArgs struct {
	Path *string `json:"path"`
	Text *string `json:"text"`
}

func (s *Skill) writeTextFile() tool {
	return tool{
		Tool: skill.Tool{
			Name:        "writeTextFile",
			Title:       "Write text file",
			Description: strings.TrimSpace(writeTextFileText),
			InputSchema: jsontext.Value(writeTextFileSchema),
			Repeatable:  false, // a second run undoes what the user wrote there since
		},
		run: s.runWriteTextFile,
	}
}

func (s *Skill) runWriteTextFile(ctx context.Context, call event.ToolCall) answer {
	args, err := decode[writeTextFileArgs](call.Args)
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
	info, err := s.opts.Workspace.WriteFile(ctx, path, []byte(text))
	if err != nil {
		return refuseError(err)
	}
	// The text is not sent back: the model has just written it.
	return answer{body: struct {
		Path  string `json:"path"`
		Bytes int    `json:"bytes"`
	}{clean(info.Path), len(text)}}
}
