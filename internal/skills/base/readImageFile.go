package base

import (
	"context"
	_ "embed"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/skill"
)

//go:embed readImageFile.md
var readImageFileText string

const readImageFileSchema = `{
	"type": "object",
	"properties": {
		"path": {"type": "string", "description": "image inside the workspace"}
	},
	"required": ["path"],
	"additionalProperties": false
}`

func (s *Skill) readImageFile() tool {
	return tool{
		Tool: skill.Tool{
			Name:        "readImageFile",
			Title:       "Read image file",
			Description: strings.TrimSpace(readImageFileText),
			InputSchema: jsontext.Value(readImageFileSchema),
			Repeatable:  true, // it only reads
			ReadOnly:    true,
		},
		run: s.runReadImageFile,
	}
}

const maxImageFile = 15 << 20

func (s *Skill) runReadImageFile(ctx context.Context, call event.ToolCall) answer {
	return s.handOver(ctx, call, maxImageFile, event.ImageInlinePart, "an image (PNG, JPEG, GIF or WebP)", imageType)
}
