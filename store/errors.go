package store

import (
	"errors"
	"fmt"
)

// Errors of a store, to be matched with errors.Is.
var (
	ErrNotFound = errors.New("no such job")
	ErrLocked   = errors.New("job is being written by another process")
	ErrFull     = errors.New("no space left for the journal")
	ErrBadID    = errors.New("invalid id")
	ErrClosed   = errors.New("journal is closed")
)

// NotFound returns the error for a job that a store does not have.
func NotFound(jobID string) error { return fmt.Errorf("%w: %s", ErrNotFound, jobID) }

// A DamageError says that a journal is not what was written.
type DamageError struct {
	JobID  string
	Seq    int64 // the first bad record
	Reason string
	// Torn says that only records which were never committed are lost. Opening the job for
	// writing sets them aside.
	Torn bool
}

func (e *DamageError) Error() string {
	return fmt.Sprintf("journal of job %s is damaged at record %d: %s", e.JobID, e.Seq, e.Reason)
}

// A LostError says that another program removed, replaced or truncated a journal while it was
// written.
type LostError struct {
	JobID   string
	Path    string // of the journal
	How     string // "removed", "replaced", "truncated" or "extended"
	Records int64  // that were written
	Safe    int64  // the last record that is still there
}

func (e *LostError) Error() string {
	safe := fmt.Sprintf("none of its %d records is saved there", e.Records)
	switch {
	case e.Safe == e.Records && e.How == "replaced":
		safe = fmt.Sprintf("the file there is a copy of its %d records", e.Records)
	case e.Safe == e.Records:
		safe = fmt.Sprintf("its %d records are saved there, before what that program added", e.Records)
	case e.Safe > 0:
		safe = fmt.Sprintf("of its %d records only the first %d are saved there", e.Records, e.Safe)
	}
	return fmt.Sprintf("the journal of job %s was %s by another program while it was written (%s): %s", e.JobID, e.How, e.Path, safe)
}

// A VersionError says that a journal has another format than this version of perstack
// writes and reads.
type VersionError struct {
	JobID   string
	Version int
	// Original says that the original Perstack, the program in TypeScript, recorded the job. It
	// wrote no journal.
	Original bool
}

func (e *VersionError) Error() string {
	if e.Original {
		return fmt.Sprintf("job %s was recorded by the original Perstack (TypeScript), in files that have to be imported first", e.JobID)
	}
	if e.Version < Version {
		return fmt.Sprintf("job %s was recorded by an older, unreleased version of perstack and cannot be read; start a new job", e.JobID)
	}
	return fmt.Sprintf("job %s was recorded by a newer version of perstack (journal version %d, this one reads %d); use that version", e.JobID, e.Version, Version)
}

// A LockedError names the writer of a job. It matches [ErrLocked].
type LockedError struct {
	JobID string
	// Holder describes the writer, "another process (pid 123)" for instance.
	Holder string
}

func (e *LockedError) Error() string {
	return fmt.Sprintf("job %s is being written by %s: wait for it or stop it", e.JobID, e.Holder)
}

func (e *LockedError) Unwrap() error { return ErrLocked }
