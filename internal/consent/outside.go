package consent

import (
	"path/filepath"
	"slices"

	"github.com/perstack-go/perstack/internal/env"
	"github.com/perstack-go/perstack/internal/userfile"
)

// An OutsideFile is an env file that a project uses and that lies outside of it.
type OutsideFile struct {
	Path string // as the project names it
	Real string // without symbolic links
	Link bool   // Path is in the project, and a link
}

// Outside returns the env files that lie in none of the directories. Links are resolved first:
// a repository can contain a link to a file of its user.
func Outside(files []env.File, dirs ...string) (all []OutsideFile) {
	real := make([]string, len(dirs))
	for i, dir := range dirs {
		real[i] = Resolve(dir)
	}
	in := func(path string) bool {
		return slices.ContainsFunc(real, func(dir string) bool { return below(path, dir) })
	}
	for _, f := range files {
		if at := Resolve(f.Path); !in(at) && !f.NoHome {
			all = append(all, OutsideFile{Path: f.Path, Real: at, Link: in(f.Path) || in(filepath.Join(Resolve(filepath.Dir(f.Path)), filepath.Base(f.Path)))})
		}
	}
	return all
}

// Below reports whether a path, which has no symbolic links, is a directory or in it.
func Below(path, dir string) bool { return below(path, Resolve(dir)) }

func below(path, dir string) bool {
	_, in := userfile.Below(dir, path)
	return in
}

// Resolve returns a path without symbolic links, as far as it exists.
func Resolve(path string) string {
	if real, err := filepath.EvalSymlinks(path); err == nil {
		return real
	}
	if parent := filepath.Dir(path); parent != path {
		return filepath.Join(Resolve(parent), filepath.Base(path))
	}
	return path
}
