package process

// AroundStop does nothing: Windows does not stop processes.
func AroundStop(_, _ func()) (undo func()) { return func() {} }
