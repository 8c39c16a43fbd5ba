package responses

// Encodings is how many messages were encoded.
func (m *Model) Encodings() int64 { return m.messages.Count() }

// LimitMedia lowers the limit for media, so that tests need less.
func (m *Model) LimitMedia(bytes int) { m.media = bytes }
