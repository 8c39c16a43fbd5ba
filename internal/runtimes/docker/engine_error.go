package docker

import "context"

// An EngineError says that there is no engine that a run could be made on: none is there,
// or it may not be used, or a safeguard is missing. Its text says what to do about the
// engine; what else could be done depends on who asked for it.
type EngineError struct{ Err error }

func (e *EngineError) Error() string { return e.Err.Error() }

// Unwrap returns what is wrong with the engine.
func (e *EngineError) Unwrap() error { return e.Err }

// unusable marks an error of Connect. Who was told to stop has nothing to say about the
// engine.
func unusable(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return &EngineError{Err: err}
}
