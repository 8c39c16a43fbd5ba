// Package replay is a model that plays prepared answers. It needs no key and no
// network: demos and tests run on it.
//
// The answers are in a cassette, a TOML file that people write by hand; its format
// is described in docs/cassettes.md. Which answer a request gets depends on the
// request and the cassette alone. A [Model] counts nothing, so a run that was killed
// finds its place again in another process, and two runs get the same answers.
//
// Start reading at [Parse] and [Model.Generate].
package replay

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"iter"
	"slices"
	"time"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/internal/providers/replay/turns"
	"github.com/perstack-go/perstack/model"
)

// A Model plays a cassette. It has no state of its own and may be used from several
// goroutines.
type Model struct {
	cassette *Cassette
}

var _ model.Model = (*Model)(nil)

// New returns a model that plays c.
func New(c *Cassette) *Model { return &Model{c} }

func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}

// Generate plays the answer that the cassette has for req: its reasoning and text
// word by word, then the whole.
func (m *Model) Generate(ctx context.Context, req *model.Request) iter.Seq2[model.Chunk, error] {
	return func(yield func(model.Chunk, error) bool) {
		t, err := m.cassette.find(req)
		if err == nil && t.delay > 0 {
			err = sleep(ctx, t.delay)
		}
		if err != nil {
			yield(model.Chunk{}, err)
			return
		}
		for chunk := range t.chunks() {
			if err := ctx.Err(); err != nil {
				yield(model.Chunk{}, err)
				return
			}
			if !yield(chunk, nil) {
				return
			}
		}
		switch err := ctx.Err(); {
		case err != nil:
			yield(model.Chunk{}, err)
		case t.failure != nil:
			failure := *t.failure // a copy: the caller may keep it
			failure.Usage, _ = t.used(req)
			yield(model.Chunk{}, &failure)
		default:
			yield(model.Chunk{Answer: t.answer(req)}, nil)
		}
	}
}

// chunks returns what is streamed before the answer or the error. A turn with an
// error has only what comes before it, so there is nothing to leave out.
func (t *turn) chunks() iter.Seq[model.Chunk] {
	return func(yield func(model.Chunk) bool) {
		for _, p := range t.parts {
			for word := range turns.Words(p.Thinking) {
				if !yield(model.Chunk{Reasoning: word}) {
					return
				}
			}
			for word := range turns.Words(p.Text) {
				if !yield(model.Chunk{Text: word}) {
					return
				}
			}
		}
	}
}

// used is the usage of the turn within the limit of the request, and whether it would
// have been more: a provider stops there, and counts no further.
func (t *turn) used(req *model.Request) (used event.Usage, cut bool) {
	used = t.usage
	if req.MaxTokens <= 0 || used.OutputTokens <= req.MaxTokens {
		return used, false
	}
	used.OutputTokens = req.MaxTokens
	used.ReasoningTokens = min(used.ReasoningTokens, used.OutputTokens)
	used.TotalTokens = used.InputTokens + used.OutputTokens
	return used, true
}

func (t *turn) answer(req *model.Request) *model.Answer {
	used, cut := t.used(req)
	a := &model.Answer{Parts: slices.Clone(t.parts), Usage: used, Finish: t.finish}
	if cut {
		a.Finish = model.FinishLength
	}
	calls := 0
	for i := range a.Parts {
		if p := &a.Parts[i]; p.Type == event.ToolCallPart {
			calls++
			p.ToolCallID = cmp.Or(p.ToolCallID, fmt.Sprintf("call_%d_%d", req.Turn+1, calls))
			p.Args = bytes.Clone(p.Args)
		}
	}
	return a
}
