package trust

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/perstack-go/perstack/internal/privatefile"
	"github.com/perstack-go/perstack/internal/registry/definition"
	"github.com/perstack-go/perstack/internal/userfile"
)

const (
	// maxCache bounds the definitions, which are some kilobytes each. The oldest ones go first.
	maxCache = 256 << 20
	maxFiles = 100_000
)

// ErrChanged is returned if a stored definition is not what its digest says.
var ErrChanged = errors.New("the stored definition was changed")

// Definition returns a canonical text, and whether it is stored. A text that does not have the digest is
// an error.
func (s *Store) Definition(digest string) (text []byte, ok bool, err error) {
	if !definition.IsDigest(digest) {
		return nil, false, fmt.Errorf("%.80q is not a digest", digest)
	}
	path := s.definitionPath(digest)
	text, err = userfile.Read(path, definition.MaxSize)
	switch {
	case userfile.Absent(err):
		return nil, false, nil
	case err != nil:
		return nil, false, fmt.Errorf("read %s: %w", path, err)
	case definition.Digest(text) != digest:
		return nil, false, fmt.Errorf("%w: %s has the digest %s; remove it", ErrChanged, path, definition.Digest(text))
	}
	return text, true, nil
}

func (s *Store) definitionPath(digest string) string {
	_, sum, _ := strings.Cut(digest, ":")
	return filepath.Join(s.dir, "definitions", sum)
}

// addDefinitions stores texts under their digests, then removes the oldest ones if there are too many.
func (s *Store) addDefinitions(texts [][]byte) error {
	added := map[string]bool{}
	for _, text := range texts {
		digest := definition.Digest(text)
		if _, ok, err := s.Definition(digest); ok && err == nil {
			continue
		}
		path := s.definitionPath(digest)
		if err := privatefile.Replace(path, text); err != nil {
			return fmt.Errorf("the definition cannot be stored in %s: %w", path, err)
		}
		added[filepath.Base(path)] = true
	}
	if len(added) == 0 {
		return nil
	}
	return s.prune(added)
}

// prune removes the oldest definitions until the others fit. Those that were added just now stay.
func (s *Store) prune(added map[string]bool) error {
	dir := filepath.Join(s.dir, "definitions")
	names, err := userfile.Names(dir, maxFiles)
	if err != nil {
		return err
	}
	var infos []fs.FileInfo
	var total int64
	for _, name := range names {
		if info, err := os.Lstat(filepath.Join(dir, name)); err == nil {
			infos, total = append(infos, info), total+info.Size()
		}
	}
	slices.SortFunc(infos, func(a, b fs.FileInfo) int { return a.ModTime().Compare(b.ModTime()) })
	for _, info := range infos {
		if total <= s.maxBytes {
			return nil
		}
		if added[info.Name()] {
			continue
		}
		if err := os.Remove(filepath.Join(dir, info.Name())); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		total -= info.Size()
	}
	return nil
}
