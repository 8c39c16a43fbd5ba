package base

import (
	"context"
	"encoding/base64"
	"fmt"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/internal/wording"
)

// A mediaBody precedes the bytes, for the model and for the activity log.
type mediaBody struct {
	Path     string `json:"path"`
	MIMEType string `json:"mimeType"`
	Size     int    `json:"size"`
}

// sendFile answers with the bytes of a file, which are read once: a path that is opened again can
// lead to another file. The type is detected: a key named x.png must not be sent as an image.
func (s *Skill) sendFile(ctx context.Context, path string, limit int64, part event.PartType, what string, kind func([]byte) string) answer {
	info, data, err := s.opts.Workspace.ReadFile(ctx, path, limit)
	if err != nil {
		return refuseError(err)
	}
	seen := kind(data)
	if seen == "" {
		return refuse(codeUnsupportedType, fmt.Sprintf("%q is not supported: what it contains is not %s", wording.Cut(path, 200), what))
	}
	return answer{
		body:  mediaBody{Path: clean(info.Path), MIMEType: seen, Size: len(data)},
		parts: []event.Part{{Type: part, MIMEType: seen, EncodedData: base64.StdEncoding.EncodeToString(data)}},
	}
}
