package workspace

import (
	"context"
	"os"
)

// A Dir is an open directory for a process to start in.
type Dir struct {
	path string
	f    *os.File
}

// OpenDir opens a directory of the workspace.
func (w *Workspace) OpenDir(ctx context.Context, name string) (*Dir, error) {
	var dir *Dir
	err := w.at(ctx, name, false, func(p *place) error {
		switch {
		case p.name != "" && p.info == nil:
			return fail(NotFound, name, "does not exist")
		case p.name != "":
			return fail(NotADirectory, name, "is not a directory")
		}
		f, err := p.dir().Open(".")
		if err != nil {
			return err
		}
		dir = &Dir{path: w.absolute(p.trail), f: f}
		return nil
	})
	return dir, err
}

// Path returns the absolute path, for showing.
func (d *Dir) Path() string { return d.path }

// ForChild returns the path to give to a child process as its working directory. On
// Linux it means the open directory itself, so that swapping the path for a link
// between now and the start does not send the child elsewhere. It is good until Close.
func (d *Dir) ForChild() string { return forChild(d) }

// Close closes the directory.
func (d *Dir) Close() error { return d.f.Close() }
