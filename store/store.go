// Package store keeps the history: an append-only journal for each job.
//
// A journal grows by one [Record] at a time, each chained to the one before by a digest, and
// is never rewritten. The state of a run, a checkpoint and the summary of a job are folded
// from it by other packages; a store does not interpret records.
//
// Back ends: store/file has a file for each job, store/memory has nothing on disk. Both pass
// store/storetest. They share the line format and the chain of this package: [EncodeRecord],
// [DecodeRecord], [Chain]. [Verify] checks a whole journal, [FindJob] finds one job. Start
// reading at [Store].
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
	// Open returns the journal of a job for writing, and creates it if it does not exist. A
	// job has one writer at a time: a second Open returns [ErrLocked]. An invalid id returns
	// [ErrBadID]. A damaged journal returns a [*DamageError] and is not changed. What a power
	// cut left after the last committed record is repaired instead.
	Open(ctx context.Context, jobID string) (Journal, error)
	// Read yields the records of a job with a number greater than after, in order, up to the
	// last complete one. An unknown job yields [ErrNotFound], a broken chain a [*DamageError],
	// a journal of another format a [*VersionError]; each of them ends the sequence. A record
	// of an unknown event type is yielded without its event, with an error that wraps
	// [event.ErrUnknownType]; a caller that needs no events can continue.
	Read(ctx context.Context, jobID string, after int64) iter.Seq2[Record, error]
	// Jobs lists the jobs that have records, newest first. For a job that cannot be read it
	// yields the id and an error, and continues.
	Jobs(ctx context.Context) iter.Seq2[JobInfo, error]
}

// A Journal is a job opened by its only writer. It is safe for concurrent use: records have
// the order in which Append was called, and one Commit serves all waiting callers.
//
// A local back end completes an operation even if the context is cancelled: the end of an
// interrupted run must be recorded.
//
// A Journal can have a method Head() [Head] that returns the address of its last record. Then a
// job can be resumed with a history that was folded before Open, without reading it again.
type Journal interface {
	// Append writes an event after all others and returns its record, which survives the
	// death of the process. An event whose record could not be read again is refused. On a
	// full disk it returns [ErrFull], except for a terminal event, for which some space is
	// reserved. A failed Append does not change the journal.
	Append(ctx context.Context, e event.Event) (Record, error)
	// Commit makes everything appended so far survive a power cut.
	Commit(ctx context.Context) error
	// Close commits and releases the job's lock. It can be called more than once; later calls
	// of other methods return [ErrClosed].
	Close() error
}

// A Record is one line of a journal.
type Record struct {
	Seq   int64 // counts from 1 without gaps
	Prev  Digest
	Event event.Event
	Line  []byte // the record as it is stored, without the newline; not to be changed

	Project string // if it is the first one that the project sealed
	Seal    string // "" if it is not sealed
}

// A Recorded is the address of the last committed record, as a [HeadKeeper] has it. The zero
// Recorded stands for none.
type Recorded struct {
	Head Head
	Seal string // by [Sealer.SealHead]
}

// A Digest is the SHA-256 of a record's line. The zero Digest comes before the first record.
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
