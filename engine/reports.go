package engine

import (
	"fmt"
	"maps"
	"runtime/debug"
	"slices"
	"sync"

	"github.com/perstack-go/perstack/event"
)

// maxLines is how many lines of stderr may wait to be published. A skill can write
// faster than anybody reads; what comes on top is counted and dropped.
const maxLines = 1000

// reports are what skills have to say, from any goroutine, until the loop publishes it:
// whoever listens is told by one goroutine only. The zero value is ready.
type reports struct {
	mu      sync.Mutex
	waiting []event.Body
	lines   int
	dropped map[string]int // lines, by skill
	wake    chan struct{}
	closed  bool
}

// news returns a channel that has something in it when there is something to take.
func (q *reports) news() chan struct{} {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.wake == nil {
		q.wake = make(chan struct{}, 1)
	}
	return q.wake
}

func (q *reports) add(body event.Body) {
	wake := q.news()
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed {
		return // nobody reads it any more
	}
	if line, ok := body.(event.SkillStderr); ok {
		if q.lines >= maxLines {
			if q.dropped == nil {
				q.dropped = make(map[string]int)
			}
			q.dropped[line.SkillName]++
			return
		}
		q.lines++
	}
	q.waiting = append(q.waiting, body)
	select {
	case wake <- struct{}{}:
	default: // it is awake already
	}
}

// take empties the queue. What was dropped is told behind it, in one line a skill.
func (q *reports) take() []event.Body {
	q.mu.Lock()
	defer q.mu.Unlock()
	all := q.waiting
	for _, name := range slices.Sorted(maps.Keys(q.dropped)) {
		all = append(all, event.SkillStderr{SkillName: name, Message: fmt.Sprintf("(%d more lines came faster than they could be shown)", q.dropped[name])})
	}
	q.waiting, q.lines, q.dropped = nil, 0, nil
	return all
}

func (q *reports) close() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.closed = true
}

// tell publishes what skills reported, and remembers which are there.
func (r *run) tell() {
	for _, body := range r.reports.take() {
		if b, ok := body.(event.SkillConnected); ok && !slices.Contains(r.connected, b.SkillName) {
			r.connected = append(r.connected, b.SkillName)
		}
		r.show(body)
	}
}

// beside runs work on another goroutine and publishes what skills report meanwhile. It
// returns when work is done and all that was reported until then is published.
func (r *run) beside(work func() error) error {
	done := make(chan error, 1)
	go func() {
		defer func() {
			if p := recover(); p != nil {
				r.Log.Error("panic in a skill", "value", p, "stack", string(debug.Stack()))
				done <- fmt.Errorf("a skill failed inside: %v; please report it", p)
			}
		}()
		done <- work()
	}()
	for {
		select {
		case <-r.reports.news():
			r.tell()
		case err := <-done:
			r.tell()
			return err
		}
	}
}
