package wire

// Len counts the messages that are kept.
func (e *Encoded[T]) Len() (n int) {
	e.forms.Range(func(key, _ any) bool {
		if !key.(form).slim {
			n++
		}
		return true
	})
	return n
}
