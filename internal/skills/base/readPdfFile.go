package base

import (
	"context"
	_ "embed"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/skill"
)

//go:embed readPdfFile.md
var readPdfFileText string

const readPdfFileSchema = `{
	"type": "object",
	"properties": {
		"path": {"type": "string", "description": "PDF file inside the workspace"}
	},
	"required": ["path"],
	"additionalProperties": false
}`

func (s *Skill) readPdfFile() tool {
	return tool{
		Tool: skill.Tool{
			Name:        "readPdfFile",
			Title:       "Read PDF file",
			Description: strings.TrimSpace(readPdfFileText),
			InputSchema: jsontext.Value(readPdfFileSchema),
			Repeatable:  true, // it only reads
			ReadOnly:    true,
		},
		run: s.runReadPdfFile,
	}
}

const maxPDFFile = 30 << 20

func (s *Skill) runReadPdfFile(ctx context.Context, call event.ToolCall) answer {
	return s.handOver(ctx, call, maxPDFFile, event.FileInlinePart, "a PDF file", pdfType)
}
