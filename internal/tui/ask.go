package tui

import (
	"context"

	"github.com/perstack-go/perstack/event"
)

// An ask is something that a job asks the user, and waits for.
type ask struct {
	request event.Request // a question of an Expert, or an approval
	confirm string        // a question before the job starts; the request is empty then
	reply   chan reply
}

type reply struct {
	answer event.Answer
	yes    bool // to confirm
}

// An asker asks the user by means of the screen. It implements [Asker].
type asker struct{ feed *feed }

func (a asker) Ask(ctx context.Context, request event.Request) (event.Answer, error) {
	r, err := a.ask(ctx, &ask{request: request})
	return r.answer, err
}

func (a asker) Confirm(ctx context.Context, question string) (bool, error) {
	r, err := a.ask(ctx, &ask{confirm: question})
	return r.yes, err
}

func (a asker) Tell(notice string) { a.feed.put(item{notice: notice}) }

func (a asker) ask(ctx context.Context, q *ask) (reply, error) {
	q.reply = make(chan reply, 1)
	a.feed.put(item{ask: q})
	select {
	case r := <-q.reply:
		return r, nil
	case <-ctx.Done(): // the job stops, or the answer came from elsewhere
		a.feed.put(item{settled: q})
		return reply{}, context.Cause(ctx)
	}
}
