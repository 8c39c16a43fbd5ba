package egress

import (
	"context"
	"errors"
	"sync"
	"time"
)

// reportTimeout is how long one line may take. Whoever reads the lines and hangs is as
// good as gone.
const reportTimeout = 30 * time.Second

var errUnreported = errors.New("decisions cannot be reported: nobody takes the lines")

// A reporter hands lines to a function, one at a time, in the order of the decisions. A
// line that cannot be handed over stops the proxy: what nobody learns of must not happen.
type reporter struct {
	lines chan reported
	ended chan struct{} // nothing is handed over any more
	fail  context.CancelCauseFunc

	once   sync.Once
	broken chan struct{} // a line could not be handed over
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

// report returns when the line is handed over. It goes on when the proxy is told to end:
// the last lines say what the connections carried.
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

// close waits for the function, unless it hangs. Nobody may report any more.
func (r *reporter) close() {
	close(r.lines)
	select {
	case <-r.ended:
	case <-r.broken:
	}
}
