package tui

import (
	"cmp"
	"context"
	"iter"
	"sync"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/perstack-go/perstack/event"
)

// A feed brings the events of a job, and what the job asks, to Update. Whatever comes within a thirtieth
// of a second is one message: the library draws the screen after each.
type feed struct {
	ctx     context.Context // of the job
	mu      sync.Mutex
	items   []item
	jobID   string // of the first event
	ended   bool
	err     error
	waiting chan struct{} // has a value if there is something to take
	space   chan struct{} // has a value if items were taken
	done    chan struct{} // closed when the job has ended
	paced   bool
}

// An item is one thing that a job says.
type item struct {
	event   event.Event // has no body if the item is another thing
	ask     *ask        // the job asks
	settled *ask        // the answer is not wanted any more
	notice  string      // that the job tells
}

// A batch is what came of a feed since the last one.
type batch struct {
	from  *feed
	items []item
	ended bool
	err   error
}

const (
	batchEvery = time.Second / 30
	// maxItems is how many items wait at most; then the job waits. Events of a long job are read
	// faster than they can be taken in.
	maxItems = 2000
)

func newFeed(ctx context.Context) *feed {
	return &feed{ctx: ctx, waiting: make(chan struct{}, 1), space: make(chan struct{}, 1), done: make(chan struct{})}
}

func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// put adds an item. It waits while there are too many, unless the job is to stop: then nothing takes the
// items of a conversation that was left.
func (f *feed) put(i item) {
	f.mu.Lock()
	f.items = append(f.items, i)
	f.jobID = cmp.Or(f.jobID, i.event.JobID)
	full := len(f.items) >= maxItems
	f.mu.Unlock()
	signal(f.waiting)
	if full && i.event.Body != nil {
		select {
		case <-f.space:
		case <-f.ctx.Done():
		}
	}
}

// pump adds events until there are no more. The job has ended then.
func (f *feed) pump(events iter.Seq2[event.Event, error]) {
	defer close(f.done)
	var failed error
	for e, err := range events {
		if err != nil {
			failed = err
			break
		}
		f.put(item{event: e})
	}
	f.mu.Lock()
	f.ended, f.err = true, failed
	f.mu.Unlock()
	signal(f.waiting)
}

// next waits for items. It is a command, and after each batch the next one is due.
func (f *feed) next(ctx context.Context) tea.Cmd {
	pause := f.paced
	f.paced = true
	return func() tea.Msg {
		if pause {
			select {
			case <-time.After(batchEvery):
			case <-ctx.Done():
			}
		}
		select {
		case <-f.waiting:
		case <-ctx.Done(): // the program ends
			return nil
		}
		return f.takeAll()
	}
}

func (f *feed) takeAll() batch {
	f.mu.Lock()
	defer f.mu.Unlock()
	b := batch{from: f, items: f.items, ended: f.ended, err: f.err}
	f.items = nil
	signal(f.space)
	return b
}

// await drops what comes until the job has ended, so that the job never waits for the screen. It
// returns the id of the job, if an event came; the screen need not have seen it.
func (f *feed) await(most time.Duration) (jobID string) {
	end := time.After(most)
	for ended := false; !ended; {
		select {
		case <-f.waiting:
		case <-f.done:
			ended = true
		case <-end:
			ended = true
		}
		f.takeAll()
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.jobID
}
