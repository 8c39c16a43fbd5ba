package policy

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/perstack-go/perstack/internal/filename"
	"github.com/perstack-go/perstack/internal/userfile"
)

// The limits of a search. Each protected file takes a mount in every command.
const (
	maxNames        = 5_000_000
	maxEnvFiles     = 1000
	maxRepositories = 250
	maxFrozen       = 5000
	maxPinned       = 10_000
	maxDepth        = 400  // directories that are open at once; no project is as deep
	nameChunk       = 1024 // names of a directory in memory at once
)

// Options say what is protected besides the names that always are. The paths are absolute, or
// relative to the workspace.
type Options struct {
	Places   Places   // a git directory outside the workspace must not be one of these
	Hide     []string // cannot be read
	Protect  []string // cannot be changed
	Programs []string // of skills: those in the workspace cannot be changed; others are ignored
}

// Protected is what a search found, in the form that a [Policy] has it.
type Protected struct {
	Hidden, Frozen, Pinned []string

	// Write are git directories outside the workspace to which files named .git lead, and
	// which name these files themselves.
	Write []string
	// Ignored are git directories outside the workspace that are not in Write, with the reason.
	Ignored []Ignored
	// Closed are directories of other users that could not be searched.
	Closed []string
	// Missing are those of Hide and Protect that do not exist, so that nothing protects them.
	Missing []string
}

// Ignored is a git directory that a program cannot use.
type Ignored struct{ File, Dir, Why string }

// A LimitError says that a directory has too much for a sandbox.
type LimitError struct {
	Dir   string
	What  string // files, env files, ...
	Limit int
}

func (e *LimitError) Error() string {
	return fmt.Sprintf("%s has more than %d %s; choose a smaller workspace", e.Dir, e.Limit, e.What)
}

// A ClosedError says that a directory of the user cannot be searched for files to protect. A
// program could change its mode and read them.
type ClosedError struct{ Dir string }

func (e *ClosedError) Error() string {
	return fmt.Sprintf("%s cannot be searched for env files: it is not readable; run chmod u+rx on it, or choose another workspace", e.Dir)
}

// Search finds what has to be protected in a workspace, at any depth, in one walk that follows
// no links.
func Search(ctx context.Context, workspace string, o Options) (*Protected, error) {
	root, err := filepath.Abs(workspace)
	if err == nil {
		root, err = filepath.EvalSymlinks(root)
	}
	if err != nil {
		return nil, fmt.Errorf("search the workspace for files to protect: %w", err)
	}
	s := &search{root: root, places: o.Places, limits: defaultLimits()}
	if err := s.run(ctx, o); err != nil {
		return nil, err
	}
	return s.result(), nil
}

// limits are fields so that tests reach them with few files.
type limits struct{ names, env, repositories, frozen, pinned, depth int }

func defaultLimits() limits {
	return limits{maxNames, maxEnvFiles, maxRepositories, maxFrozen, maxPinned, maxDepth}
}

// A search collects absolute paths; result makes them relative.
type search struct {
	root   string
	places Places
	limits limits

	tree  string // the tree that is searched: root, or a git directory outside
	inGit int    // how many of the open directories are git directories

	names, env, repositories int

	hidden, frozen, pinned set
	write                  []string
	ignored                []Ignored
	closed, missing        []string
}

type set map[string]bool

func (s *set) add(path string) {
	if *s == nil {
		*s = make(set)
	}
	(*s)[path] = true
}

func (s *search) run(ctx context.Context, o Options) error {
	if err := s.walk(ctx, s.root); err != nil {
		return err
	}
	walked := 0
	for walked < len(s.write) { // a git directory can have files named .git in it
		if err := s.walk(ctx, s.write[walked]); err != nil {
			return err
		}
		walked++
	}
	if old := filepath.Join(s.root, "perstack"); IsOldHistory(old) {
		s.hide(old)
	}
	if err := s.named(o); err != nil {
		return err
	}
	if s.pin(); len(s.pinned) > s.limits.pinned {
		return s.tooMany("directories around files to protect", s.limits.pinned)
	}
	return nil
}

// walk searches a tree.
func (s *search) walk(ctx context.Context, tree string) error {
	s.tree = tree
	d, err := openDir(tree)
	if err != nil {
		return fmt.Errorf("search %s for files to protect: %w", tree, err)
	}
	defer d.Close()
	return s.look(ctx, d, tree, 0)
}

// look goes through an open directory, and then through those in it.
func (s *search) look(ctx context.Context, d *os.File, dir string, depth int) error {
	l := listing{git: filename.IsGit(filename.Fold(filepath.Base(dir)))}
	if err := s.list(ctx, d, dir, &l); err != nil {
		return err
	}
	if l.git || l.repository() {
		if err := s.gitDirectory(dir, &l); err != nil {
			return err
		}
		s.inGit++
		defer func() { s.inGit-- }()
	}
	for _, name := range l.below {
		if err := s.enter(ctx, d, filepath.Join(dir, name), depth+1); err != nil {
			return err
		}
	}
	return nil
}

// list reads the names of a directory and protects what has to be.
func (s *search) list(ctx context.Context, d *os.File, dir string, l *listing) error {
	for {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		entries, err := d.ReadDir(nameChunk)
		for _, e := range entries {
			if err := s.judge(dir, e, l); err != nil {
				return err
			}
		}
		switch {
		case err == nil:
		case errors.Is(err, io.EOF), userfile.Absent(err): // all was read, or it was removed meanwhile
			return nil
		default:
			return fmt.Errorf("search %s for files to protect: %w", dir, err)
		}
	}
}

// judge protects a file whose name says that it must be.
func (s *search) judge(dir string, e fs.DirEntry, l *listing) error {
	if s.names++; s.names > s.limits.names {
		return s.tooMany("files", s.limits.names)
	}
	folded := filename.Fold(e.Name())
	path := func() string { return filepath.Join(dir, e.Name()) }
	switch {
	case filename.IsEnv(folded):
		if s.env++; s.env > s.limits.env {
			return s.tooMany("env files", s.limits.env)
		}
		s.hideEntry(path(), e)
		return nil // what is in a directory of this name is hidden with it
	case filename.IsGit(folded) && !e.IsDir():
		return s.gitFile(path(), e)
	case filename.IsRules(folded) && s.inGit == 0: // a branch can have such a name
		s.freezeEntry(path(), e)
	}
	l.note(folded, e)
	if len(s.frozen) > s.limits.frozen {
		return s.tooMany("files that must not change", s.limits.frozen)
	}
	return nil
}

// enter looks into a directory. What cannot be searched must not be reached, either.
func (s *search) enter(ctx context.Context, parent *os.File, dir string, depth int) error {
	if depth > s.limits.depth {
		s.hidden.add(dir)
		s.closed = append(s.closed, dir)
		return nil
	}
	d, err := openBelow(parent, dir)
	switch {
	case err == nil:
	case errors.Is(err, fs.ErrPermission):
		if own(parent, dir) {
			return &ClosedError{dir}
		}
		s.closed = append(s.closed, dir)
		return nil
	case gone(err): // it was removed or replaced meanwhile
		return nil
	default:
		return fmt.Errorf("search %s for files to protect: %w", dir, err)
	}
	if d == nil {
		return nil
	}
	defer d.Close()
	return s.look(ctx, d, dir, depth)
}

func (s *search) tooMany(what string, limit int) error {
	return &LimitError{Dir: s.tree, What: what, Limit: limit}
}
