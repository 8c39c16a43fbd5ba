package engine

import (
	"cmp"
	"context"
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
	waiting []report
	lines   int            // of stderr in waiting
	notes   int            // of tools in waiting
	dropped map[string]int // lines of stderr, by skill
	closed  bool

	ready chan struct{} // receives a value when there is something to take; of capacity 1
}

// A report is what a skill reports. If recorded is not nil, the report has to be recorded, and
// recorded gets the error of that.
type report struct {
	body     event.Body
	recorded chan error // of capacity 1
}

func (q *reportQueue) add(body event.Body) { q.put(report{body: body}) }

// record returns when an event was recorded, or when the Run has to stop: then it may not be.
func (q *reportQueue) record(life context.Context, body event.Body) error {
	recorded := make(chan error, 1)
	q.put(report{body, recorded})
	select {
	case err := <-recorded:
		return err
	case <-life.Done():
		return errStopped
	}
}

func (q *reportQueue) put(one report) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed { // the Run has ended
		one.end(errStopped)
		return
	}
	body := one.body
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
	q.waiting = append(q.waiting, one)
	select {
	case q.ready <- struct{}{}:
	default: // a signal is pending already
	}
}

// take empties the queue. For each skill with dropped lines it adds one line that says how
// many.
func (q *reportQueue) take() []report {
	q.mu.Lock()
	defer q.mu.Unlock()
	all := q.waiting
	for _, name := range slices.Sorted(maps.Keys(q.dropped)) {
		all = append(all, report{body: event.SkillStderr{SkillName: name, Message: fmt.Sprintf("(%d more lines came faster than they could be shown)", q.dropped[name])}})
	}
	q.waiting, q.lines, q.notes, q.dropped = nil, 0, 0, nil
	return all
}

func (q *reportQueue) close() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.closed = true
	for _, one := range q.waiting {
		one.end(errStopped)
	}
}

func (one report) end(err error) {
	if one.recorded != nil {
		one.recorded <- err
	}
}

// publishReports publishes what skills have reported, and notes which are connected. What is kept
// is recorded as well.
func (r *run) publishReports() {
	for _, one := range r.reports.take() {
		if one.recorded != nil {
			one.end(r.recordReport(one.body))
			continue
		}
		body := one.body
		if b, ok := body.(event.SkillConnected); ok && !slices.Contains(r.connected, b.SkillName) {
			r.connected = append(r.connected, b.SkillName)
		}
		e := r.newEvent(body)
		switch {
		case !e.IsKept() || r.keptReports == maxKeptReports:
			r.recorder.publish(e)
			continue
		case r.state.phase == notStarted: // recordEarly records it
			r.recorder.publish(e)
			r.early = append(r.early, e)
		default:
			_, err := r.recorder.record(e, recordAndPublish)
			r.reportErr = cmp.Or(r.reportErr, err)
		}
		if r.keptReports++; r.keptReports == maxKeptReports {
			r.parts.Log.Warn("the skills of a run report too much: further decisions of the proxy are shown, but not recorded", "run", r.runID)
		}
	}
}

// recordReport records what has to be. It comes too late when the Run has stopped.
func (r *run) recordReport(body event.Body) error {
	if r.state.phase == notStarted || r.state.phase == stopped {
		return errStopped
	}
	state, err := r.recorder.record(r.newEvent(body), recordAndPublish)
	if err == nil {
		r.state = state
	}
	r.reportErr = cmp.Or(r.reportErr, err)
	return err
}

// maxKeptReports is how many reports of one Run are recorded: a program that connects again and
// again must not fill the disk.
const maxKeptReports = 10_000

// recordEarly records the reports that were published before the first record of the Run.
func (r *run) recordEarly() error {
	for len(r.early) > 0 {
		if _, err := r.recorder.record(r.early[0], recordOnly); err != nil {
			return err
		}
		r.early = r.early[1:]
	}
	return nil
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
