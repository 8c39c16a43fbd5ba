package bedrock

// Encodings counts the messages that were encoded so far.
func (m *Model) Encodings() int64 { return m.messages.Count() }

// MaxMedia is how many bytes of media a request may have.
const MaxMedia = maxMedia
