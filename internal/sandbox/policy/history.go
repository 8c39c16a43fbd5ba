package policy

import (
	"os"
	"path/filepath"

	"github.com/perstack-go/perstack/internal/userfile"
)

// maxOldJobs bounds how many entries are looked at to recognise a history.
const maxOldJobs = 1000

// IsOldHistory reports whether a directory is a history that an older version kept in the
// workspace. Another directory of that name is not meant.
func IsOldHistory(dir string) bool {
	return hasDir(dir, "jobs") && HasJob(dir, "journal.jsonl", "job.json", "checkpoints", "runs")
}

// HasJob reports whether a history has a job with an entry of one of the names. What cannot be
// read counts as one, so that it is hidden.
func HasJob(history string, names ...string) bool {
	jobs := filepath.Join(history, "jobs")
	ids, err := userfile.Names(jobs, maxOldJobs)
	if err != nil {
		return true
	}
	for _, id := range ids {
		for _, name := range names {
			if _, err := os.Lstat(filepath.Join(jobs, id, name)); err == nil {
				return true
			}
		}
	}
	return false
}
