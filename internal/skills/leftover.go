package skills

import (
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/perstack-go/perstack/internal/owner"
)

const (
	// sandboxesPrefix begins the names of directories that sandboxes have theirs in.
	sandboxesPrefix = "perstack-sandboxes-"
	// ownerFile in such a directory says which perstack made it. No sandbox can read it.
	ownerFile = "owner"
)

// sign writes down whose directory it is.
func sign(dir string) error {
	return os.WriteFile(filepath.Join(dir, ownerFile), []byte(owner.This().String()), 0o600)
}

// sweep removes the directories of those that were killed. What cannot be removed, or
// belongs to somebody who may live, stays: it is in nobody's way.
//
// The directory for temporary files is everybody's. So nothing is followed, and no mode is
// changed: who made a directory look like ours loses that directory and nothing else.
func sweep(among string) {
	entries, _ := os.ReadDir(among)
	for _, e := range entries {
		dir := filepath.Join(among, e.Name())
		if e.IsDir() && strings.HasPrefix(e.Name(), sandboxesPrefix) && abandoned(dir) {
			_ = os.RemoveAll(dir)
		}
	}
}

func abandoned(dir string) bool {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return false
	}
	defer root.Close()
	info, err := root.Lstat(ownerFile)
	if err != nil || !info.Mode().IsRegular() {
		return false
	}
	f, err := root.Open(ownerFile)
	if err != nil {
		return false
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, 1<<10))
	if err != nil {
		return false
	}
	id, err := owner.Parse(string(text))
	return err == nil && id.Dead()
}
