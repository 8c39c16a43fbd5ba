package wire

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/model"
)

// Resolved is the conversation of one wire, with what users gave by its address in the
// place of the address. Each message is resolved once, however often it is sent, and is
// then the same message: [Encoded] knows it again. The zero value leaves all as it is.
type Resolved struct {
	// Fetch downloads, as [Fetcher.Fetch] does; nil if nothing is fetched: the wire says that
	// it was left out.
	Fetch func(ctx context.Context, address string) (Medium, error)

	// Takes reports whether the provider fetches a part itself. It may be nil: it fetches
	// none.
	Takes func(*event.Part) bool

	messages Encoded[*resolution]
	most     int // tests: instead of maxFetched
}

// maxFetched is what the downloads of one message may have, in base64.
const maxFetched = 40 << 20

// Messages returns the conversation as it can be sent. What cannot be had is replaced by a
// line that says so; the error is the context's own.
//
// Only the user's messages are looked at. An address in what a tool returned is not the
// user's wish: a tool without a network would reach out by it.
func (r *Resolved) Messages(ctx context.Context, messages []*event.Message) ([]*event.Message, error) {
	if r.Fetch == nil {
		return messages, nil
	}
	all := messages
	for i, m := range messages {
		if m.Type != event.UserMessage || !slices.ContainsFunc(m.Contents, r.isLinked) {
			continue
		}
		resolved, err := r.resolve(ctx, m)
		if err != nil {
			return nil, err
		}
		if &all[0] == &messages[0] {
			all = slices.Clone(messages) // the caller's is not ours to change
		}
		all[i] = resolved
	}
	return all, nil
}

// Request is a request with its conversation as it can be sent; see [Resolved.Messages].
func (r *Resolved) Request(ctx context.Context, req *model.Request) (*model.Request, error) {
	messages, err := r.Messages(ctx, req.Messages)
	if err != nil {
		return nil, err
	}
	resolved := *req
	resolved.Messages = messages
	return &resolved, nil
}

// isLinked reports whether a part is to be fetched. One that holds its own bytes is not,
// nor is one whose address is none: MediaOf says why.
func (r *Resolved) isLinked(p event.Part) bool {
	if p.Type != event.ImageURLPart && p.Type != event.FileURLPart || strings.HasPrefix(p.URL, "data:") || r.Takes != nil && r.Takes(&p) {
		return false
	}
	m, err := MediaOf(&p)
	return err == nil && m.URL != ""
}

// A resolution is a message with its downloads. It is made by one Run at a time.
type resolution struct {
	busy    chan struct{}
	message *event.Message // nil until it is complete
}

func (r *Resolved) resolve(ctx context.Context, m *event.Message) (*event.Message, error) {
	got := r.messages.Get(m, false, func(*event.Message, bool) *resolution { return &resolution{busy: make(chan struct{}, 1)} })
	select {
	case got.busy <- struct{}{}:
		defer func() { <-got.busy }()
	case <-ctx.Done():
		return nil, ended(ctx)
	}
	if got.message != nil {
		return got.message, nil
	}
	resolved := *m
	resolved.Contents = slices.Clone(m.Contents)
	left := cmp.Or(r.most, maxFetched)
	for i := range resolved.Contents {
		if p := &resolved.Contents[i]; r.isLinked(*p) {
			*p = r.fetch(ctx, *p, &left)
		}
		if ctx.Err() != nil {
			return nil, ended(ctx) // half of it is not kept: the next attempt may have more time
		}
	}
	// A failure is kept: a dead server would cost its time with every request, and the
	// start of a conversation must stay the same for a provider's cache.
	got.message = &resolved
	return got.message, nil
}

// failureCost is what a download that failed takes from what a message may have: it took
// time, and perhaps as many bytes before it was too large.
const failureCost = 10 << 20

// fetch returns a part in the place of an address.
func (r *Resolved) fetch(ctx context.Context, p event.Part, left *int) event.Part {
	if *left <= 0 {
		return event.Part{ID: p.ID, Type: event.TextPart, Text: LeftOut(p.MIMEType, "the message has too much to download")}
	}
	m, err := r.Fetch(ctx, p.URL)
	if err == nil && p.Type == event.ImageURLPart && !m.IsImage() {
		err = errors.New("its address holds no image")
	}
	if err != nil {
		*left -= failureCost
		return event.Part{ID: p.ID, Type: event.TextPart, Text: LeftOut(p.MIMEType, err.Error())}
	}
	*left -= len(m.Data)
	kind := event.FileInlinePart
	if p.Type == event.ImageURLPart {
		kind = event.ImageInlinePart
	}
	return event.Part{ID: p.ID, Type: kind, MIMEType: m.Type, EncodedData: m.Data}
}

func ended(ctx context.Context) error {
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return ctx.Err()
	}
	return context.Cause(ctx)
}
