package engine

import (
	"context"
	"errors"
	"testing"
	"time"
)

// A timer that is late does not let a Run begin another step. While the Run waits, no time passes.
func TestTimeIsUp(t *testing.T) {
	ctx, limit, cancel := withTimeLimit(t.Context(), time.Hour)
	defer cancel(nil)
	limit.enforce()
	limit.left = 0 // the timer does not know
	limit.pause()
	limit.enforce()
	if ctx.Err() != nil {
		t.Fatalf("it was stopped too early: %v", context.Cause(ctx))
	}
	limit.pauses = 0
	limit.enforce()
	var reached *LimitError
	if !errors.As(context.Cause(ctx), &reached) {
		t.Errorf("the time is up, and the cause is %v", context.Cause(ctx))
	}
	(*timeLimit)(nil).enforce()
}
