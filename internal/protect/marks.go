package protect

import (
	"context"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/perstack-go/perstack/internal/state"
	"github.com/perstack-go/perstack/internal/userfile"
)

// A ChangeKind says what happened to a file while a job ran.
type ChangeKind string

// What a job can have done.
const (
	Appeared   ChangeKind = "appeared"
	Changed    ChangeKind = "changed"
	Removed    ChangeKind = "removed"
	Unsearched ChangeKind = "unsearched" // a directory in which files can have appeared or changed
)

// A Mark is on a file that must not be read.
type Mark struct {
	Path   string     `json:"path"` // absolute
	Change ChangeKind `json:"change"`
	Before File       `json:"before,omitzero"`
	Now    File       `json:"now,omitzero"` // when the job ended
	// File and Dir are the file and the directory that it was in then. A file that is moved, or
	// whose directory is moved, takes the mark with it. Zero if they do not tell it from a file of
	// the user's own.
	File node `json:"file,omitzero"`
	Dir  node `json:"dir,omitzero"`
	// Undone is when the path was found as it was before, in milliseconds since 1970. From then on
	// the file is refused only where it was moved.
	Undone int64 `json:"undone,omitzero"`
}

// A GitChange is about something that git uses.
type GitChange struct {
	Path string
	New  bool
}

// gitChanges returns what is new or not the same. Of a new repository, the configuration is not
// named as well.
func gitChanges(before, after map[string]File) (all []GitChange) {
	for _, path := range sortedKeys(after) {
		old, known := before[path]
		if known && same(old, after[path]) {
			continue
		}
		if _, whole := before[filepath.Dir(path)]; !known && !whole && filepath.Base(path) != ".git" {
			if _, repository := after[filepath.Dir(path)]; repository {
				continue
			}
		}
		all = append(all, GitChange{path, !known})
	}
	return all
}

// Marks are those that the jobs of all projects of the user have left, and what jobs that still
// run have changed so far.
type Marks struct {
	// Reports are about jobs whose perstack was killed: their records have just been closed.
	Reports []Report

	records  map[string]*record // by the path of its file
	problems []*ProblemError
}

// A ProblemError is about a record that cannot be read or closed. What lies in its workspace must
// not be read.
type ProblemError struct {
	Record    string // path of its file
	Job       string // empty if the record cannot be read, as is Workspace
	Workspace string
	Err       error
}

func (e *ProblemError) Error() string {
	if e.Job == "" {
		return fmt.Sprintf("the trust record %s cannot be read: %v", e.Record, e.Err)
	}
	return fmt.Sprintf("perstack cannot tell whether job %s changed files in %s that later runs read: %v", e.Job, e.Workspace, e.Err)
}

func (e *ProblemError) Unwrap() error { return e.Err }

// Open reads the records of all projects. It closes those of killed jobs, and takes back
// marks on paths that are as they were before the job.
func Open(ctx context.Context, dir state.Dir, now func() time.Time) (*Marks, error) {
	states, err := dir.States()
	if err != nil {
		return nil, err
	}
	m := &Marks{records: make(map[string]*record)}
	for _, at := range states {
		files, err := recordFiles(at)
		if err != nil {
			return nil, err
		}
		for _, file := range files {
			m.read(ctx, file, now)
		}
	}
	return m, m.undo(now)
}

// Peek reads the records that can be read, and changes nothing.
func Peek(dir state.Dir) *Marks {
	m := &Marks{records: make(map[string]*record)}
	states, _ := dir.States()
	for _, at := range states {
		files, _ := recordFiles(at)
		for _, file := range files {
			if one, err := readRecord(file); err == nil {
				m.records[file] = one
			}
		}
	}
	return m
}

// recordFiles returns the paths of the records in the state of a project.
func recordFiles(state string) ([]string, error) {
	dir := filepath.Join(state, dirName)
	if absent(dir) {
		return nil, nil // as almost always
	}
	names, err := userfile.Names(dir, maxJobs)
	if err != nil && !userfile.Absent(err) {
		return nil, fmt.Errorf("read the trust records: %w", err)
	}
	var files []string
	for _, name := range names {
		if strings.HasSuffix(name, suffix) {
			files = append(files, filepath.Join(dir, name))
		}
	}
	return files, nil
}

// read reads a record, and closes it if its job was killed.
func (m *Marks) read(ctx context.Context, path string, now func() time.Time) {
	one, err := readRecord(path)
	switch {
	case userfile.Absent(err): // it was closed meanwhile
		return
	case err != nil:
		m.problems = append(m.problems, &ProblemError{Record: path, Err: err})
		return
	}
	m.records[path] = one
	if !one.dead() || one.gone() {
		return
	}
	report, err := one.close(ctx, path, now())
	if err != nil {
		m.problems = append(m.problems, &ProblemError{Record: path, Job: one.Job, Workspace: one.Workspace, Err: err})
		return
	}
	one.Closed, one.Marks = now().UnixMilli(), report.Marks
	m.Reports = append(m.Reports, report)
}

// keepUndone is how long a mark is kept after its path was found as it was before.
const keepUndone = 30 * 24 * time.Hour

// undo notes which marked paths are as they were before. While a job runs it notes none: the job
// could take a file away and bring it back. In a workspace that was moved it notes none either:
// the files are elsewhere.
func (m *Marks) undo(now func() time.Time) error {
	if len(m.problems) > 0 {
		return nil
	}
	for _, one := range m.records {
		if one.Closed == 0 && !one.gone() {
			return nil
		}
	}
	for path, one := range m.records {
		if one.Closed == 0 || one.gone() {
			continue
		}
		changed := false
		for i, mark := range one.Marks {
			if mark.Undone != 0 || mark.Change == Unsearched {
				continue
			}
			f := look(mark.Path, false, mark.Before)
			if !same(mark.Before, f) {
				continue
			}
			// What was not moved has no mark any more.
			if f.node().same(mark.File) {
				mark.File = node{}
			}
			if parent(mark.Path).same(mark.Dir) {
				mark.Dir = node{}
			}
			mark.Undone, changed = now().UnixMilli(), true
			one.Marks[i] = mark
		}
		marks := len(one.Marks)
		one.Marks = slices.DeleteFunc(one.Marks, func(mark Mark) bool {
			return mark.Undone != 0 && (mark.File == node{} && mark.Dir == node{} || now().Sub(time.UnixMilli(mark.Undone)) > keepUndone)
		})
		if !changed && len(one.Marks) == marks {
			continue
		}
		if err := one.save(path); err != nil {
			return err
		}
	}
	return nil
}

// All returns the marks of all jobs that ended, and the jobs.
func (m *Marks) All() (all []Refusal) {
	for _, file := range slices.Sorted(maps.Keys(m.records)) {
		one := m.records[file]
		for _, mark := range one.Marks {
			if mark.Undone == 0 {
				r := one.refusal(mark.Path, mark.Path, mark)
				r.Now = look(mark.Path, false, mark.Now)
				all = append(all, r)
			}
		}
	}
	return all
}

// Problems returns the records that cannot be read or closed.
func (m *Marks) Problems() []*ProblemError { return m.problems }
