package file

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/store"
)

// CheckSeals says whether a job looks as its writer left it, without reading all of it: it checks
// the seals of the recorded head and of the last record, and that the record before the head is
// the one that the head names. [store.VerifySeals] finds what was changed before that, and knows
// better about a job that moved to another project after its first record.
func (s *Store) CheckSeals(ctx context.Context, jobID string, sealer *store.Sealer) error {
	dir, err := s.openJob(jobID)
	if err != nil {
		return err
	}
	defer dir.Close()
	recorded := s.head(dir, jobID)
	f, err := openRegular(dir, journalName)
	if err != nil {
		return noJournal(dir, jobID, err)
	}
	defer f.Close()
	first := reader{f: f, chain: store.Chain{JobID: jobID}}
	if _, err := first.next(0); err != nil && !errors.Is(err, event.ErrUnknownType) {
		return err
	}
	r := first
	if recorded.head.Seq > 1 && recorded.length != anyLength {
		line, err := lineBefore(f, recorded.length)
		if err != nil {
			return first.chain.CheckEnd(recorded.head)
		}
		last, err := store.DecodeRecord(line)
		if err != nil && !errors.Is(err, event.ErrUnknownType) {
			return first.chain.Damage("the record that its head names cannot be read: %v", err)
		}
		r = reader{f: f, chain: store.ChainAt(jobID, first.chain.Project, last), end: recorded.length}
	}
	if err := r.chain.CheckHead(recorded.head); err != nil {
		return err
	}
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		_, err := r.next(0)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil && !errors.Is(err, event.ErrUnknownType) {
			return err
		}
	}
	return sealer.Adopt(r.chain.Project).Check(r.chain, &store.Recorded{Head: recorded.head, Seal: recorded.seal})
}

// lineBefore returns the line of a file that ends at an offset.
func lineBefore(f *os.File, end int64) ([]byte, error) {
	var line []byte
	for at := end - 1; ; { // before its newline
		from := max(at-chunk, 0)
		part := make([]byte, at-from)
		if _, err := f.ReadAt(part, from); err != nil {
			return nil, err
		}
		i := bytes.LastIndexByte(part, '\n')
		line = append(part[i+1:], line...)
		if at = from; i >= 0 || at == 0 {
			return line, nil
		}
		if len(line) > store.MaxLine {
			return nil, io.ErrUnexpectedEOF
		}
	}
}
