package engine

import (
	"fmt"
	"maps"
	"runtime/debug"
	"slices"
	"sync"

	"github.com/perstack-go/perstack/event"
)

// maxStderrLines is how many lines of stderr can wait to be published. A skill can write
// faster than the listener reads; further lines are counted and dropped.
const maxStderrLines = 1000

// maxNotes is how many notes of running tools can wait to be published. Further ones are lost.
const maxNotes = 64

// A reportQueue holds what skills and tools report, from any goroutine, until the Run's own
// goroutine publishes it.
type reportQueue struct {
	mu      sync.Mutex
	waiting []event.Body
	lines   int            // of stderr in waiting
	notes   int            // of tools in waiting
	dropped map[string]int // lines of stderr, by skill
	closed  bool

	ready chan struct{} // receives a value when there is something to take; of capacity 1
}

func (q *reportQueue) add(body event.Body) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed {
		return // the Run has ended
	}
	switch b := body.(type) {
	case event.SkillStderr:
		if q.lines >= maxStderrLines {
			if q.dropped == nil {
				q.dropped = make(map[string]int)
			}
			q.dropped[b.SkillName]++
			return
		}
		q.lines++
	case event.ToolProgress:
		if q.notes >= maxNotes {
			return
		}
		q.notes++
	}
	q.waiting = append(q.waiting, body)
	select {
	case q.ready <- struct{}{}:
	default: // a signal is pending already
	}
}

// take empties the queue. For each skill with dropped lines it adds one line that says how
// many.
func (q *reportQueue) take() []event.Body {
	q.mu.Lock()
	defer q.mu.Unlock()
	all := q.waiting
	for _, name := range slices.Sorted(maps.Keys(q.dropped)) {
		all = append(all, event.SkillStderr{SkillName: name, Message: fmt.Sprintf("(%d more lines came faster than they could be shown)", q.dropped[name])})
	}
	q.waiting, q.lines, q.notes, q.dropped = nil, 0, 0, nil
	return all
}

func (q *reportQueue) close() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.closed = true
}

// publishReports publishes what skills have reported, and notes which are connected.
func (r *run) publishReports() {
	for _, body := range r.reports.take() {
		if b, ok := body.(event.SkillConnected); ok && !slices.Contains(r.connected, b.SkillName) {
			r.connected = append(r.connected, b.SkillName)
		}
		r.publish(body)
	}
}

// publishDuring runs work on another goroutine and publishes reports until work is done and
// its reports are published.
func (r *run) publishDuring(work func() error) error {
	done := make(chan error, 1)
	go func() {
		defer func() {
			if p := recover(); p != nil {
				r.parts.Log.Error("panic in a skill", "value", p, "stack", string(debug.Stack()))
				done <- fmt.Errorf("internal error in a skill: %v; please report it", p)
			}
		}()
		done <- work()
	}()
	for {
		select {
		case <-r.reports.ready:
			r.publishReports()
		case err := <-done:
			r.publishReports()
			return err
		}
	}
}
