package file

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"math"
	"os"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/store"
)

// chunk is how much is read at a time.
const chunk = 128 << 10

// Read implements [store.Store].
func (s *Store) Read(ctx context.Context, jobID string, after int64) iter.Seq2[store.Record, error] {
	return func(yield func(store.Record, error) bool) {
		dir, r, err := s.reader(jobID)
		if err != nil {
			yield(store.Record{}, err)
			return
		}
		defer r.f.Close()
		defer dir.Close()
		r.all(ctx, dir, after, yield)
	}
}

// Follow implements [store.Follower]. An incomplete line is one that is being written.
func (s *Store) Follow(ctx context.Context, jobID string, wait func() error) iter.Seq2[store.Record, error] {
	return func(yield func(store.Record, error) bool) {
		dir, r, err := s.reader(jobID)
		if err != nil {
			yield(store.Record{}, err)
			return
		}
		defer r.f.Close()
		defer dir.Close()
		for {
			// The lock is checked before reading: a writer can add its last records in between.
			running, err := held(r.f)
			if err == nil && !r.all(ctx, dir, 0, yield) || err == nil && !running {
				return
			}
			if err == nil {
				err = wait()
			}
			if err != nil {
				yield(store.Record{}, fmt.Errorf("follow job %s: %w", jobID, err))
				return
			}
			r.rewind()
		}
	}
}

// reader opens the journal of a job for reading.
func (s *Store) reader(jobID string) (*os.Root, *reader, error) {
	dir, err := s.openJob(jobID)
	if err != nil {
		return nil, nil, err
	}
	f, err := openRegular(dir, journalName)
	if err != nil {
		err = noJournal(dir, jobID, err)
		return nil, nil, errors.Join(err, dir.Close())
	}
	return dir, &reader{f: f, chain: store.Chain{JobID: jobID}}, nil
}

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

// all yields the records after a number, up to the last complete one. It reports whether more can
// follow.
func (r *reader) all(ctx context.Context, dir *os.Root, after int64, yield func(store.Record, error) bool) bool {
	for {
		if err := ctx.Err(); err != nil {
			yield(store.Record{}, fmt.Errorf("read job %s: %w", r.chain.JobID, err))
			return false
		}
		rec, err := r.next(after)
		if errors.Is(err, io.EOF) {
			if err := r.emptied(dir); err != nil {
				yield(store.Record{}, err)
				return false
			}
			return true
		}
		if err == nil && rec.Seq <= after {
			continue
		}
		if damaged(err) {
			recorded, _ := readHead(dir) // without it, the error stays as it is
			err = r.explain(err, recorded)
		}
		if !yield(rec, err) || err != nil && !errors.Is(err, event.ErrUnknownType) {
			return false
		}
	}
}

// rewind goes back to the end of the last record, for the lines that were added since.
func (r *reader) rewind() {
	if r.buf != nil {
		r.buf.Reset(r.rest())
	}
}

func (r *reader) rest() io.Reader { return io.NewSectionReader(r.f, r.end, math.MaxInt64-r.end) }

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
		r.buf = bufio.NewReaderSize(r.rest(), chunk)
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
