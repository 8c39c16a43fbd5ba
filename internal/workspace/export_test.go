package workspace

// MaxJobs is one job less than a test needs.
const MaxJobs = maxJobs

// Trace makes w report its steps, folds, watches, syncs and renames.
func (w *Workspace) Trace(report func(string)) { w.trace = report }
