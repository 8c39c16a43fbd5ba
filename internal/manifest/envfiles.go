package manifest

import (
	"path/filepath"
	"strings"

	"github.com/perstack-go/perstack/internal/env"
)

// EnvFiles lists the env files of a run: those of the flag --env-path, relative
// to cwd; else those of envPath in the file, relative to the file; else .env and
// .env.local in cwd. A leading ~ is home; if that is empty, LoadEnv reports the
// file. The Config may be nil.
func EnvFiles(cwd, home string, flags []string, c *Config) []env.File {
	dir, paths, explicit := cwd, []string{".env", ".env.local"}, false
	switch {
	case len(flags) > 0:
		paths, explicit = flags, true
	case c != nil && c.EnvPath != nil:
		dir, paths, explicit = c.Dir, c.EnvPath, true
	}
	files := make([]env.File, 0, len(paths))
	for _, p := range paths {
		f := env.File{Path: p, Explicit: explicit}
		rest, tilde := strings.CutPrefix(p, "~")
		switch {
		case tilde && (rest == "" || rest[0] == '/' || rest[0] == filepath.Separator):
			if f.NoHome = home == ""; !f.NoHome {
				f.Path = filepath.Join(home, rest)
			}
		case !filepath.IsAbs(p):
			f.Path = filepath.Join(dir, p)
		default:
			f.Path = filepath.Clean(p) // see Locate
		}
		files = append(files, f)
	}
	return files
}
