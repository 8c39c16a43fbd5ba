package workspace

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
)

const (
	// maxSearched bounds the names that a search looks at.
	maxSearched = 5_000_000
	// maxEnvFiles bounds the env files that are hidden from a container, one by one.
	maxEnvFiles = 1000
	// maxRepositories bounds the git repositories whose configuration a container cannot change. Each
	// takes several mounts.
	maxRepositories = 250
	// maxTrusted bounds what a search may find.
	maxTrusted = 20_000
	// maxSearchDepth bounds the directories that are open at once. No project is as deep.
	maxSearchDepth = 400
	// searchChunk is how many names of a directory are in memory at once.
	searchChunk = 1024
)

// Trusted is what a directory has at names that decide about later commands of the user. The
// paths are relative, with slashes, and sorted.
type Trusted struct {
	Env    []string // files, links and directories with the name of an env file
	Rules  []string // perstack.toml and perstack.lock
	TOML   []string // other files and links that end in .toml: some define Experts
	Git    []string // what git takes for a repository: directories, and files named .git
	Closed []Closed // directories that could not be searched
}

// A Closed is a directory that could not be searched: it is unreadable, or too deep. Its numbers
// identify it after it was moved. They are 0 where the system has none.
type Closed struct {
	Path          string
	Device, Inode uint64
}

// Covered is what a container must not see or change of a directory that is mounted into it. The
// paths are relative, with slashes, and sorted.
type Covered struct {
	// Hidden are files, links and directories with the name of an env file, and directories that we
	// cannot read, because the user in the container perhaps can.
	Hidden []string
	Git    []string // as in [Trusted]
}

// FindCovered finds what must be covered in a container that the directory is mounted into, at any
// depth. It follows no links, skips node_modules, and takes nothing in .git for an env file. If the
// search cannot be completed, that is an error.
func FindCovered(ctx context.Context, dir string) (Covered, error) {
	found, err := find(ctx, dir, true)
	hidden := found.Env
	for _, c := range found.Closed {
		hidden = append(hidden, c.Path)
	}
	switch {
	case err != nil:
	case len(hidden) > maxEnvFiles:
		err = fmt.Errorf("search %s for env files: it has more than %d; choose another workspace", dir, maxEnvFiles)
	case len(found.Git) > maxRepositories:
		err = fmt.Errorf("search %s for git repositories: it has more than %d; choose another workspace", dir, maxRepositories)
	}
	if err != nil {
		return Covered{}, err
	}
	slices.Sort(hidden)
	return Covered{Hidden: hidden, Git: found.Git}, nil
}

// FindTrusted finds files that decide about later commands, at any depth: env files,
// perstack.toml, perstack.lock, other files that can define Experts, and git repositories. It
// follows no links.
func FindTrusted(ctx context.Context, dir string) (Trusted, error) { return find(ctx, dir, false) }

// IsTrusted reports whether a file of this name is an env file, a perstack.toml or a
// perstack.lock, in any spelling that a file system takes for the same name.
func IsTrusted(name string) bool {
	folded := fold(name)
	return isEnvName(folded) || isRulesName(folded)
}

func find(ctx context.Context, dir string, covered bool) (Trusted, error) {
	top, err := os.Open(dir)
	if err != nil {
		return Trusted{}, err
	}
	defer top.Close()
	s := search{covered: covered}
	if err := s.look(ctx, top, "", 0); err != nil {
		what := "files that later runs read"
		if covered {
			what = "env files and git repositories"
		}
		return Trusted{}, fmt.Errorf("search %s for %s: %w", dir, what, err)
	}
	for _, paths := range [][]string{s.found.Env, s.found.Rules, s.found.TOML, s.found.Git} {
		slices.Sort(paths)
	}
	slices.SortFunc(s.found.Closed, func(a, b Closed) int { return strings.Compare(a.Path, b.Path) })
	return s.found, nil
}

