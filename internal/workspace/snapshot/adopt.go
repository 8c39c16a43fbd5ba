package snapshot

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// Adopt adds the objects of another store to the store in a directory. The other one keeps them. Both
// must be on one file system.
func Adopt(dir, from string) (err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("take over stored files: %w", err)
		}
	}()
	if _, err := os.Stat(from); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	other, err := open(from, false)
	if err != nil {
		return err
	}
	defer other.Close()
	s, err := open(dir, false)
	if err != nil {
		return err
	}
	defer s.Close()
	names, err := other.packNames()
	for _, name := range names {
		linked := os.Link(filepath.Join(from, "packs", name), filepath.Join(dir, "packs", name))
		if linked != nil && !errors.Is(linked, fs.ErrExist) { // the name says what is in a pack
			err = errors.Join(err, linked)
		}
	}
	return errors.Join(err, s.packDir.Sync())
}
