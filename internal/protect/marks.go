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
	"github.com/perstack-go/perstack/internal/workspace"
)

// What happened to a file while a job ran.
type What string

// What a job can have done.
const (
	Appeared   What = "appeared"
	Changed    What = "changed"
	Removed    What = "removed"
	Unsearched What = "unsearched" // a directory in which files can have appeared or changed
)

// A Mark is on a file that must not be read.
type Mark struct {
	Path   string `json:"path"` // absolute
	What   What   `json:"what"`
	Before File   `json:"before,omitzero"`
	Now    File   `json:"now,omitzero"` // when the job ended
	// Undone is when the path was found as it was before, in milliseconds since 1970. Only the
	// very file that the job left is refused from then on, wherever it was moved.
	Undone int64 `json:"undone,omitzero"`
}

// A Change is about something that git uses.
type Change struct {
	Path string
	New  bool
}

// changes returns what is new or not the same. Of a new repository, the configuration is not
// named as well.
func changes(before, after map[string]File) (all []Change) {
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
		all = append(all, Change{path, !known})
	}
	return all
}

// A Refusal says why a file must not be read.
type Refusal struct {
	Path string // as it was asked for
	Mark Mark
	Job  string
	When time.Time // the job ended; zero if it still runs
}

// Records are those of all projects of the user.
type Records struct {
	// Reports are about jobs whose perstack was killed: their records have just been closed.
	Reports []Report

	all      map[string]*record // by the path of its file
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
		return fmt.Sprintf("the record of trusted files %s cannot be read: %v", e.Record, e.Err)
	}
	return fmt.Sprintf("whether job %s changed trusted files in %s is not known: %v", e.Job, e.Workspace, e.Err)
}

func (e *ProblemError) Unwrap() error { return e.Err }

// Open reads the records of all projects. It closes those of killed jobs, and takes back
// marks on paths that are as they were before the job.
func Open(ctx context.Context, dir state.Dir, now func() time.Time) (*Records, error) {
	states, err := dir.States()
	if err != nil {
		return nil, err
	}
	r := &Records{all: make(map[string]*record)}
	for _, at := range states {
		if absent(filepath.Join(at, dirName)) {
			continue // as almost always
		}
		names, err := userfile.Names(filepath.Join(at, dirName), maxJobs)
		if err != nil && !userfile.Absent(err) {
			return nil, fmt.Errorf("read the records of trusted files: %w", err)
		}
		for _, name := range names {
			if strings.HasSuffix(name, suffix) {
				r.read(ctx, filepath.Join(at, dirName, name), now)
			}
		}
	}
	return r, r.undo(now)
}

// read reads a record, and closes it if its job was killed.
func (r *Records) read(ctx context.Context, path string, now func() time.Time) {
	one, err := readRecord(path)
	switch {
	case userfile.Absent(err): // it was closed meanwhile
		return
	case err != nil:
		r.problems = append(r.problems, &ProblemError{Record: path, Err: err})
		return
	}
	r.all[path] = one
	if !one.dead() {
		return
	}
	report, err := one.close(ctx, path, now())
	if err != nil {
		r.problems = append(r.problems, &ProblemError{Record: path, Job: one.Job, Workspace: one.Workspace, Err: err})
		return
	}
	one.Closed, one.Marks = now().UnixMilli(), report.Marks
	r.Reports = append(r.Reports, report)
}

// keepUndone is how long a mark is kept after its path was found as it was before.
const keepUndone = 30 * 24 * time.Hour

