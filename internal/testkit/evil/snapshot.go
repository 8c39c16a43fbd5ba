package evil

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"time"
)

// An entry is what can be seen of a file without changing it. The time of the last
// access is not among it: to look is to change that.
type entry struct {
	mode     fs.FileMode
	size     int64
	modified time.Time
	content  string // digest, or the target of a link
}

// snapshot describes trees, each below its own path. One that is absent has no entries.
func snapshot(roots []string) (map[string]entry, error) {
	all := map[string]entry{}
	for _, root := range roots {
		err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
			if path == root && errors.Is(err, fs.ErrNotExist) {
				return nil
			}
			if err != nil {
				return err
			}
			info, err := d.Info()
			if err != nil {
				return err
			}
			e := entry{mode: info.Mode(), modified: info.ModTime()}
			switch {
			case info.Mode().IsRegular():
				e.size = info.Size()
				e.content, err = digest(path)
			case info.Mode()&fs.ModeSymlink != 0:
				e.content, err = os.Readlink(path)
			}
			all[path] = e
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	return all, nil
}

func digest(path string) (string, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:]), nil
}

// compare words the differences.
func compare(before, now map[string]entry) []string {
	var changes []string
	paths := maps.Clone(before)
	maps.Copy(paths, now)
	for _, path := range slices.Sorted(maps.Keys(paths)) {
		old, was := before[path]
		e, is := now[path]
		switch {
		case !was:
			changes = append(changes, fmt.Sprintf("%s is new", path))
		case !is:
			changes = append(changes, fmt.Sprintf("%s is gone", path))
		case old.content != e.content || old.size != e.size:
			changes = append(changes, fmt.Sprintf("%s has another content", path))
		case old.mode != e.mode:
			changes = append(changes, fmt.Sprintf("%s has mode %v instead of %v", path, e.mode, old.mode))
		case !old.modified.Equal(e.modified):
			changes = append(changes, fmt.Sprintf("%s was written to, or something in it came and went", path))
		}
	}
	return changes
}

// spellings lists how a secret may be written: as it is, as hexadecimal digits, and as
// the part of a base64 text that is the same wherever the secret is in it.
func spellings(secret string) []string {
	all := []string{secret, hex.EncodeToString([]byte(secret))}
	for shift := range 3 {
		padded := make([]byte, shift, shift+len(secret))
		padded = append(padded, secret...)
		text := base64.RawStdEncoding.EncodeToString(padded[:len(padded)/3*3])
		all = append(all, text[(shift*8+5)/6:])
	}
	return all
}
