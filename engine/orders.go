package engine

import (
	"errors"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/store"
)

// An order is an event that is handed in.
type order struct {
	event event.Event
	kind  orderKind
	done  chan *filed // nil when nobody waits for it
}

type orderKind int

const (
	keeping orderKind = iota // record it, and tell it
	earlier                  // record it; it belongs to an earlier stretch, so it is not told
	showing                  // tell it; it is not recorded
)

// filed is what became of an order.
type filed struct {
	record store.Record
	state  State // of the event's Run, after it
	err    error
}

// errLeft is what an order gets when nobody serves any more.
var errLeft = errors.New("the job was given up")

// record hands in an event that is kept, and returns the state of its Run after it.
func (d *desk) record(e event.Event, kind orderKind) (State, error) {
	o := order{event: e, kind: kind, done: make(chan *filed, 1)}
	if !d.hand(o) {
		return State{}, errLeft
	}
	select {
	case f := <-o.done:
		return f.state, f.err
	case <-d.left:
		return State{}, errLeft
	}
}

// publish hands in an event that is not kept. Nobody waits for that.
func (d *desk) publish(e event.Event) { d.hand(order{event: e, kind: showing}) }

func (d *desk) hand(o order) bool {
	select {
	case d.orders <- o:
		return true
	case <-d.left:
		return false
	}
}