// undo notes which marked paths are as they were before. While a job runs it notes none: the job
// could take a file away and bring it back.
func (r *Records) undo(now func() time.Time) error {
	if len(r.problems) > 0 {
		return nil
	}
	for _, one := range r.all {
		if one.Closed == 0 {
			return nil
		}
	}
	for path, one := range r.all {
		changed := false
		for i, m := range one.Marks {
			if m.Undone == 0 && m.What != Unsearched && same(m.Before, look(m.Path, false, m.Before)) {
				one.Marks[i].Undone, changed = now().UnixMilli(), true
			}
		}
		marks := len(one.Marks)
		one.Marks = slices.DeleteFunc(one.Marks, func(m Mark) bool {
			return m.Undone != 0 && (m.Now.Sum == "" || now().Sub(time.UnixMilli(m.Undone)) > keepUndone)
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

// Refused returns why a file must not be read; nothing if it can be. The error is a
// [ProblemError] if that is not known. The file need not exist.
func (r *Records) Refused(path string) ([]Refusal, error) {
	if r == nil || len(r.all)+len(r.problems) == 0 {
		return nil, nil
	}
	all := names(path)
	for _, p := range r.problems {
		if p.Workspace == "" || slices.ContainsFunc(all, func(name string) bool { _, in := userfile.Below(p.Workspace, name); return in }) {
			return nil, p
		}
	}
	var refused []Refusal
	for _, file := range slices.Sorted(maps.Keys(r.all)) {
		one := r.all[file]
		if m, ok := one.markOn(all); ok {
			f := Refusal{Path: path, Mark: m, Job: one.Job}
			if one.Closed != 0 {
				f.When = time.UnixMilli(one.Closed)
			}
			refused = append(refused, f)
		}
	}
	return refused, nil
}

// markOn returns the mark on a file that has these names.
func (r *record) markOn(names []string) (Mark, bool) {
	if r.Closed == 0 {
		return r.compare(names)
	}
	for _, m := range r.Marks {
		if slices.Contains(names, m.Path) && m.Undone == 0 {
			return m, true
		}
		if m.What == Unsearched && slices.ContainsFunc(names, func(name string) bool { _, in := userfile.Below(m.Path, name); return in }) {
			return m, true
		}
		// A directory that was moved takes its marks with it.
		if s := m.Now.Stat; m.Now.Kind == Regular && s.Inode != 0 && m.Now.Sum != "" {
			now := look(names[0], true, m.Now)
			if now.Stat.Inode == s.Inode && now.Stat.Device == s.Device && now.Sum == m.Now.Sum {
				return m, true
			}
		}
	}
	return Mark{}, false
}

// compare is markOn for a job that runs: the file is compared with the record.
func (r *record) compare(names []string) (Mark, bool) {
	for _, name := range names {
		_, known := r.Before.Files[name]
		_, inside := userfile.Below(r.Workspace, name)
		if !known && !(inside && workspace.IsTrusted(filepath.Base(name))) {
			continue
		}
		before := r.Before.Files[name]
		if m, ok := r.judge(name, look(name, false, before)); ok {
			return m, true
		}
	}
	return Mark{}, false
}

// All returns the marks of all jobs that ended, and the jobs.
func (r *Records) All() (all []Refusal) {
	for _, file := range slices.Sorted(maps.Keys(r.all)) {
		one := r.all[file]
		for _, m := range one.Marks {
			if m.Undone != 0 {
				continue
			}
			all = append(all, Refusal{Path: m.Path, Mark: m, Job: one.Job, When: time.UnixMilli(one.Closed)})
		}
	}
	return all
}

// Problems returns the records that cannot be read or closed.
func (r *Records) Problems() []*ProblemError { return r.problems }

// Accept removes the marks on a file as it is now. A job that still runs can change it again,
// which marks it again. A directory that could not be searched is accepted as a whole, under its
// own path.
func (r *Records) Accept(path string) error {
	if r == nil {
		return nil
	}
	all := names(path)
	for file, one := range r.all {
		if one.Closed == 0 {
			if err := one.accept(file, all); err != nil {
				return err
			}
			continue
		}
		before := len(one.Marks)
		for {
			m, ok := one.markOn(all)
			if !ok || m.What == Unsearched && !slices.Contains(all, m.Path) {
				break
			}
			one.Marks = slices.DeleteFunc(one.Marks, func(o Mark) bool { return o.Path == m.Path })
		}
		if len(one.Marks) == before {
			continue
		}
		if err := one.save(file); err != nil {
			return err
		}
	}
	return nil
}

// accept notes in the record of a job that runs which content the user has accepted.
func (r *record) accept(file string, names []string) error {
	changed := false
	for {
		m, ok := r.compare(names)
		if !ok {
			break
		}
		if r.Accepted == nil {
			r.Accepted = make(map[string]File)
		}
		r.Accepted[m.Path], changed = m.Now, true
		if again, ok := r.compare(names); ok && again.Path == m.Path {
			return fmt.Errorf("%s changes while it is accepted; wait until job %s has ended", m.Path, r.Job)
		}
	}
	if !changed {
		return nil
	}
	return r.save(file)
}
