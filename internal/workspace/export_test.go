package workspace

import "io/fs"

// MaxJobs is one job less than a test needs.
const MaxJobs = maxJobs

// Trace makes w report its steps, folds, watches and syncs, and when a file got its name.
func (w *Workspace) Trace(report func(string)) { w.trace = report }

// Opened describes the file that is open.
func (f *File) Opened() fs.FileInfo { return f.info }

// SameFile reports whether two infos describe one file.
func SameFile(a, b fs.FileInfo) bool { return sameFile(a, b) }
