package base

import (
	"context"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/internal/attachment"
)

type readPdfFileArgs struct {
	Path string `json:"path" jsonschema:"PDF file inside the workspace"`
}

const maxPDFFile = 30 << 20

var _ = tools.add(define("readPdfFile", (*Skill).readPdfFile, readOnly))

func (s *Skill) readPdfFile(ctx context.Context, args readPdfFileArgs) answer {
	return s.sendFile(ctx, args.Path, maxPDFFile, event.FileInlinePart, "a PDF file", attachment.PDFType)
}
