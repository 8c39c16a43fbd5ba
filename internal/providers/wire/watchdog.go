package wire

import (
	"context"
	"errors"
	"time"
)

var (
	errFirstByte = errors.New("no answer in time; try again later or raise the limit")
	errIdle      = errors.New("the answer stopped in the middle; try again later or raise the limit")
	errRest      = errors.New("the answer is complete, but the connection goes on")
)

// A watchdog cancels a call that waits too long for the other side. Time that our own
// side takes does not count.
type watchdog struct {
	cancel context.CancelCauseFunc
	timer  *time.Timer
}

// expect starts a wait. At its end the call is cancelled with the cause.
func (w *watchdog) expect(limit time.Duration, cause error) {
	w.rest()
	if limit > 0 {
		w.timer = time.AfterFunc(limit, func() { w.cancel(cause) })
	}
}

// rest ends the wait.
func (w *watchdog) rest() {
	if w.timer != nil {
		w.timer.Stop()
		w.timer = nil
	}
}
