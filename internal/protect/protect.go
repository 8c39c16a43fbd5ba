// Package protect notices what a job does to files that decide about later commands: env files,
// perstack.toml, perstack.lock, other files that a run goes by, and git configuration.
//
// Before the first program of a job starts, [Begin] records all of them in the user's state
// directory, where no sandboxed program can write. [Watch.End] compares, and leaves marks on
// those that appeared, changed or were removed. If perstack was killed, the next start does this
// instead ([Open]). A marked file is not read until the user accepts it ([Marks.Check],
// [Marks.Accept]). A file is the user's own if it changed while no record was open.
//
// The package never changes a file of the workspace, and prints nothing. Git files get no marks,
// since perstack does not read them: they are reported once. Start reading at [Begin].
package protect

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/perstack-go/perstack/internal/owner"
	"github.com/perstack-go/perstack/internal/userfile"
)

// Options say what a job can touch, and where that is recorded.
type Options struct {
	State     string // directory of the project's state
	Workspace string // absolute
	Job       string // for people, and for the name of the record
	// Trusted are absolute paths of files that the run goes by. They need not exist, and can have
	// any name.
	Trusted []string
	// Checked are files that were just checked. Those that have not changed are not read again.
	Checked []Check
	Now     time.Time
}

// A Watch is on the trusted files while a job runs.
type Watch struct {
	path  string // of its file
	saved os.FileInfo
	data  record
	made  []string // directories above that of the record that did not exist, from the inside out
}

// A Report says what happened to trusted files while a job ran.
type Report struct {
	Job   string
	Marks []Mark
	Git   []GitChange
}

// Begin records the trusted files as they are. It must be called before the first program of the
// job starts.
func Begin(ctx context.Context, o Options) (*Watch, error) {
	workspace, err := filepath.EvalSymlinks(o.Workspace)
	if err != nil {
		return nil, fmt.Errorf("workspace: %w", err)
	}
	w := &Watch{data: record{
		Job: o.Job, Workspace: workspace, Root: identify(workspace), Owner: owner.This().String(), Started: o.Now.UnixMilli(),
	}}
	for _, path := range o.Trusted {
		w.data.Trusted = append(w.data.Trusted, w.resolve(o.Workspace, path))
	}
	seen := make(map[string]File)
	for _, c := range o.Checked {
		seen[w.resolve(o.Workspace, c.Path)] = c.File()
	}
	w.data.Before.Files = seen
	if w.data.Before, err = w.data.survey(ctx); err != nil {
		return nil, err
	}
	for at := o.State; absent(at); at = filepath.Dir(at) {
		w.made = append(w.made, at)
	}
	if w.path, err = w.data.create(filepath.Join(o.State, dirName)); err != nil {
		return nil, err
	}
	w.saved, err = os.Stat(w.path)
	return w, err
}

// End compares the trusted files with the record, and replaces it by the marks of what is not as
// it was. No program of the job may run any more. If End fails, the next start tries again.
func (w *Watch) End(ctx context.Context, now time.Time) (Report, error) {
	// The record in memory counts: that on the disk can have been removed. Only what the user has
	// accepted meanwhile is read from there.
	if info, err := os.Stat(w.path); err == nil && !os.SameFile(info, w.saved) {
		if saved, err := readRecord(w.path); err == nil {
			w.data.Accepted = saved.Accepted
		}
	}
	report, err := w.data.close(ctx, w.path, now)
	for _, dir := range w.made {
		if err := os.Remove(dir); err != nil && !userfile.Absent(err) {
			break // it is in use by now
		}
	}
	return report, err
}

// resolve returns a path without links in the path of the workspace.
func (w *Watch) resolve(workspace, path string) string {
	if rest, ok := userfile.Below(workspace, path); ok {
		return filepath.Join(w.data.Workspace, rest)
	}
	return filepath.Clean(path)
}

func absent(path string) bool {
	_, err := os.Lstat(path)
	return userfile.Absent(err)
}
