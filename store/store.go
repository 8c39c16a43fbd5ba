// Package store says where history lives: an append-only journal for each job.
//
// A journal is the truth about a job. It grows by one [Record] at a time, each chained
// to the one before by a digest, and is never rewritten. Everything else (the state
// of a run, a checkpoint, the summary of a job) is folded from it by others; the
// store knows records, not what they mean.
//
// Back ends: store/file keeps a file a job, store/memory keeps nothing on disk. Both
// pass store/storetest. They share the line format and the chain, which stand in
// this package: [EncodeRecord], [DecodeRecord], [Chain]. [Verify] checks a whole
// journal, [FindJob] looks up one job. Start reading at [Store].
package store

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"iter"

	"github.com/perstack-go/perstack/event"
)

// A Store holds the journals of many jobs. Readers never wait for a writer. It is
// safe for concurrent use.
type Store interface {
	// Open returns the journal of a job for writing, and creates it when it does not
	// exist. A job has one writer at a time: a second Open gives [ErrLocked]. An id
	// that cannot name a job gives [ErrBadID], and a journal that is not what was
	// written a [*DamageError]; it is left as it is. What a power cut may leave behind
	// the last record that was promised to survive it is repaired instead.
	Open(ctx context.Context, jobID string) (Journal, error)
	// Read yields the records of a job with a number greater than after, in order, up
	// to the last one that is complete. An unknown job gives [ErrNotFound], a broken
	// chain a [*DamageError], a journal of another format a [*VersionError], and each
	// of them ends the sequence. A record whose event type this version does not know
	// is yielded without its event and with an error that wraps
	// [event.ErrUnknownType]; a caller that needs no events may go on.
	Read(ctx context.Context, jobID string, after int64) iter.Seq2[Record, error]
	// Jobs lists the jobs that have records, newest first. A job that cannot be read
	// yields its id and an error, and the listing goes on.
	Jobs(ctx context.Context) iter.Seq2[JobInfo, error]
}

// A Journal is a job opened by its only writer. It is safe for concurrent use, so
// that the Runs of a job may share it: records have the order in which Append was
// called, and one Commit serves all who wait for it.
//
// A local back end finishes what it began even if the context is cancelled: the end
// of a run that was interrupted must still be recorded.
//
// A Journal can have a method Head() [Head] that returns the address of its last record. Then a
// job can be resumed with a history that was folded before Open, without reading it again.
type Journal interface {
	// Append writes an event behind all others and returns its record. What was
	// appended survives the death of the process. An event whose record could not be
	// read again is refused. On a full disk it gives [ErrFull], except for a terminal
	// event, for which some room is kept. A failed Append leaves the journal as it was.
	Append(ctx context.Context, e event.Event) (Record, error)
	// Commit makes everything appended so far survive a power cut.
	Commit(ctx context.Context) error
	// Close commits and gives the job free. It may be called more than once; what
	// comes after it gives [ErrClosed].
	Close() error
}

// A Record is one line of a journal.
type Record struct {
	Seq   int64 // counts from 1 without gaps
	Prev  Digest
	Event event.Event
	Line  []byte // the record as it is stored, without the newline; not to be changed
}

// A Digest is the SHA-256 of a record's line. The zero Digest stands before the first record.
type Digest [sha256.Size]byte

func (d Digest) String() string { return hex.EncodeToString(d[:]) }

// MarshalText writes d as 64 hexadecimal digits.
func (d Digest) MarshalText() ([]byte, error) { return hex.AppendEncode(nil, d[:]), nil }

// UnmarshalText reads what [Digest.MarshalText] wrote, and no other spelling of it.
func (d *Digest) UnmarshalText(text []byte) error {
	var v Digest
	if len(text) == 2*len(v) {
		if _, err := hex.Decode(v[:], text); err == nil && v.String() == string(text) {
			*d = v
			return nil
		}
	}
	return errors.New("a digest has 64 hexadecimal digits in lower case")
}

// Digest returns the digest of the record, which the next one carries as Prev.
func (r Record) Digest() Digest { return sha256.Sum256(r.Line) }

// JobInfo is a line of the list of jobs.
type JobInfo struct {
	event.Job
	Interrupted bool // recorded as running, but its process is gone
}

// CurrentStatus is the status as a reader should see it.
func (i JobInfo) CurrentStatus() event.JobStatus {
	if i.Interrupted {
		return event.JobInterrupted
	}
	return i.Status
}
