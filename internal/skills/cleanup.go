package skills

import (
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/perstack-go/perstack/internal/owner"
)

const (
	// sandboxesPrefix begins the name of a directory that contains those of sandboxes.
	sandboxesPrefix = "perstack-sandboxes-"
	// ownerFile in such a directory names the perstack that made it. No sandbox can read it.
	ownerFile = "owner"
)

func writeOwner(dir string) error {
	return os.WriteFile(filepath.Join(dir, ownerFile), []byte(owner.This().String()), 0o600)
}

// removeAbandoned removes the directories of killed processes. It leaves what it cannot remove,
// and what belongs to a process that can be alive.
//
// Every user can write to the directory for temporary files. So no link is followed and no mode
// is changed: a directory that was made to look like ours is removed, and nothing else.
func removeAbandoned(temp string) {
	entries, _ := os.ReadDir(temp)
	for _, e := range entries {
		dir := filepath.Join(temp, e.Name())
		if e.IsDir() && strings.HasPrefix(e.Name(), sandboxesPrefix) && isAbandoned(dir) {
			_ = os.RemoveAll(dir)
		}
	}
}

func isAbandoned(dir string) bool {
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
