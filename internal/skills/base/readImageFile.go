package base

import (
	"context"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/internal/attachment"
)

type readImageFileArgs struct {
	Path string `json:"path" jsonschema:"image inside the workspace"`
}

const maxImageFile = 15 << 20

var _ = tools.add(define("readImageFile", (*Skill).readImageFile, readOnly))

func (s *Skill) readImageFile(ctx context.Context, args readImageFileArgs) answer {
	return s.sendFile(ctx, args.Path, maxImageFile, event.ImageInlinePart, "an image (PNG, JPEG, GIF or WebP)", attachment.ImageType)
}
