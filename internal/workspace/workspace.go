// Package workspace is the fence around the user's files. It is the only room of the
// house that opens paths which a model or a skill chose.
//
// The directory is opened once, as an [os.Root]. Every later step goes from an open
// directory to a name in it, so the kernel decides where a path leads; no decision is
// taken on the text of a path, and what was checked is the very handle that is used.
// Three things are out of reach in any spelling: what lies outside, the paths of
// [Options.Protected] (the runtime's storage, the user's env files), and .env files.
//
// The package never follows a link that is absolute or leaves the workspace, never
// opens a pipe or a device, never writes through a link, and never tells in an error
// what lies outside. It does not fence in processes: that is internal/sandbox.
//
// Start reading at [Open], then at walk in walk.go, which every method goes through.
package workspace

import (
	"fmt"
	"os"
	"path/filepath"
)

// Options say what a workspace keeps from its users.
type Options struct {
	// Protected are absolute paths of directories and files that no tool may reach:
	// the storage directory and the env files. They need not exist yet.
	Protected []string

	// ReadOnly are absolute paths of files that tools may read but not change: what
	// says which tools an Expert has must not be written with one of them.
	ReadOnly []string
}

// A Workspace is an open directory tree. Its methods may be called from several
// goroutines. Names are relative to its root, or absolute and below it.
type Workspace struct {
	root  *os.Root
	dir   string // as given, absolute
	real  string // with links resolved; what is shown and what children start in
	guard guard
	fixed guard // files that are read only
}

// Open opens the workspace at dir.
func Open(dir string, opts Options) (*Workspace, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return nil, fmt.Errorf("open workspace %q: %w", dir, err)
	}
	resolved, err := filepath.EvalSymlinks(abs)
	if err != nil {
		return nil, fmt.Errorf("open workspace: %w; choose an existing directory", err)
	}
	root, err := os.OpenRoot(resolved)
	if err != nil {
		return nil, fmt.Errorf("open workspace: %w; choose an existing directory", err)
	}
	w := &Workspace{root: root, dir: abs, real: resolved}
	// A hard link to the env file of the workspace must be recognised even if nobody
	// named that file. Its own name is refused anyway.
	protected := append([]string{filepath.Join(resolved, ".env"), filepath.Join(resolved, ".env.local")}, opts.Protected...)
	w.guard, err = newGuard(root, resolved, protected)
	if err == nil {
		w.fixed, err = newGuard(root, resolved, opts.ReadOnly)
	}
	if err != nil {
		root.Close()
		return nil, fmt.Errorf("open workspace %q: %w", dir, err)
	}
	return w, nil
}

// Path returns the absolute path of the workspace.
func (w *Workspace) Path() string { return w.real }

// Close gives the directory back. Later calls of other methods fail.
func (w *Workspace) Close() error { return w.root.Close() }
