package protect

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/perstack-go/perstack/internal/state"
	"github.com/perstack-go/perstack/internal/userfile"
	"github.com/perstack-go/perstack/internal/workspace"
)

// Adopt moves the records of a project to the path that the project has now. The files there are
// refused for the same reasons. This is needed if the directory has another identity, such as a
// copy on another disk.
func Adopt(from, to state.Project) error {
	files, err := recordFiles(from.State)
	if err != nil {
		return err
	}
	for _, file := range files {
		one, err := readRecord(file)
		switch {
		case userfile.Absent(err):
			continue
		case err != nil:
			return &ProblemError{Record: file, Err: err}
		case one.Closed == 0 && !one.dead():
			return fmt.Errorf("job %s still runs in %s", one.Job, one.Workspace)
		}
		one.move(from.Path, to.Path)
		if _, err := one.create(filepath.Join(to.State, dirName)); err != nil {
			return err
		}
		if err := os.Remove(file); err != nil {
			return err
		}
		_ = os.Remove(filepath.Dir(file)) // if it was the last one
	}
	return nil
}

// move replaces the beginning of all paths.
func (r *record) move(from, to string) {
	path := func(path string) string {
		if rest, in := userfile.Below(from, path); in {
			return filepath.Join(to, rest)
		}
		return path
	}
	files := func(all map[string]File) map[string]File {
		moved := make(map[string]File, len(all))
		for name, f := range all {
			moved[path(name)] = f
		}
		return moved
	}
	if at := path(r.Workspace); at != r.Workspace {
		r.Workspace, r.Root = at, identify(at)
	}
	for i := range r.Trusted {
		r.Trusted[i] = path(r.Trusted[i])
	}
	for i := range r.Marks {
		m := &r.Marks[i]
		if at := path(m.Path); at != m.Path {
			m.Path = at
			if m.Undone == 0 && m.Change != Unsearched {
				m.File, m.Dir = look(at, false, File{}).node(), parent(at)
			}
		}
	}
	var closed []workspace.Closed
	for _, dir := range r.Before.Closed {
		dir.Path = path(dir.Path)
		closed = append(closed, dir)
	}
	r.Before.Closed = closed
	r.Before.Files, r.Before.Git, r.Accepted = files(r.Before.Files), files(r.Before.Git), files(r.Accepted)
}
