package protect

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/perstack-go/perstack/internal/terminal"
	"github.com/perstack-go/perstack/internal/userfile"
	"github.com/perstack-go/perstack/internal/workspace"
)

// A Check is the answer to whether a file can be read, at one moment.
type Check struct {
	Path     string    // as it was asked for
	Refusals []Refusal // why it must not be read; none if it can be

	target *target // nil if no record exists, so that nothing was looked at
}

// A Refusal says why a file must not be read.
type Refusal struct {
	Path    string // as it was asked for
	Accept  string // what the user has to accept: the file, or the directory that it is in
	Mark    Mark
	Now     File // what is at Path at this moment
	Job     string
	Running bool      // the job still runs
	When    time.Time // the job ended; zero if that is not known
}

func (r *record) refusal(path, accept string, m Mark) Refusal {
	f := Refusal{Path: path, Accept: accept, Mark: m, Job: r.Job, Running: r.Closed == 0 && !r.dead()}
	if r.Closed != 0 {
		f.When = time.UnixMilli(r.Closed)
	}
	return f
}

// ChangedAgain reports whether the file has other content than when the job ended.
func (r Refusal) ChangedAgain() bool {
	return r.Mark.Change != Unsearched && (r.Now.Kind != r.Mark.Now.Kind || r.Now.Sum != r.Mark.Now.Sum)
}

// Check reports whether a file can be read. The error is a [ProblemError] if that is not known.
// The file need not exist.
func (m *Marks) Check(path string) (Check, error) {
	if m.empty() {
		return Check{Path: path}, nil
	}
	return m.check(path, newTarget(path))
}

// empty reports whether there is no record, as almost always.
func (m *Marks) empty() bool { return m == nil || len(m.records)+len(m.problems) == 0 }

// CheckRead is [Marks.Check] for a file that was read already: it reports in addition whether the
// file still has that content. sum is the SHA-256 in hexadecimal; empty if there was no file. Both
// answers are about the same content, so a program gains nothing if it exchanges the file for a
// moment.
func (m *Marks) CheckRead(path, sum string) (_ Check, unchanged bool, _ error) {
	t := &target{path: path, files: make(map[string]File)}
	t.file(path)
	c, err := Check{Path: path, target: t}, error(nil)
	if !m.empty() {
		t.names = names(path)
		c, err = m.check(path, t)
	}
	for _, f := range t.files { // all names lead to one content
		if f.Kind == Regular && f.Sum != sum || f.Kind != Regular && (f.Kind != Absent || sum != "") {
			return c, false, err
		}
	}
	return c, true, err
}

func (m *Marks) check(path string, t *target) (Check, error) {
	c := Check{Path: path, target: t}
	for _, p := range m.problems {
		if p.Workspace == "" || slices.ContainsFunc(t.names, func(name string) bool { return isBelow(p.Workspace, name) }) {
			return c, p
		}
	}
	for _, file := range slices.Sorted(maps.Keys(m.records)) {
		one := m.records[file]
		if mark, accept, ok := one.markOn(t); ok {
			refusal := one.refusal(path, accept, mark)
			refusal.Now = t.file(path) // Accept compares
			c.Refusals = append(c.Refusals, refusal)
		}
	}
	return c, nil
}

func isBelow(dir, path string) bool {
	_, in := userfile.Below(dir, path)
	return in
}

// File is what was at the path when it was checked; the zero File if nothing was looked at.
func (c Check) File() File {
	if c.target == nil {
		return File{}
	}
	return c.target.file(c.Path)
}

// A target is a file that is to be read. What is at its names is looked at once, so that all
// answers are about the same content.
type target struct {
	path  string
	names []string // under which it can be marked; see names
	files map[string]File
	dirs  map[string]node // all around it
}

func newTarget(path string) *target {
	return &target{path: path, names: names(path), files: make(map[string]File)}
}

func (t *target) file(name string) File {
	f, known := t.files[name]
	if !known {
		f = look(name, false, File{})
		t.files[name] = f
	}
	return f
}

// around returns the directories that the file is in.
func (t *target) around() map[string]node {
	if t.dirs != nil {
		return t.dirs
	}
	dirs, err := userfile.Within(func() map[string]node {
		dirs := make(map[string]node)
		for _, name := range t.names {
			for at := name; ; at = filepath.Dir(at) {
				if _, known := dirs[at]; known {
					break
				}
				if dirs[at] = directory(at); at == filepath.Dir(at) {
					break
				}
			}
		}
		return dirs
	})
	if err != nil {
		dirs = make(map[string]node)
	}
	t.dirs = dirs
	return dirs
}

