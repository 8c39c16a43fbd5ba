package event

import (
	"encoding/base64"
	"fmt"
	"strings"

	"github.com/perstack-go/perstack/rawjson"
)

// An Attachment describes a file that the user added to a query. Its bytes are in the message.
type Attachment struct {
	Name     string                   `json:"name"`     // of the file, without directories
	MIMEType string                   `json:"mimeType"` // as the bytes show it; text/plain for all text
	Size     int64                    `json:"size"`     // in bytes
	Digest   string                   `json:"digest"`   // sha256: and 64 hexadecimal digits
	Unknown  map[string]rawjson.Value `json:",embed"`
}

// IsImage reports whether the attachment is an image.
func (a Attachment) IsImage() bool { return strings.HasPrefix(a.MIMEType, "image/") }

// Parts returns what a message has for the attachment, which is number of those of the query: a line
// that names it, and its content. They have no ids.
//
// Text is a text part. As a file, some providers would take only a few of them, and what they cost
// could not be estimated.
func (a Attachment) Parts(number int, data []byte) []Part {
	label := fmt.Sprintf("[attachment %d: %q, %s, %d bytes]", number, a.Name, a.MIMEType, a.Size)
	kind := FileInlinePart
	switch {
	case strings.HasPrefix(a.MIMEType, "text/"):
		return []Part{{Type: TextPart, Text: fmt.Sprintf("%s\n%s\n[end of attachment %d]", label, data, number)}}
	case a.IsImage():
		kind = ImageInlinePart
	}
	return []Part{
		{Type: TextPart, Text: label},
		{Type: kind, MIMEType: a.MIMEType, EncodedData: base64.StdEncoding.EncodeToString(data)},
	}
}
