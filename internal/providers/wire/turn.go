package wire

import (
	"context"
	"errors"
	"io"
	"iter"
	"net/http"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/model"
)

// A Turn reads one answer of a wire.
type Turn interface {
	Read(stream *Stream, tell Tell) error // up to the last event
	Usage() event.Usage                   // counted so far
	Answer() (*model.Answer, error)       // after Read
}

// A Tell passes on a piece of an answer. It returns [ErrUnheard] if the caller has stopped.
type Tell func(model.Chunk) error

// ErrUnheard ends a call whose caller has stopped listening. It is not a failure.
var ErrUnheard = errors.New("the caller has stopped listening")

// Ask sends a request and reads its answer.
func (c *Client) Ask(ctx context.Context, path string, header http.Header, body [][]byte, turn Turn, tell Tell) (*model.Answer, error) {
	stream, err := c.Post(ctx, path, header, body...)
	if err != nil {
		return nil, err
	}
	defer stream.Close()
	if err := turn.Read(stream, tell); err != nil {
		return nil, Paid(err, turn.Usage())
	}
	stream.Finish()
	answer, err := turn.Answer()
	return answer, Paid(err, turn.Usage())
}

// Paid adds the usage that was counted to an error: the input, at least, is billed from the
// first event on.
func Paid(err error, used event.Usage) error {
	if err == nil || errors.Is(err, ErrUnheard) || used.TotalTokens == 0 {
		return err
	}
	return model.WithUsage(err, used)
}

// Collect gives what next returns to take, until take reports the last one. An end before
// that is an error, and so is a draft that has more than any model writes.
func Collect[E any](c *Client, d *Draft, next func() (E, error), take func(E) (last bool, err error)) error {
	for {
		e, err := next()
		switch {
		case errors.Is(err, io.EOF):
			return c.Incomplete()
		case err != nil:
			return err
		}
		last, err := take(e)
		if err == nil {
			err = d.Check(c)
		}
		if last || err != nil {
			return err
		}
	}
}

// Generate turns one call into the sequence that [model.Model] promises: pieces, then the
// whole answer or an error. Empty pieces are left out.
func Generate(call func(Tell) (*model.Answer, error)) iter.Seq2[model.Chunk, error] {
	return func(yield func(model.Chunk, error) bool) {
		answer, err := call(func(c model.Chunk) error {
			if c != (model.Chunk{}) && !yield(c, nil) {
				return ErrUnheard
			}
			return nil
		})
		switch {
		case errors.Is(err, ErrUnheard):
		case err != nil:
			yield(model.Chunk{}, err)
		default:
			yield(model.Chunk{Answer: answer}, nil)
		}
	}
}

// A Count is a number of tokens as an API gives it, kept within reason so that no sum of
// them overflows. null is taken for absent: it leaves what an earlier event said.
type Count int

// UnmarshalJSONFrom reads a number or null.
func (c *Count) UnmarshalJSONFrom(dec *jsontext.Decoder) error {
	if dec.PeekKind() == 'n' {
		return dec.SkipValue()
	}
	var n int64
	if err := json.UnmarshalDecode(dec, &n); err != nil {
		return err
	}
	*c = Count(min(max(n, 0), 1<<30))
	return nil
}

// Usage is what an answer used. Input includes what was read from a cache, output what was
// thought: a part is never more than the whole, whatever a service says.
func Usage(input, cached, output, thought Count) event.Usage {
	return event.Usage{
		InputTokens:       int(input),
		CachedInputTokens: int(min(cached, input)),
		OutputTokens:      int(output),
		ReasoningTokens:   int(min(thought, output)),
		TotalTokens:       int(input + output),
	}
}
