package workspace

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
)

// SetAside renames those of the names that exist in a directory: by suffix, and by a
// number if that is taken. It is for what must not be found there under its name. The names
// are relative, with slashes, and resolved beneath the directory. It returns the new names
// by the old ones.
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
