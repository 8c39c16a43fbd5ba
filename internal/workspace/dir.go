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

// File returns the open directory itself, for a process to start in: swapping the path
// for a link between now and the start does not send it elsewhere. It is good until
// Close.
func (d *Dir) File() *os.File { return d.f }

// Close closes the directory.
func (d *Dir) Close() error { return d.f.Close() }
