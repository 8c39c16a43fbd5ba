package file

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"math"
	"os"

	"github.com/perstack-go/perstack/store"
)

// chunk is how much is read at a time.
const chunk = 128 << 10

// A reader walks along the complete records of a journal, beside a writer or alone.
type reader struct {
	f     *os.File
	chain store.Chain
	end   int64 // of the last record that was read
	torn  int64 // bytes behind it, when the end was reached

	// fleeting says that nobody keeps a record's line beyond the next. Then all lines
	// may share one piece of memory.
	fleeting bool

	buf     *bufio.Reader
	scratch []byte // of a fleeting line
}

// next returns the record that follows, or io.EOF behind the last complete one. A
// record numbered up to after is checked, but its event is not decoded.
func (r *reader) next(after int64) (store.Record, error) {
	line, err := r.line()
	if err != nil {
		return store.Record{}, err
	}
	before := r.chain.Head.Seq
	rec, err := r.accept(line, after)
	if damage := (*store.DamageError)(nil); errors.As(err, &damage) {
		// A writer that failed in the middle of a record cuts it off and writes
		// another in its place. A reader that came in between holds half of each;
		// what is really damaged reads the same again.
		r.buf, line = nil, bytes.Clone(line)
		again, errAgain := r.line()
		if errAgain != nil {
			return store.Record{}, errAgain
		}
		if bytes.Equal(line, again) {
			return store.Record{}, err
		}
		line = again
		rec, err = r.accept(line, after)
	}
	if r.chain.Head.Seq > before {
		r.end += int64(len(line)) + 1
	}
	return rec, err
}

// emptied returns the damage of a journal that has no record at all where job.json knows
// of some: it would look like a job that nobody has begun.
func (r *reader) emptied(dir *os.Root) error {
	if r.chain.Head.Seq > 0 {
		return nil
	}
	recorded, _ := readSummary(dir, r.chain.JobID) // one that cannot be read knows of none
	if recorded.head.Seq == 0 {
		return nil
	}
	// A writer may have begun since the journal was looked at, so it is looked at again.
	r.buf = nil
	if _, err := r.line(); err == nil {
		return nil
	}
	return r.chain.CheckEnd(recorded.head)
}

func (r *reader) accept(line []byte, after int64) (store.Record, error) {
	if r.chain.Head.Seq < after {
		err := r.chain.Skip(line)
		return store.Record{Seq: r.chain.Head.Seq, Line: line}, err
	}
	return r.chain.Decode(line)
}

// line returns the bytes up to the next newline, or io.EOF if there is none.
func (r *reader) line() ([]byte, error) {
	if r.buf == nil {
		r.buf = bufio.NewReaderSize(io.NewSectionReader(r.f, r.end, math.MaxInt64-r.end), chunk)
	}
	line := r.scratch[:0]
	for {
		part, err := r.buf.ReadSlice('\n')
		line = append(line, part...)
		if r.fleeting {
			r.scratch = line
		}
		switch {
		case err == nil:
			return line[:len(line)-1], nil
		case errors.Is(err, io.EOF):
			r.torn = int64(len(line))
			return nil, io.EOF
		case !errors.Is(err, bufio.ErrBufferFull):
			return nil, err
		case len(line) > store.MaxLine:
			return nil, r.chain.Damage("it is longer than %d bytes, the limit of a record", store.MaxLine)
		}
	}
}
