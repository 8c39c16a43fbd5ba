package protect

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/perstack-go/perstack/internal/owner"
	"github.com/perstack-go/perstack/internal/privatefile"
	"github.com/perstack-go/perstack/internal/userfile"
)

const (
	dirName   = "protect" // in the state of a project
	suffix    = ".json"
	version   = 2
	maxRecord = 64 << 20 // bytes
	maxJobs   = 10_000   // records of a project
)

// A record is what is kept of one job: first what was at the trusted names, then what is not as
// it was.
type record struct {
	Job       string
	Workspace string   // without links
	Root      identity // of Workspace
	Owner     string
	Started   int64 // in milliseconds since 1970, as is Closed
	Closed    int64 // 0 while the job runs, or if perstack was killed
	Trusted   []string
	Before    survey
	Accepted  map[string]File // by the user, while the job runs
	Marks     []Mark
}

// dead reports whether the job ended without closing its record.
func (r *record) dead() bool {
	id, err := owner.Parse(r.Owner)
	return r.Closed == 0 && err == nil && id.Dead()
}

// gone reports whether the workspace is not at its path any more: it was moved or removed. Then
// the record is not closed, since the files can be elsewhere. They are found by the identity of
// the workspace.
func (r *record) gone() bool { return r.Root != (identity{}) && absent(r.Workspace) }

// close compares, and replaces the record in its file by its marks.
func (r *record) close(ctx context.Context, path string, now time.Time) (Report, error) {
	after, err := r.survey(ctx)
	if err != nil {
		return Report{}, err
	}
	report := Report{Job: r.Job, Git: gitChanges(r.Before.Git, after.Git)}
	untouched := make(map[identity]bool)
	for _, name := range sortedKeys(r.Before.Files, after.Files) {
		f, found := after.Files[name]
		if !found {
			f = look(name, false, File{}) // a directory on the way can be a link by now
		}
		if m, ok := r.judge(name, f); ok {
			m.File, m.Dir = f.node(), parent(name)
			report.Marks = append(report.Marks, m)
		} else {
			untouched[f.node().ID] = true
		}
	}
	for i, m := range report.Marks {
		if untouched[m.File.ID] { // a link to a file of the user's
			report.Marks[i].File = node{}
		}
	}
	for _, dir := range after.Closed {
		if !slices.Contains(r.Before.Closed, dir) {
			report.Marks = append(report.Marks, Mark{
				Path: dir.Path, Change: Unsearched, Now: File{Kind: Directory, Stat: stat{Device: dir.Device, Inode: dir.Inode}},
			})
		}
	}
	closed := record{Job: r.Job, Workspace: r.Workspace, Root: r.Root, Owner: r.Owner, Started: r.Started, Closed: now.UnixMilli(), Marks: report.Marks}
	return report, closed.save(path)
}

// judge compares a file with the record.
func (r *record) judge(path string, now File) (Mark, bool) {
	before, known := r.Before.Files[path]
	if !known {
		before.Kind = Absent
	}
	if accepted, ok := r.Accepted[path]; same(before, now) || ok && same(accepted, now) {
		return Mark{}, false
	}
	m := Mark{Path: path, Change: Changed, Before: before, Now: now}
	switch {
	case !before.exists():
		m.Change = Appeared
	case !now.exists():
		m.Change = Removed
	}
	return m, true
}

// create writes a new record to a directory, and returns the path of its file. A job that was
// continued can have several.
func (r *record) create(dir string) (string, error) {
	name := r.Job
	if name == "" || len(name) > 100 || strings.ContainsFunc(name, func(c rune) bool {
		return c != '-' && c != '_' && (c < '0' || c > '9') && (c < 'a' || c > 'z') && (c < 'A' || c > 'Z')
	}) {
		sum := sha256.Sum256([]byte(name))
		name = hex.EncodeToString(sum[:8])
	}
	data, err := r.encode()
	if err != nil {
		return "", saving(err)
	}
	path := filepath.Join(dir, name+suffix)
	for i := 2; i <= maxJobs; i++ {
		// Another job of the same name can do the same now.
		err := privatefile.Create(path, data)
		if !errors.Is(err, fs.ErrExist) {
			return path, saving(err)
		}
		path = filepath.Join(dir, fmt.Sprintf("%s-%d%s", name, i, suffix))
	}
	return "", fmt.Errorf("there are too many trust records in %s", dir)
}

// save replaces the file of the record. A closed record without marks is removed.
func (r *record) save(path string) error {
	if r.Closed != 0 && len(r.Marks) == 0 {
		if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return saving(err)
		}
		_ = os.Remove(filepath.Dir(path)) // if it was the last one
		return nil
	}
	data, err := r.encode()
	if err == nil {
		err = privatefile.Replace(path, data)
	}
	return saving(err)
}

func saving(err error) error {
	if err != nil {
		err = fmt.Errorf("write the trust record: %w", err)
	}
	return err
}

func readRecord(path string) (*record, error) {
	data, err := userfile.Read(path, maxRecord)
	if err != nil {
		return nil, err
	}
	return decode(data)
}
