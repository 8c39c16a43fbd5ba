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

// A reader reads the complete records of a journal, even while it is written.
type reader struct {
	f     *os.File
	chain store.Chain
	end   int64 // of the last record that was read
	torn  int64 // bytes after it, when the end was reached

	// fleeting says that the line of a record is not used after the next call. Then all
	// lines share one buffer.
	fleeting bool

	buf     *bufio.Reader
	scratch []byte // of a fleeting line
}

// next returns the next record, or io.EOF after the last complete one. A record numbered up
// to after is checked, but its event is not decoded.
func (r *reader) next(after int64) (store.Record, error) {
	line, err := r.line()
	if err != nil {
		return store.Record{}, err
	}
	before := r.chain.Head.Seq
	rec, err := r.accept(line, after)
	if damaged(err) {
		// A writer that failed during a record cuts it off and writes another. A reader may
		// have read a part of each meanwhile. Real damage reads the same again.
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

// emptied returns an error for a journal without any record if the recorded head knows of some: it
// would look like a job that has not begun.
func (r *reader) emptied(dir *os.Root) error {
	if r.chain.Head.Seq > 0 {
		return nil
	}
	recorded, _ := readHead(dir) // an unreadable one knows of none
	if recorded.head.Seq == 0 {
		return nil
	}
	// A writer may have begun meanwhile, so the journal is read again.
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
