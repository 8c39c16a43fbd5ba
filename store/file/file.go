// Package file keeps journals as files, one directory a job:
//
//	<storage>/.gitignore               "*"; in jobs, if the directory holds other things too
//	<storage>/deleted.jsonl            the jobs that were deleted, one a line
//	<storage>/jobs/<jobId>/
//	    journal.jsonl                  the records, one a line; the truth
//	    head                           the last committed record, to notice a journal that was cut back
//	    job.json                       a summary; a cache
//	    lock                           the process that is writing, while there is one
//	    journal.torn-1                 an incomplete end after a power cut
//
// The journal is only appended to, each record by one write at its end. A process that
// dies during a write leaves a line without a newline, which readers ignore and the next
// writer cuts off. A line that is complete and wrong is damage: it is reported and never
// changed, unless a power cut caused it (torn.go). docs/journal.md describes the files for
// people who read them with other tools.
//
// Directories are 0700 and files 0600 whatever the umask. Names are resolved beneath the
// storage directory by [os.Root]. Symbolic links, pipes and devices in place of our files
// and directories are refused. Nothing is created before the first [Store.Open].
//
// Start reading at [Store.Open], then the writer in journal.go.
package file

import (
	"context"
	"fmt"
	"log/slog"
	"path/filepath"

	"github.com/perstack-go/perstack/store"
)

// A Store keeps journals beneath one directory. Several Stores, in several processes,
// may share a directory.
type Store struct {
	dir       string
	allowLink bool
	log       *slog.Logger
	disk      disk
	sealer    *store.Sealer
}

// Options change how a [Store] works.
type Options struct {
	// Logger gets repairs and summaries that could not be written; nil for none.
	Logger *slog.Logger
	// AllowLink lets the storage directory itself be a symbolic link. That is right when the
	// user named it. A link in the default location may have come with a repository, and
	// would send conversations to a directory that its author chose.
	AllowLink bool
	// Disk intercepts all operations that change the disk. It is for tests; nil for none. No
	// flag, variable or configuration file sets it.
	Disk Disk
}

var (
	_ store.Store      = (*Store)(nil)
	_ store.HeadKeeper = (*Store)(nil)
	_ store.JobFinder  = (*Store)(nil)
	_ store.Follower   = (*Store)(nil)
	_ store.Sealing    = (*Store)(nil)
)

// New returns the store in dir. It creates nothing. A nil opts stands for the defaults.
func New(dir string, opts *Options) *Store {
	s := &Store{dir: dir, log: slog.New(slog.DiscardHandler)}
	if abs, err := filepath.Abs(dir); err == nil {
		s.dir = abs // independent of the working directory
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

// WithSeal implements [store.Sealing].
func (s *Store) WithSeal(sealer *store.Sealer) store.Store {
	sealed := *s
	sealed.sealer = sealer
	return &sealed
}

// Open implements [store.Store]. It reads the whole journal once, to check it and to fold
// the summary from it.
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
	j := &journal{id: jobID, path: filepath.Join(s.dir, jobsName, jobID, journalName), dir: dir, parents: parents, log: s.log.With("job", jobID), disk: s.disk, sealer: s.sealer}
	if err := j.open(ctx); err != nil {
		_ = j.abandon() // the first error says what is wrong
		return nil, err
	}
	return j, nil
}
