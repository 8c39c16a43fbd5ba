package wire

import (
	"errors"
	"iter"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/model"
)

// A Tell hands out a piece of an answer. It returns [ErrUnheard] when nobody wants more.
type Tell func(model.Chunk) error

// ErrUnheard ends a call whose caller has stopped listening. It is not a failure.
var ErrUnheard = errors.New("nobody listens")

// Generate makes one call into the sequence that [model.Model] promises: pieces, then the
// whole answer or an error. Empty pieces are not told.
func Generate(call func(Tell) (*model.Answer, error)) iter.Seq2[model.Chunk, error] {
	return func(yield func(model.Chunk, error) bool) {
		tell := func(c model.Chunk) error {
			if c != (model.Chunk{}) && !yield(c, nil) {
				return ErrUnheard
			}
			return nil
		}
		answer, err := call(tell)
		switch {
		case errors.Is(err, ErrUnheard):
		case err != nil:
			yield(model.Chunk{}, err)
		default:
			yield(model.Chunk{Answer: answer}, nil)
		}
	}
}

// Paid adds to an error what was counted before it: the input at least is billed, from
// the first event on.
func Paid(err error, used event.Usage) error {
	if err == nil || errors.Is(err, ErrUnheard) || used.TotalTokens == 0 {
		return err
	}
	return model.WithUsage(err, used)
}