// namesIn returns the names of the file as the record calls them, each with the name that it has
// now. The two differ in a workspace that was renamed.
func (t *target) namesIn(r *record) map[string]string {
	all := make(map[string]string)
	for _, name := range t.names {
		all[name] = name
	}
	if r.Root == (identity{}) {
		return all
	}
	for dir, now := range t.around() {
		if dir == r.Workspace || !now.was(r.Root, r.Started) {
			continue
		}
		for _, name := range t.names {
			if rest, in := userfile.Below(dir, name); in {
				all[filepath.Join(r.Workspace, rest)] = name
			}
		}
	}
	return all
}

// markOn returns the mark on a file, and what the user has to accept.
func (r *record) markOn(t *target) (m Mark, accept string, ok bool) {
	names := t.namesIn(r)
	if r.Closed == 0 {
		m, ok = r.compare(t, names)
		return m, t.path, ok
	}
	for _, m := range r.Marks {
		if _, named := names[m.Path]; named && m.Undone == 0 {
			return m, t.path, true
		}
		if m.Change == Unsearched {
			if dir, in := t.within(m, r.Closed, names); in {
				return m, dir, true
			}
			continue
		}
		if t.moved(m) {
			return m, t.path, true
		}
	}
	return Mark{}, "", false
}

// moved reports whether the marked file is here now: the very file, whatever its content is by now,
// or one of its name in the very directory. An editor can have replaced it there.
func (t *target) moved(m Mark) bool {
	if t.file(t.names[0]).node().same(m.File) {
		return true
	}
	return m.Dir != (node{}) && slices.ContainsFunc(t.names, func(name string) bool {
		return filepath.Base(name) == filepath.Base(m.Path) && t.around()[filepath.Dir(name)].same(m.Dir)
	})
}

// within returns the directory that could not be searched and that the file is in: by its path, or
// by its identity at that time if it was moved.
func (t *target) within(m Mark, at int64, names map[string]string) (dir string, ok bool) {
	for name := range names {
		if isBelow(m.Path, name) {
			return m.Path, true
		}
	}
	if id := (identity{m.Now.Stat.Device, m.Now.Stat.Inode}); id != (identity{}) {
		for dir, now := range t.around() {
			if now.was(id, at) {
				return dir, true
			}
		}
	}
	return "", false
}

// compare is markOn for a job that runs: the file is compared with the record.
func (r *record) compare(t *target, names map[string]string) (Mark, bool) {
	for _, name := range slices.Sorted(maps.Keys(names)) {
		_, known := r.Before.Files[name]
		if !known && !(isBelow(r.Workspace, name) && canBeTrusted(filepath.Base(name))) {
			continue
		}
		if m, ok := r.judge(name, t.file(names[name])); ok {
			return m, true
		}
	}
	return Mark{}, false
}

// canBeTrusted reports whether perstack reads files of this name when no flag or file names them, or
// as the user's choice of Experts.
func canBeTrusted(name string) bool {
	ext := strings.ToLower(filepath.Ext(name))
	return workspace.IsTrusted(name) || ext == ".toml" || ext == ".lock"
}

// Acceptable returns an error if the content cannot be read: a user who cannot look at it does not
// know what to accept.
func (c Check) Acceptable() error {
	if why := c.File().Unacceptable(); why != "" {
		return fmt.Errorf("%s %s", terminal.ShellJoin(c.Path), why)
	}
	return nil
}

// Accept removes the marks on a file as it was when it was checked. One that has changed since
// then is an error, and so is one that is not [Check.Acceptable]. A job that still runs can change
// it again, which marks it again. A directory that could not be searched is accepted as a whole,
// under its own path.
func (m *Marks) Accept(c Check) error {
	if m == nil || c.target == nil {
		return nil
	}
	if err := c.Acceptable(); err != nil {
		return err
	}
	for name, seen := range c.target.files {
		if !same(seen, look(name, false, File{})) {
			return fmt.Errorf("%s has changed since perstack looked at it; look at it again", terminal.ShellJoin(c.Path))
		}
	}
	for file := range m.records {
		// The job can have ended since Open.
		one, err := readRecord(file)
		if userfile.Absent(err) {
			continue
		}
		if err != nil {
			return &ProblemError{Record: file, Err: err}
		}
		if !one.accept(c.target) {
			continue
		}
		if err := one.save(file); err != nil {
			return err
		}
		m.records[file] = one
	}
	return nil
}

// accept removes the marks on a file. In the record of a job that runs, it notes which content the
// user has accepted.
func (r *record) accept(t *target) (changed bool) {
	for {
		m, accept, ok := r.markOn(t)
		if !ok || filepath.Clean(accept) != filepath.Clean(t.path) && !slices.Contains(t.names, accept) {
			return changed
		}
		changed = true
		if r.Closed != 0 {
			r.Marks = slices.DeleteFunc(r.Marks, func(o Mark) bool { return o.Path == m.Path })
			continue
		}
		if r.Accepted == nil {
			r.Accepted = make(map[string]File)
		}
		r.Accepted[m.Path] = m.Now
	}
}
