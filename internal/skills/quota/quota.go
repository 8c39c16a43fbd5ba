// Package quota watches how large a workspace grows while tools work in it.
//
// It measures before the work begins, after each call that can have changed something,
// and about every second while such a call runs, so that a command which fills the disk
// is stopped in the middle. It does not fence: what a command writes between two
// measurements is written. It deletes nothing.
//
// Start reading at [Quota.Watch].
package quota

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/rawjson"
	"github.com/perstack-go/perstack/skill"
)

// interval lies between two measurements while a call runs.
const interval = time.Second

// A Quota is how many bytes a workspace may take. It is for all skills of a run: calls
// that run side by side share one watch.
type Quota struct {
	Max int64
	// Measure returns how many bytes the workspace takes. It may give up counting as
	// soon as they are more than max.
	Measure func(ctx context.Context, max int64) (int64, error)
	// Exceeded is told that the workspace takes more than Max. It may be told again.
	Exceeded func(used int64)
	// Failed is told that the workspace cannot be measured. Whoever set a limit does
	// not want to go on without it.
	Failed func(error)

	mu      sync.Mutex
	running int // calls that can have effects
	stop    context.CancelFunc
}

// Check measures now. It reports whether the work may go on.
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

// Watch returns s with the watch around its calls.
func (q *Quota) Watch(s skill.Skill) skill.Skill {
	return &watched{Skill: s, quota: q, harmless: make(map[string]bool)}
}

// begin starts to measure regularly, unless that is done for another call already.
func (q *Quota) begin(ctx context.Context) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.running++; q.running > 1 {
		return
	}
	// The watch outlives the call it began with if others run longer.
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
		timer := time.NewTimer(wait)
		select {
		case <-ctx.Done():
			timer.Stop()
			return
		case <-timer.C:
		}
		began := time.Now()
		if !q.Check(ctx) {
			return
		}
		// Of a large tree, measuring takes a quarter of the time at the most.
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

var _ skill.Rememberer = (*watched)(nil)

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
	// Also when the call was cancelled: it is no way around the limit. But whoever wants
	// to stop does not wait long for a large tree.
	measuring, cancel := context.WithTimeout(context.WithoutCancel(ctx), interval)
	defer cancel()
	if ctx.Err() == nil {
		measuring = ctx
	}
	w.quota.Check(measuring)
	return result, err
}

// Memory and Recall hand through what the skill remembers, if it does.
func (w *watched) Memory() rawjson.Value {
	if r, ok := w.Skill.(skill.Rememberer); ok {
		return r.Memory()
	}
	return nil
}

func (w *watched) Recall(memory rawjson.Value) error {
	if r, ok := w.Skill.(skill.Rememberer); ok {
		return r.Recall(memory)
	}
	return nil
}
