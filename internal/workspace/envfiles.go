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
	// maxSearched bounds the names that a search for env files looks at.
	maxSearched = 5_000_000
	// maxEnvFiles bounds what it may find. Each is hidden from a container one by one.
	maxEnvFiles = 1000
	// searchChunk is how many names of a directory are in memory at once.
	searchChunk = 1024
)

// EnvFiles finds what must be hidden in a container that the directory is mounted into:
// files, links and directories with the name of an env file, at any depth, and directories
// that we cannot read, because the user in the container perhaps can. It follows no links,
// and skips .git and node_modules. The paths are relative, with slashes, and sorted. If the
// search cannot be completed, that is an error.
func EnvFiles(ctx context.Context, dir string) ([]string, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	s := search{root: root, todo: []string{"."}}
	for len(s.todo) > 0 {
		next := s.todo[len(s.todo)-1]
		s.todo = s.todo[:len(s.todo)-1]
		if err := s.look(ctx, next); err != nil {
			return nil, fmt.Errorf("search %s for env files: %w", dir, err)
		}
	}
	slices.Sort(s.found)
	return s.found, nil
}

type search struct {
	root  *os.Root
	todo  []string
	seen  int
	found []string
}

// look goes through one directory.
func (s *search) look(ctx context.Context, dir string) error {
	f, err := s.root.Open(dir)
	if err == nil {
		defer f.Close()
	}
	for err == nil {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		var entries []fs.DirEntry
		entries, err = f.ReadDir(searchChunk)
		for _, e := range entries {
			if err := s.judge(dir, e); err != nil {
				return err
			}
		}
	}
	switch {
	case errors.Is(err, io.EOF), errors.Is(err, fs.ErrNotExist): // all was read, or it was removed meanwhile
		return nil
	case errors.Is(err, fs.ErrPermission) && dir != ".":
		return s.add(dir)
	}
	return err
}

func (s *search) judge(dir string, e fs.DirEntry) error {
	if s.seen++; s.seen > maxSearched {
		return fmt.Errorf("it has more than %d files; choose a smaller workspace", maxSearched)
	}
	folded := fold(e.Name())
	switch {
	case isEnvName(folded):
		return s.add(path.Join(dir, e.Name()))
	case e.IsDir() && !isGitName(folded) && folded != "node_modules":
		s.todo = append(s.todo, path.Join(dir, e.Name()))
	}
	return nil
}

func (s *search) add(name string) error {
	if len(s.found) >= maxEnvFiles {
		return fmt.Errorf("it has more than %d of them; choose another workspace", maxEnvFiles)
	}
	s.found = append(s.found, strings.TrimPrefix(name, "./"))
	return nil
}

// SetAside renames those of the names that exist in a directory: it adds the suffix, and a
// number if that name is taken. It is for files that must not be found under their names.
// The names are relative, with slashes, and resolved beneath the directory. It returns the
// new names by the old ones.
func SetAside(dir string, names []string, suffix string) (map[string]string, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	moved := make(map[string]string)
	var failed []error
	for _, name := range names {
		if _, err := root.Lstat(name); err != nil {
			if !errors.Is(err, fs.ErrNotExist) {
				failed = append(failed, err)
			}
			continue
		}
		to := name + suffix
		for i := 2; ; i++ {
			if _, err := root.Lstat(to); errors.Is(err, fs.ErrNotExist) {
				break
			}
			to = fmt.Sprintf("%s%s-%d", name, suffix, i)
		}
		if err := root.Rename(name, to); err != nil {
			failed = append(failed, err)
			continue
		}
		moved[name] = to
	}
	return moved, errors.Join(failed...)
}
