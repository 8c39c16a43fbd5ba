package docker

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"github.com/perstack-go/perstack/internal/skills"
)

// dataDirs makes the directories for data of the skills of the job that have one. They are mounted
// into the container. In there, the sandbox of a skill shows it its own alone. If the user in the container
// could not write there, none is mounted, and the data is lost when the job ends.
func (r *runner) dataDirs(cover Cover) (dirs []string, err error) {
	if r.parts.DataDir == "" {
		return nil, nil
	}
	for _, e := range r.spec.Experts {
		for _, k := range e.Servers() {
			if !skills.NeedsData(k) {
				continue
			}
			dir, err := skills.DataDir(r.parts.DataDir, e, k, cover.UID, cover.GID)
			if err == nil {
				dir, err = filepath.EvalSymlinks(dir)
			}
			switch {
			case errors.Is(err, fs.ErrPermission):
				r.parts.Log.Warn("what skills write beside their programs is lost when the job ends: the user in the container has no right to write to " + r.parts.DataDir)
				return nil, nil
			case err != nil:
				return nil, fmt.Errorf("skill %q: %w", k.Name, err)
			}
			dirs = append(dirs, dir)
		}
	}
	return dirs, nil
}
