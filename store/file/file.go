// Package file keeps journals as files, one directory a job:
//
//	<storage>/.gitignore               "*"; in jobs, if the directory holds other things too
//	<storage>/jobs/<jobId>/
//	    journal.jsonl                  the records, one a line; the truth
//	    job.json                       a summary and the head; a cache
//	    lock                           who is writing, while someone is
//	    journal.torn-1                 what a power cut tore, if one did
//
// The journal is only ever appended to, each record by one write at its end. A
// process that dies in the middle leaves a line without a newline, which readers
// ignore and the next writer cuts off. A line that is complete and wrong is damage: it
// is reported and never touched, unless it is the work of a power cut (torn.go).
// docs/journal.md describes the files for people who read them with other tools.
//
// Directories are 0700 and files 0600 whatever the umask. Names are resolved beneath
// the storage directory by [os.Root], and symbolic links, pipes and devices in the
// place of our files and directories are refused. Nothing is created before the first [Store.Open].
//
// Start reading at [Store.Open], then the writer in journal.go.
package file

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"log/slog"
	"path/filepath"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/store"
)

// A Store keeps journals beneath one directory. Several Stores, in several processes,
// may share a directory.
type Store struct {
	dir       string
	allowLink bool
	log       *slog.Logger
	disk      disk
}

// Options change how a [Store] works.
type Options struct {
	// Logger is told about repairs and about summaries that could not be written.
	// Without it, nobody is.
	Logger *slog.Logger
	// AllowLink lets the storage directory itself be a symbolic link. That is right
	// when the user named it. A link in the usual place may have come with a
	// repository, and would lead conversations into a directory of its author's choice.
	AllowLink bool
	// Disk is asked about everything that is done to the disk. It is for tests; nil is
	// the disk itself. No flag, variable or configuration file leads here.
	Disk Disk
}

var (
	_ store.Store      = (*Store)(nil)
	_ store.HeadKeeper = (*Store)(nil)
	_ store.JobFinder  = (*Store)(nil)
)

// New returns the store in dir. It creates nothing. A nil opts stands for the defaults.
func New(dir string, opts *Options) *Store {
	s := &Store{dir: dir, log: slog.New(slog.DiscardHandler)}
	if abs, err := filepath.Abs(dir); err == nil {
		s.dir = abs // the storage stays where it is if the process changes its directory
	}
	if opts == nil {
		return s
	}
	s.allowLink = opts.AllowLink
	s.disk = disk{opts.Disk}
	if opts.Logger != nil {
		s.log = opts.Logger
	}
	return s
}

// Open implements [store.Store]. It reads the whole journal once, to know that what
// it continues is sound and to fold the summary from it.
func (s *Store) Open(ctx context.Context, jobID string) (store.Journal, error) {
	if err := store.CheckID(jobID); err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("open job %s: %w", jobID, err)
	}
	dir, parents, err := s.makeJob(jobID)
	if err != nil {
		return nil, fmt.Errorf("open job %s: %w", jobID, orFull(err, s.hasRecords(jobID)))
	}
	j := &journal{id: jobID, dir: dir, parents: parents, log: s.log.With("job", jobID), disk: s.disk}
	if err := j.open(ctx); err != nil {
		_ = j.abandon() // the first error says what is wrong
		return nil, err
	}
	return j, nil
}

// Read implements [store.Store].
func (s *Store) Read(ctx context.Context, jobID string, after int64) iter.Seq2[store.Record, error] {
	return func(yield func(store.Record, error) bool) {
		if err := store.CheckID(jobID); err != nil {
			yield(store.Record{}, err)
			return
		}
		dir, err := s.openJob(jobID)
		if err != nil {
			yield(store.Record{}, err)
			return
		}
		defer dir.Close()
		f, err := openRegular(dir, journalName)
		if err != nil {
			yield(store.Record{}, noJournal(dir, jobID, err))
			return
		}
		defer f.Close()
		r := reader{f: f, chain: store.Chain{JobID: jobID}}
		for {
			if err := ctx.Err(); err != nil {
				yield(store.Record{}, fmt.Errorf("read job %s: %w", jobID, err))
				return
			}
			rec, err := r.next(after)
			if errors.Is(err, io.EOF) {
				if err := r.emptied(dir); err != nil {
					yield(store.Record{}, err)
				}
				return
			}
			if err == nil && rec.Seq <= after {
				continue
			}
			if damage := (*store.DamageError)(nil); errors.As(err, &damage) {
				recorded, _ := readSummary(dir, jobID) // one that cannot be read explains nothing
				err = r.explain(err, recorded)
			}
			if !yield(rec, err) || err != nil && !errors.Is(err, event.ErrUnknownType) {
				return
			}
		}
	}
}
