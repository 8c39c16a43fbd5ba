package chat

import "github.com/perstack-go/perstack/model"

// Encodings counts the messages that were encoded so far.
func (m *Model) Encodings() int64 { return m.messages[0].Count() + m.messages[1].Count() }

// Body is a request as it would be sent, in pieces.
func (m *Model) Body(req *model.Request) [][]byte { return m.body(req) }

// The limits of media, in base64.
const (
	MaxMedia = maxMedia
	MaxImage = maxImage
	MaxFile  = maxFile
)