type search struct {
	covered bool // find what FindCovered needs, else what FindTrusted needs
	inGit   int  // how many of the directories that are open are named .git
	seen    int
	count   int
	found   Trusted
}

// look goes through an open directory, and then through those in it.
func (s *search) look(ctx context.Context, d *os.File, dir string, depth int) error {
	var below []string
	var names gitNames
	var err error
	for err == nil {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		var entries []fs.DirEntry
		entries, err = d.ReadDir(searchChunk)
		for _, e := range entries {
			into, err := s.judge(dir, e, &names)
			if err != nil {
				return err
			}
			if into {
				below = append(below, e.Name())
			}
		}
	}
	switch {
	case errors.Is(err, io.EOF), errors.Is(err, fs.ErrNotExist): // all was read, or it was removed meanwhile
	case errors.Is(err, fs.ErrPermission) && dir != "":
		return s.close(d, ".", dir)
	default:
		return err
	}
	if names.repository() {
		if err := s.add(&s.found.Git, path.Join(".", dir)); err != nil {
			return err
		}
		if s.covered && s.inGit > 0 { // many directories, and no repositories that the user has made
			below = slices.DeleteFunc(below, func(name string) bool { return slices.Contains([]string{"objects", "refs", "logs"}, name) })
		}
	}
	for _, name := range below {
		if err := s.enter(ctx, d, dir, name, depth+1); err != nil {
			return err
		}
	}
	return nil
}

// enter looks into a directory. One that cannot be opened or is too deep is noted.
func (s *search) enter(ctx context.Context, parent *os.File, dir, name string, depth int) error {
	at := join(dir, name)
	if depth > maxSearchDepth {
		return s.close(parent, name, at)
	}
	d, err := openBelow(parent, name)
	switch {
	case err == nil:
	case errors.Is(err, fs.ErrPermission):
		return s.close(parent, name, at)
	case gone(err): // it was removed or replaced meanwhile
		return nil
	default:
		return err
	}
	if d == nil {
		return nil
	}
	defer d.Close()
	if isGitName(fold(name)) {
		s.inGit++
		defer func() { s.inGit-- }()
	}
	return s.look(ctx, d, at, depth)
}

// judge reports whether a name is a directory that has to be searched, too.
func (s *search) judge(dir string, e fs.DirEntry, names *gitNames) (into bool, err error) {
	if s.seen++; s.seen > maxSearched {
		return false, fmt.Errorf("it has more than %d files; choose a smaller workspace", maxSearched)
	}
	folded := fold(e.Name())
	names.note(folded)
	switch {
	case isEnvName(folded) && !(s.covered && s.inGit > 0): // a branch can have such a name
		return e.IsDir() && !s.covered, s.add(&s.found.Env, join(dir, e.Name()))
	case isGitName(folded) && !e.IsDir():
		return false, s.add(&s.found.Git, join(dir, e.Name()))
	case s.covered:
		return e.IsDir() && folded != "node_modules", nil
	case isRulesName(folded):
		err = s.add(&s.found.Rules, join(dir, e.Name()))
	case strings.HasSuffix(folded, ".toml") && !e.IsDir():
		s.found.TOML = append(s.found.TOML, join(dir, e.Name())) // not counted: few define Experts
	}
	return e.IsDir(), err
}

func (s *search) add(to *[]string, name string) error {
	*to = append(*to, name)
	return s.counted()
}

// close notes a directory that cannot be searched, by its name in an open one.
func (s *search) close(parent *os.File, name, path string) error {
	c := Closed{Path: path}
	c.Device, c.Inode = identityBelow(parent, name)
	s.found.Closed = append(s.found.Closed, c)
	return s.counted()
}

func (s *search) counted() error {
	if s.count++; s.count > maxTrusted {
		return fmt.Errorf("it has more than %d; choose another workspace", maxTrusted)
	}
	return nil
}

func join(dir, name string) string {
	if dir == "" {
		return name
	}
	return dir + "/" + name
}
