package wire

// Len counts the messages that are kept.
func (e *Encoded[T]) Len() (n int) {
	e.full.Range(func(any, any) bool { n++; return true })
	return n
}
