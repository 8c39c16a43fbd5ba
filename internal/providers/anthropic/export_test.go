package anthropic

// Encodings counts the messages that were encoded so far.
func (m *Model) Encodings() int64 { return m.messages.Count() }
