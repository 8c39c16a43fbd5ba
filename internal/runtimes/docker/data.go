package docker

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
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
			dir, err := skills.DataDir(r.parts.DataDir, e, k)
			if err == nil {
				dir, err = filepath.EvalSymlinks(dir)
			}
			if err == nil {
				err = handOver(dir, cover)
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

// handOver gives a directory, and all that is in it, to the user in the container. It follows no
// links.
func handOver(dir string, cover Cover) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	return fs.WalkDir(root.FS(), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil || isOwner(info, cover.UID) {
			return err
		}
		return root.Lchown(name, cover.UID, cover.GID)
	})
}
