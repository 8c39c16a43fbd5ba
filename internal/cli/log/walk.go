package log

import (
	"context"
	"errors"

	"github.com/perstack-go/perstack/engine"
	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/store"
)

// window returns which of the selected events are shown, counted from 0.
func (o *Options) window(total int) (from, to int) {
	to = max(total-o.Offset, 0)
	if o.Take > 0 {
		from = max(to-o.Take, 0)
	}
	return from, to
}

// walk takes the second look: it hands over each selected event that is in the window,
// in its full form, as it stands in the journal, and with the results that it brings.
func (v *survey) walk(ctx context.Context, opts *Options, s store.Store, jobID string, show func(full, lean event.Event, brought []event.ToolResult) error) error {
	from, to := opts.window(v.total)
	history, results := engine.NewHistory(), newResults(opts)
	index := 0
	for r, err := range s.Read(ctx, jobID, 0) {
		if r.Seq > v.last {
			break // the job has grown since
		}
		if errors.Is(err, event.ErrUnknownType) {
			continue
		}
		if err != nil {
			return err
		}
		e := history.Expand(r)
		if brought := results.of(r.Event); opts.selects(r.Event, brought) {
			if index >= from && index < to {
				if err := show(e, r.Event, brought); err != nil {
					return err
				}
			}
			index++
		}
		if r.Seq == v.last {
			break
		}
	}
	return nil
}
