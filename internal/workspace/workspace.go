// Package workspace is the fence around the user's files. It is the only room of the
// house that opens paths which a model or a skill chose.
//
// The directory is opened once. Every later step goes from an open directory to a name
// in it, so the kernel decides where a path leads; no decision is taken on the text of
// a path, and what was checked is the very handle that is used. On Linux a step is an
// openat with O_PATH and O_NOFOLLOW: what a name stands for is open before anything is
// decided about it. On other systems a step is one name in an [os.Root], which is looked
// at, opened, and compared with what was opened.
//
// A file is written, edited, appended to, moved and deleted by its name in an open
// directory. What is new appears complete: a write takes the place of the old file in
// one instant, and a move takes no name that something has. Only an append changes a
// file in place. A tree is deleted after a look at all of it, and not at all if something
// in it must stay. Calls that change one file take turns, and nothing is written while a
// directory is moved or emptied. That binds calls of one Workspace, not other processes.
//
// Out of reach, in any spelling (letter case, Unicode form, links) and whether it
// exists yet or not:
//
//   - what lies outside the workspace;
//   - the paths of [Options.Protected]: the runtime's storage, the user's env files;
//   - "perstack" in the root of the workspace, wherever the storage is (not deeper down);
//   - .env and .env.* at any depth, apart from the samples that people commit.
//
// What was seen as a protected directory, or as the directory "jobs" in one, stays out
// of reach when a command renames it. A job's own directory that is moved out of there,
// and a copy of anything, are ordinary files: commands run as the user.
//
// A file with several names (hard links) is not read if one of them is a path of
// [Options.Protected], the journal or the summary of a job, or an env file that lies in
// a directory on the way to it or is among the first 10,000 names of the workspace,
// breadth first. An env file elsewhere, or outside, goes unrecognised. With more than
// 10,000 jobs no such file is read. Names, sizes and times are not kept secret so.
//
// Two things can be read and not written: the files of [Options.ReadOnly], and what has
// ".git" in its path, where hooks and settings run code with the user's next git
// command. A bare repository, or one that keeps its data under another name, is not
// recognised, and other files that programs obey (a Makefile, say) are the user's work.
//
// A path of the options may be a link, or go through links and directories of the
// workspace. What it goes through stays as it is: no tool moves, deletes, replaces or
// makes it.
//
// The package never follows a link that is absolute or leaves the workspace, never
// opens a pipe or a device, never writes through a link, and never tells in an error
// what lies outside. No call costs more than its bounds: each has a context, a number
// of steps for its path, and one for all links of a listing together. It does not fence
// in processes: that is internal/sandbox.
//
// Start reading at [Open], then at walk in walk.go, which every method goes through.
package workspace

import (
	"fmt"
	"path/filepath"
	"sync/atomic"
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
	root  folder
	dir   string // as given, absolute
	real  string // with links resolved; what is shown and what children start in
	guard *guard
	fixed *guard       // files that are read only
	turns turns        // calls that change one file wait for each other
	trace func(string) // told what is done; tests count, or swap something at that moment
	lease lease
	last  atomic.Pointer[place] // the way of the last walk
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
	w := &Workspace{root: root, dir: abs, real: resolved, trace: func(string) {}}
	// What an env file of the workspace links to must be recognised even if nobody
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
	// Wherever the storage is, the directory that has its name may be that of another
	// run. A repository can bring a link of that name, which must not decide what else
	// is protected; so the name itself is, and what it leads to is not.
	w.guard.add(&entry{path: filepath.Join(resolved, storageName), place: []string{storageName}, plain: true})
	w.guard.watch() // the directories that exist now are known from now on
	return w, nil
}

const storageName = "perstack"

// Path returns the absolute path of the workspace.
func (w *Workspace) Path() string { return w.real }

// Close gives the directory back. Later calls of other methods fail; those that are
// under way come to their end.
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
