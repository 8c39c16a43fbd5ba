package egress

import (
	"context"
	"errors"
	"sync"
	"time"
)

// reportTimeout is how long one line may take. A reader that hangs longer counts as ended.
const reportTimeout = 30 * time.Second

var errUnreported = errors.New("decisions cannot be reported: the lines are not read")

// A reporter passes lines to a function, one at a time, in the order of the decisions. If
// a line cannot be reported, the proxy stops: no connection is made without a record.
type reporter struct {
	lines chan reported
	ended chan struct{} // closed when no more lines are reported
	fail  context.CancelCauseFunc

	once   sync.Once
	broken chan struct{} // closed when a line could not be reported
}

type reported struct {
	line Line
	done chan error
}

func newReporter(report func(Line) error, fail context.CancelCauseFunc) *reporter {
	r := &reporter{lines: make(chan reported), ended: make(chan struct{}), broken: make(chan struct{}), fail: fail}
	go func() {
		defer close(r.ended)
		for next := range r.lines {
			next.done <- report(next.line)
		}
	}()
	return r
}

// report returns when the line was reported. It also works while the proxy ends: the last
// lines say what the connections carried.
func (r *reporter) report(line Line) error {
	limit := time.NewTimer(reportTimeout)
	defer limit.Stop()
	next := reported{line, make(chan error, 1)}
	err := errUnreported
	select {
	case r.lines <- next:
		select {
		case err = <-next.done:
		case <-limit.C:
		case <-r.broken:
		}
	case <-limit.C:
	case <-r.broken:
	}
	if err != nil {
		r.fail(err)
		r.once.Do(func() { close(r.broken) })
	}
	return err
}

// close waits for the function, unless it hangs. report must not be called after it.
func (r *reporter) close() {
	close(r.lines)
	select {
	case <-r.ended:
	case <-r.broken:
	}
}
