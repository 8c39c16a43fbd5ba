package base

import (
	"bytes"
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

// imageType returns the type of an image that models can see, or "".
func imageType(data []byte) string {
	starts := func(magic string) bool { return bytes.HasPrefix(data, []byte(magic)) }
	switch {
	case starts("\x89PNG\r\n\x1a\n"):
		return "image/png"
	case starts("\xff\xd8\xff"):
		return "image/jpeg"
	case starts("GIF87a"), starts("GIF89a"):
		return "image/gif"
	case starts("RIFF") && len(data) >= 12 && string(data[8:12]) == "WEBP":
		return "image/webp"
	}
	return ""
}

// pdfType returns the type of a PDF document, or "".
func pdfType(data []byte) string {
	if bytes.HasPrefix(data, []byte("%PDF-")) {
		return "application/pdf"
	}
	return ""
}
