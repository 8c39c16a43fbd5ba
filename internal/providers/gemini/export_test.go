package gemini

// Encodings is how many messages were encoded so far.
func (m *Model) Encodings() int64 { return m.messages.Count() }

// Reduce makes of a tool's schema what the API takes.
var Reduce = reduce

// MaxMedia is how many bytes of media a request has.
const MaxMedia = maxMedia
