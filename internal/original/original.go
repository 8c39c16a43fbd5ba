// Package original reads jobs that the original Perstack, the program in TypeScript, recorded, and
// makes journals of them:
//
//	<base>/jobs/<jobId>/
//	    job.json                            a summary
//	    checkpoints/<checkpointId>.json     the whole conversation after each step
//	    runs/<runId>/run-setting.json       the settings of a Run, with secrets
//	    runs/<runId>/event-<ms>-<step>-<type>.json
//
// The checkpoints say what happened. Events add the time, the usage and the skill of a call, and
// are not needed: several releases wrote none. The files come from elsewhere, so they are read as
// bounded regular files beneath the directory, decoded strictly, and their ids are checked.
// Known secrets are removed from every text.
//
// The package writes nothing: it hands the events of a job to a function. A journal that is made
// so says that it was imported. Start reading at [Open], then [Job.Events].
package original

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/perstack-go/perstack/internal/userfile"
	"github.com/perstack-go/perstack/store"
)

// Limits on what is read. They are far above what a job of the original has.
const (
	maxJobs    = 10_000
	maxEntries = 500_000  // of one directory: the original has a file for each fragment of a stream
	maxFile    = 64 << 20 // of a checkpoint or an event, which hold the conversation with its images
	maxSummary = 1 << 20  // of job.json and run-setting.json
	maxTotal   = 8 << 30  // that is read for one job: the files repeat the conversation at each step
)

const (
	jobsName        = "jobs"
	checkpointsName = "checkpoints"
	runsName        = "runs"
)

// ErrNone is returned for a directory without jobs of the original.
var ErrNone = errors.New("no jobs of the original Perstack")

// A History is a directory with jobs of the original.
type History struct {
	Dir  string // that contains the directory "jobs"
	root *os.Root
}

// Open opens the directory of a history, or that of the project which it lies in.
func Open(dir string) (*History, error) {
	for _, base := range []string{dir, filepath.Join(dir, "perstack")} {
		if info, err := os.Stat(filepath.Join(base, jobsName)); err != nil || !info.IsDir() {
			continue
		}
		root, err := os.OpenRoot(base)
		if err != nil {
			return nil, err
		}
		return &History{base, root}, nil
	}
	if info, err := os.Stat(dir); err != nil || !info.IsDir() {
		return nil, fmt.Errorf("%s is not a directory", dir)
	}
	return nil, fmt.Errorf("%s: %w; it has no directory %s", dir, ErrNone, jobsName)
}

// Close releases the directory.
func (h *History) Close() error { return h.root.Close() }

// Jobs returns the jobs of the original, by id, and what is wrong with entries that could be one.
// Jobs of this program that lie in the same directory are left out.
func (h *History) Jobs() (jobs []*Job, problems []error) {
	names, err := list(h.root, jobsName, maxJobs)
	if err != nil {
		return nil, []error{err}
	}
	for _, name := range names {
		if strings.HasPrefix(name, ".") {
			continue
		}
		found, refused := isOriginal(h.root, path.Join(jobsName, name))
		if !found && refused == nil {
			continue
		}
		if err := store.CheckID(name); err != nil {
			problems = append(problems, fmt.Errorf("job %q: %w", name, err))
			continue
		}
		if refused != nil {
			problems = append(problems, fmt.Errorf("job %s: %w", name, refused))
			continue
		}
		jobs = append(jobs, &Job{ID: name, root: h.root, dir: path.Join(jobsName, name), left: maxTotal})
	}
	if len(jobs) == 0 && len(problems) == 0 {
		problems = append(problems, fmt.Errorf("%s: %w", h.Dir, ErrNone))
	}
	return jobs, problems
}

// isOriginal reports whether a directory is a job of the original: it has checkpoints or Runs,
// and no journal. The error is about a link or a directory that could be one and is not read.
func isOriginal(root *os.Root, dir string) (bool, error) {
	if _, err := root.Lstat(path.Join(dir, "journal.jsonl")); err == nil {
		return false, nil
	}
	if info, err := root.Lstat(dir); err == nil && info.Mode().IsRegular() {
		return false, nil
	}
	if err := isDirectory(root, dir); err != nil {
		return false, err
	}
	var refused error
	for _, name := range []string{checkpointsName, runsName} {
		err := isDirectory(root, path.Join(dir, name))
		if err == nil {
			return true, nil
		}
		if !errors.Is(err, fs.ErrNotExist) {
			refused = cmp.Or(refused, err)
		}
	}
	return false, refused
}

// isDirectory returns an error unless there is a directory, to which no link leads.
func isDirectory(root *os.Root, dir string) error {
	info, err := root.Lstat(dir)
	switch {
	case err != nil:
		return fmt.Errorf("%s: %w", dir, userfile.Reason(err))
	case info.Mode()&fs.ModeSymlink != 0:
		return fmt.Errorf("%s is a link, which is not followed; put a copy of the directory in its place", dir)
	case !info.IsDir():
		return fmt.Errorf("%s is not a directory", dir)
	}
	return nil
}

// list returns the names in a directory, sorted; none if it does not exist.
func list(root *os.Root, dir string, limit int) ([]string, error) {
	switch err := isDirectory(root, dir); {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err != nil:
		return nil, err
	}
	f, err := root.Open(dir)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var names []string
	for len(names) <= limit {
		some, err := f.Readdirnames(1000)
		names = append(names, some...)
		if err != nil && !errors.Is(err, io.EOF) {
			return nil, err
		}
		if len(some) == 0 || err != nil {
			slices.Sort(names)
			return names, nil
		}
	}
	return nil, fmt.Errorf("%s has more than %d entries", dir, limit)
}

// read reads a file of the job, as long as the job has not been read too much of.
func (j *Job) read(name string, limit int64) ([]byte, error) {
	if j.left <= 0 {
		return nil, fmt.Errorf("%s: the job has more than %d GiB", name, int64(maxTotal)>>30)
	}
	data, err := userfile.ReadIn(j.root, path.Join(j.dir, name), min(limit, j.left))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	j.left -= int64(len(data))
	return data, nil
}

// modified returns when a file was written, in milliseconds.
func (j *Job) modified(name string) int64 {
	info, err := j.root.Lstat(path.Join(j.dir, name))
	if err != nil {
		return 0
	}
	return max(info.ModTime().UnixMilli(), 0)
}

// sortCheckpoints sorts by time. Files that were copied can all have one time; then steps decide.
func sortCheckpoints(all []*checkpoint) {
	slices.SortStableFunc(all, func(a, b *checkpoint) int {
		return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.StepNumber, b.StepNumber), cmp.Compare(a.ID, b.ID))
	})
}
