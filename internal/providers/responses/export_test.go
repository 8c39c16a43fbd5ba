package responses

// Encodings is how many messages were encoded.
func (m *Model) Encodings() int64 { return m.messages.Count() }

// LimitMedia makes less room for media, so that tests need less.
func (m *Model) LimitMedia(room int) { m.room = room }
