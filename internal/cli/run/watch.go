package run

import (
	"crypto/sha256"
	"io"
	"os"
)

// watchFiles remembers the files that decide about the next run, and returns a function
// that tells the user which of them changed. A sandboxed skill that can write to the
// workspace can write to these too, if they lie there: it could have the next run start it
// without a sandbox. In a container they cannot be changed.
func (pl *plan) watchFiles() (tell func()) {
	if pl.sandboxedBy() == "" {
		return func() {}
	}
	files := pl.spec.Workspace.ReadOnly
	before := make([]string, len(files))
	for i, path := range files {
		before[i] = sumOf(path)
	}
	return func() {
		for i, path := range files {
			if sumOf(path) != before[i] {
				pl.say("%s has changed while skills ran that can write there; the next run uses it, so look at it first", path)
			}
		}
	}
}

// sumOf is a digest of a file, or why there is none.
func sumOf(path string) string {
	f, err := os.Open(path)
	if err != nil {
		return "no file"
	}
	defer f.Close()
	sum := sha256.New()
	if _, err := io.Copy(sum, f); err != nil {
		return "unreadable"
	}
	return string(sum.Sum(nil))
}
