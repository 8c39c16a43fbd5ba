// Package workspace gives tools access to the files of the user, and to nothing else. It is
// the only package that opens paths which a model or a skill chose.
//
// The directory is opened once. Every later step goes from an open directory to a name
// in it, so the kernel decides where a path leads. No decision is based on the text of a
// path, and the handle that was checked is the handle that is used. On Linux a step is an
// openat with O_PATH and O_NOFOLLOW: a name is opened before anything is decided about it.
// On other systems a step is one name in an [os.Root], which is looked at, opened, and
// compared with what was opened.
//
// A file is written, edited, appended to, moved and deleted by its name in an open
// directory. New content appears at once: a write replaces the old file atomically, and a
// move never replaces anything. Only an append changes a file in place. A tree is deleted
// after all of it was checked, and not at all if something in it must stay. Calls that
// change one file wait for each other, and nothing is written while a directory is moved
// or emptied. This holds between calls of one Workspace, not for other processes.
//
// Tools cannot reach the following, in any spelling (letter case, Unicode form, links)
// and whether it exists yet or not:
//
//   - what lies outside the workspace;
//   - the paths of [Options.Protected]: the runtime's storage, the user's env files;
//   - .env and .env.* at any depth, apart from the samples that people commit.
//
// A protected directory, or the directory "jobs" in one, stays protected when a command
// renames it. The directory of a job that is moved out of there, and a copy of anything,
// are ordinary files: commands run as the user.
//
// A file with several names (hard links) is not read if one of them is a path of
// [Options.Protected], the journal or the summary of a job, or an env file that lies in
// a directory on the way to it or is among the first 10,000 names of the workspace,
// breadth first. An env file elsewhere, or outside, is not recognised. With more than
// 10,000 jobs no such file is read. This does not hide names, sizes and times.
//
// Two things can be read and not written: what [Options.ReadOnly] names, and the data of
// git repositories, where hooks and settings run code with the user's next git command.
// That is everything with ".git" in its path, and everything below a directory that git
// would take for a repository, whatever its name. No call makes such a directory either.
// Other files that programs obey, such as a Makefile or a directory that core.hooksPath
// names, can be written.
//
// A directory is not moved or deleted if it contains something that tools cannot reach,
// something that is read only, or a repository.
//
// A path of the options may be a link, or go through links and directories of the
// workspace. No tool moves, deletes, replaces or makes what it goes through.
//
// The package never follows a link that is absolute or leaves the workspace, never
// opens a pipe or a device, never writes through a link, and never tells in an error
// what lies outside. Every call is bounded: by a context, a number of steps for its path,
// and a number of steps for all links of a listing together. It does not confine
// processes; internal/sandbox does.
//
// Start reading at [Open], then at walk in walk.go, which every method goes through.
package workspace

import (
	"fmt"
	"path/filepath"
	"sync"
	"sync/atomic"
)

// Options say what tools cannot reach or change.
type Options struct {
	// Protected are absolute paths of directories and files that no tool may reach:
	// the storage directory and the env files. They need not exist yet.
	Protected []string

	// ReadOnly are absolute paths of files and directories that tools may read but not change,
	// with all that is in them: a tool must not write the file that says which tools an Expert
	// has, nor the program of a skill.
	ReadOnly []string
}

// A Workspace is an open directory tree. Its methods may be called from several
// goroutines. Names are relative to its root, or absolute and below it.
type Workspace struct {
	root  folder
	dir   string // as given, absolute
	real  string // with links resolved; what is shown and what children start in
	guard *guard
	fixed *guard       // files and directories that are read only
	locks *locks       // calls that change one file wait for each other
	trace func(string) // called with each operation; tests count, or swap something at that moment
	lease lease
	last  atomic.Pointer[location] // of the last walk; its directories are open
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
	root, err := openFolder(resolved)
	if err != nil {
		return nil, fmt.Errorf("open workspace: %w; choose an existing directory", err)
	}
	w := &Workspace{root: root, dir: abs, real: resolved, locks: newLocks(), trace: func(string) {}}
	// The target of an env file that is a link must be recognised even if the options do not
	// name it. The name of the env file is refused anyway.
	protected := append([]string{filepath.Join(resolved, ".env"), filepath.Join(resolved, ".env.local")}, opts.Protected...)
	w.guard, err = newGuard(root, resolved, protected)
	if err == nil {
		w.fixed, err = newGuard(root, resolved, opts.ReadOnly)
	}
	if err != nil {
		root.Close()
		return nil, fmt.Errorf("open workspace %q: %w", dir, err)
	}
	w.guard.watch() // remember the directories that exist now
	w.fixed.watch()
	return w, nil
}

// Path returns the absolute path of the workspace.
func (w *Workspace) Path() string { return w.real }

// Close closes the directory. Later calls of other methods fail; calls in progress finish.
func (w *Workspace) Close() error {
	if _, last := w.lease.end(); last {
		return w.release()
	}
	return nil
}

func (w *Workspace) release() error {
	if p := w.last.Swap(nil); p != nil {
		p.close()
	}
	w.guard.close()
	w.fixed.close()
	return w.root.Close()
}

// A lease keeps something open while calls use it. If a descriptor were closed during a
// call, its number could belong to another file when the call uses it.
type lease struct {
	mu    sync.Mutex
	users int
	ended bool
}

// use reports whether it is still open, and then keeps it open until done.
func (l *lease) use() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ended {
		return false
	}
	l.users++
	return true
}

// done ends a use. It reports whether the caller must close: it was the last use after end.
func (l *lease) done() (last bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.users--
	return l.users == 0 && l.ended
}

// end allows no further use. It reports whether it is the first call, and whether the
// caller must close now; otherwise the last use does.
func (l *lease) end() (first, last bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	first = !l.ended
	l.ended = true
	return first, first && l.users == 0
}
