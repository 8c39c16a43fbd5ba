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

// EnvFiles finds what must not be shown to a container that the directory is mounted
// into: files, links and directories that have the name of an env file, at any depth, and
// directories that we cannot look into, because somebody in the container perhaps can. It
// follows no links, and leaves out .git and node_modules. The paths are relative, with
// slashes, and sorted. What it cannot search to the end is an error.
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
	switch {
	case errors.Is(err, fs.ErrNotExist): // somebody removed it
		return nil
	case errors.Is(err, fs.ErrPermission) && dir != ".":
		return s.add(dir)
	case err != nil:
		return err
	}
	defer f.Close()
	for {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		entries, err := f.ReadDir(searchChunk)
		for _, e := range entries {
			if err := s.judge(dir, e); err != nil {
				return err
			}
		}
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case errors.Is(err, fs.ErrPermission) && dir != ".":
			return s.add(dir)
		case err != nil && !errors.Is(err, fs.ErrNotExist):
			return err
		}
	}
}

func (s *search) judge(dir string, e fs.DirEntry) error {
	if s.seen++; s.seen > maxSearched {
		return fmt.Errorf("it has more than %d files; choose a smaller directory with --workspace", maxSearched)
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
		return fmt.Errorf("it has more than %d of them; choose another directory with --workspace", maxEnvFiles)
	}
	s.found = append(s.found, strings.TrimPrefix(name, "./"))
	return nil
}
