package space

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/perstack-go/perstack/internal/sandbox/policy"
)

// masks are what programs see instead of hidden files.
type masks struct{ file, dir int }

// newMasks makes an empty file and an empty directory on a read-only file system. The mode of
// the file lets no process read it: a program that finds an empty file could take it for the
// content, and commit that.
func newMasks() (m masks, err error) {
	tree, err := newMount("tmpfs", []option{{"size", "16k"}, {"mode", "700"}}, readWrite|unix.MOUNT_ATTR_NOEXEC)
	if err != nil {
		return m, fmt.Errorf("make the masks of hidden files: %w", err)
	}
	defer unix.Close(tree)
	if err := unix.Mknodat(tree, "file", unix.S_IFREG, 0); err != nil {
		return m, err
	}
	if err := unix.Mkdirat(tree, "dir", 0o555); err != nil {
		return m, err
	}
	if m.file, err = cloneTree(tree, "file", readOnly|unix.MOUNT_ATTR_NOEXEC); err != nil {
		return m, err
	}
	m.dir, err = cloneTree(tree, "dir", readOnly|unix.MOUNT_ATTR_NOEXEC)
	return m, err
}

// Protect makes sure that the protected files of the policy have their mounts. It is called
// again before each command: more can have been found, and some have been replaced.
func (s *Space) Protect(p *policy.Policy) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.current = p
	return s.protectAll(p)
}

func (s *Space) protectAll(p *policy.Policy) error {
	s.watchPaths(p)
	for strength, kind := range []struct {
		paths []string
		tree  func(fd int) (int, error)
	}{ // the weakest first
		{p.Pinned, func(fd int) (int, error) { return cloneTree(fd, "", 0) }},
		{p.Frozen, func(fd int) (int, error) { return cloneTree(fd, "", unix.MOUNT_ATTR_RDONLY) }},
		{p.Hidden, s.mask},
	} {
		for _, path := range slices.Sorted(slices.Values(kind.paths)) { // outer directories first
			if err := s.protect(path, strength, kind.tree); err != nil {
				return fmt.Errorf("protect %s in a sandbox: %w", path, err)
			}
		}
	}
	return nil
}

// A protection is a mount that protects a file.
type protection struct {
	mount    uint64 // its number
	strength int    // a pinned directory can become one that must not change, or be hidden
}

func (s *Space) protect(path string, strength int, tree func(fd int) (int, error)) error {
	dir, name := s.place(path)
	if dir < 0 {
		return nil // there is no workspace to be seen
	}
	at, err := openBeneath(dir, name)
	if errors.Is(err, unix.ENOENT) || errors.Is(err, unix.ELOOP) || errors.Is(err, unix.ENOTDIR) {
		return nil // it has gone since it was found
	}
	if err != nil {
		return err
	}
	defer unix.Close(at)
	id, err := mountID(at)
	if err != nil {
		return err
	}
	if known, ok := s.mounted[path]; ok && known.mount == id && known.strength >= strength {
		return nil
	}
	fd, err := tree(at)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	if id, err = mountID(fd); err != nil {
		return err
	}
	s.mounted[path] = protection{id, strength}
	return moveMount(fd, at)
}

// place returns the directory that a path starts from, and the rest of the path.
func (s *Space) place(path string) (dir int, name string) {
	if !filepath.IsAbs(path) {
		return s.workspace, path
	}
	return s.root, "." + path
}

// mask returns what takes the place of a hidden file or directory.
func (s *Space) mask(fd int) (int, error) {
	var info unix.Stat_t
	if err := unix.Fstat(fd, &info); err != nil {
		return -1, err
	}
	if info.Mode&unix.S_IFMT == unix.S_IFDIR {
		return cloneTree(s.masks.dir, "", 0)
	}
	return cloneTree(s.masks.file, "", 0)
}
