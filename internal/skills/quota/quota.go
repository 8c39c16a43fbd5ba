// Package quota watches how large a workspace grows while tools work in it.
//
// It measures before the work begins, after each call that can have changed something, and about
// every second while such a call runs, so that a command that fills the disk is stopped. What a
// command writes between two measurements is not prevented. It deletes nothing.
//
// Start reading at [Quota.Watch].
package quota

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/skill"
)

// interval lies between two measurements while a call runs.
const interval = time.Second

// A Quota is how many bytes a workspace can take. All skills of a run share it.
type Quota struct {
	Max int64
	// Measure returns how many bytes the workspace takes. It can stop counting above max.
	Measure func(ctx context.Context, max int64) (int64, error)
	// Exceeded is called when the workspace takes more than Max, possibly several times.
	Exceeded func(used int64)
	// Failed is called when the workspace cannot be measured.
	Failed func(error)

	mu      sync.Mutex
	running int // calls that can have effects
	stop    context.CancelFunc
}

// Check measures now. It reports whether the work can continue.
func (q *Quota) Check(ctx context.Context) bool {
	used, err := q.Measure(ctx, q.Max)
	switch {
	case ctx.Err() != nil: // told to stop
		return false
	case err != nil:
		q.Failed(fmt.Errorf("measure the workspace: %w", err))
		return false
	case used > q.Max:
		q.Exceeded(used)
		return false
	}
	return true
}

// Watch returns s with measurements during and after its calls.
func (q *Quota) Watch(s skill.Skill) skill.Skill {
	return &watched{Skill: s, quota: q, harmless: make(map[string]bool)}
}

// begin starts to measure regularly, unless another call has started it.
func (q *Quota) begin(ctx context.Context) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.running++; q.running > 1 {
		return
	}
	// Measuring continues while other calls run.
	ctx, q.stop = context.WithCancel(context.WithoutCancel(ctx))
	go q.measureRegularly(ctx)
}

func (q *Quota) end() {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.running--; q.running == 0 {
		q.stop()
	}
}

func (q *Quota) measureRegularly(ctx context.Context) {
	for wait := interval; ; {
		select {
		case <-ctx.Done():
			return
		case <-time.After(wait):
		}
		began := time.Now()
		if !q.Check(ctx) {
			return
		}
		// Measuring a large tree takes a quarter of the time at most.
		wait = max(interval, 3*time.Since(began))
	}
}

// watched is a skill whose calls are watched.
type watched struct {
	skill.Skill
	quota *Quota

	mu       sync.Mutex
	harmless map[string]bool // tools that leave the workspace as it is
}

// Unwrap returns the skill, which may have a memory.
func (w *watched) Unwrap() skill.Skill { return w.Skill }

func (w *watched) Tools(ctx context.Context) ([]skill.Tool, error) {
	tools, err := w.Skill.Tools(ctx)
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, t := range tools {
		w.harmless[t.Name] = t.ReadOnly
	}
	return tools, err
}

func (w *watched) Call(ctx context.Context, call event.ToolCall) (event.ToolResult, error) {
	w.mu.Lock()
	harmless := w.harmless[call.ToolName]
	w.mu.Unlock()
	if harmless {
		return w.Skill.Call(ctx, call)
	}
	w.quota.begin(ctx)
	defer w.quota.end()
	result, err := w.Skill.Call(ctx, call)
	// A cancelled call is measured, too, but only for a short time.
	measuring, cancel := context.WithTimeout(context.WithoutCancel(ctx), interval)
	defer cancel()
	if ctx.Err() == nil {
		measuring = ctx
	}
	w.quota.Check(measuring)
	return result, err
}
