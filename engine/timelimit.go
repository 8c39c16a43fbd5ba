package engine

import (
	"context"
	"sync"
	"time"

	"github.com/perstack-go/perstack/event"
)

// A timeLimit cancels a context when a Run, with all that it delegates, has worked for too long.
// While it is paused, no time passes for it.
type timeLimit struct {
	cancel  func()
	mu      sync.Mutex
	timer   *time.Timer
	left    time.Duration
	started time.Time // when the timer was last started
	pauses  int
	ended   bool
}

// withTimeLimit returns a context that is cancelled after d with a [LimitError] as its
// cause; 0 means no limit.
func withTimeLimit(ctx context.Context, d time.Duration) (context.Context, *timeLimit, context.CancelCauseFunc) {
	ctx, cancel := context.WithCancelCause(ctx)
	if d <= 0 {
		return ctx, nil, cancel
	}
	limit := &timeLimit{left: d, started: time.Now()}
	limit.cancel = func() { cancel(&LimitError{Limit: event.LimitDuration, Used: d.Seconds(), Max: d.Seconds()}) }
	limit.timer = time.AfterFunc(d, limit.cancel)
	context.AfterFunc(ctx, limit.end)
	return ctx, limit, cancel
}

func (l *timeLimit) end() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.ended = true
	l.timer.Stop()
}

// enforce cancels the context now if the time is up. On a busy machine the timer can be late, and
// another step would begin.
func (l *timeLimit) enforce() {
	if l == nil {
		return
	}
	l.mu.Lock()
	up := l.pauses == 0 && time.Since(l.started) >= l.left
	l.mu.Unlock()
	if up {
		l.cancel()
	}
}

// pause stops the time until resume was called as often.
func (l *timeLimit) pause() {
	if l == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.pauses++; l.pauses == 1 && l.timer.Stop() {
		l.left -= time.Since(l.started)
	}
}

func (l *timeLimit) resume() {
	if l == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.pauses--; l.pauses == 0 && !l.ended {
		l.started = time.Now()
		l.timer.Reset(max(l.left, 0))
	}
}
