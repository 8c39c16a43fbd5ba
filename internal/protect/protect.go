// Package protect notices what a job does to files that decide about later commands: env files,
// perstack.toml, perstack.lock, other files that a run goes by, and git configuration.
//
// Before the first program of a job starts, [Begin] records all of them in the user's state
// directory, where no sandboxed program can write. [Record.End] compares, and leaves marks on
// those that appeared, changed or were removed. If perstack was killed, the next start does this
// instead ([Open]). A marked file is not read until the user accepts it ([Records.Refused],
// [Records.Accept]). A file is the user's own if it changed while no record was open.
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
	Now     time.Time
}

// A Record is that of a job that runs.
type Record struct {
	path  string // of its file
	saved os.FileInfo
	data  record
	made  []string // directories that did not exist before, from the inside out
}

// A Report says what happened to trusted files while a job ran.
type Report struct {
	Job   string
	Marks []Mark
	Git   []Change
}

// Begin records the trusted files as they are. It must be called before the first program of the
// job starts.
func Begin(ctx context.Context, o Options) (*Record, error) {
	workspace, err := filepath.EvalSymlinks(o.Workspace)
	if err != nil {
		return nil, fmt.Errorf("workspace: %w", err)
	}
	r := &Record{data: record{
		Job: o.Job, Workspace: workspace, Owner: owner.This().String(), Started: o.Now.UnixMilli(),
	}}
	for _, path := range o.Trusted {
		if rest, ok := userfile.Below(o.Workspace, path); ok {
			path = filepath.Join(workspace, rest)
		}
		r.data.Trusted = append(r.data.Trusted, filepath.Clean(path))
	}
	if r.data.Before, err = r.data.survey(ctx); err != nil {
		return nil, err
	}
	dir := filepath.Join(o.State, dirName)
	for at := dir; absent(at); at = filepath.Dir(at) {
		r.made = append(r.made, at)
	}
	if r.path, err = r.data.create(dir); err != nil {
		return nil, err
	}
	r.saved, err = os.Stat(r.path)
	return r, err
}

// End compares the trusted files with the record, and replaces it by the marks of what is not as
// it was. No program of the job may run any more. If End fails, the next start tries again.
func (r *Record) End(ctx context.Context, now time.Time) (Report, error) {
	// The record in memory counts: that on the disk can have been removed. Only what the user has
	// accepted meanwhile is read from there.
	if info, err := os.Stat(r.path); err == nil && !os.SameFile(info, r.saved) {
		if saved, err := readRecord(r.path); err == nil {
			r.data.Accepted = saved.Accepted
		}
	}
	report, err := r.data.close(ctx, r.path, now)
	for _, dir := range r.made {
		if err := os.Remove(dir); err != nil && !userfile.Absent(err) {
			break // it is in use by now
		}
	}
	return report, err
}

func absent(path string) bool {
	_, err := os.Lstat(path)
	return userfile.Absent(err)
}
