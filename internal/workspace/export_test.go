package workspace

import (
	"context"
	"io"
	"io/fs"
)

// MaxJobs is one job less than a test needs.
const MaxJobs = maxJobs

// Trace makes w report its steps, folds, watches and syncs, and when a file got its name.
func (w *Workspace) Trace(report func(string)) { w.trace = report }

// Opened describes the file that is open.
func (f *File) Opened() fs.FileInfo { return f.info }

// SameFile reports whether two infos describe one file.
func SameFile(a, b fs.FileInfo) bool { return sameFile(a, b) }

// MaxChanges is how many tokens a tree has.
const MaxChanges = maxChanges

// Waiting returns how many tokens and paths are taken or waited for.
func (w *Workspace) Waiting() int {
	w.locks.mu.Lock()
	defer w.locks.mu.Unlock()
	return len(w.locks.paths) + len(w.locks.tree) + len(w.locks.whole)
}

// Claims returns how many calls have the lock of a path or wait for it.
func (w *Workspace) Claims(location string) int {
	w.locks.mu.Lock()
	defer w.locks.mu.Unlock()
	if t := w.locks.paths[location]; t != nil {
		return t.users
	}
	return 0
}

// ReadAll reads from what says to have size bytes.
func ReadAll(ctx context.Context, r io.Reader, size, limit int64) ([]byte, error) {
	return readAll(ctx, r, "file", size, limit)
}
