package run

import (
	"crypto/sha256"
	"fmt"
	"io"
	"os"

	"github.com/perstack-go/perstack/expert"
	"github.com/perstack-go/perstack/internal/terminal"
)

// watchRules remembers the files that the next run goes by, and returns what tells the user
// which of them are others by then. A skill in a cell that may write to the workspace can
// write to these too, if they lie there: it could have the next run start it without a cell.
// Behind the wall of a container they cannot be changed.
func (s *setup) watchRules(e *expert.Expert) (tell func()) {
	if s.runtime == expert.DockerRuntime || s.celled(e) == "" {
		return func() {}
	}
	files := s.rules()
	before := make([]string, len(files))
	for i, path := range files {
		before[i] = sumOf(path)
	}
	return func() {
		for i, path := range files {
			if sumOf(path) != before[i] {
				fmt.Fprintf(s.opts.Host.Stderr, "perstack: %s has changed while skills ran that may write there; the next run goes by it, so look at it first\n", terminal.CleanLine(path))
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
