package host

import (
	"errors"
	"path/filepath"
	"slices"

	"github.com/perstack-go/perstack/internal/env"
	"github.com/perstack-go/perstack/internal/manifest"
	"github.com/perstack-go/perstack/internal/toml"
)

// A Project is what a directory keeps from the tools that work in it. The directory may
// be another than the one where perstack was started, and has files of the same kind.
type Project struct {
	Config   *manifest.Config // the perstack.toml that holds there; nil if there is none
	Rules    []string         // files that say what an Expert may do; no tool may change them
	EnvFiles []env.File       // that Config names, or the usual ones
}

// Project looks at a directory. With an error comes what is known all the same.
func (h *Host) Project(dir string) (Project, error) {
	p := Project{Rules: Rules(dir)}
	path, err := manifest.Find(dir)
	switch {
	case errors.Is(err, manifest.ErrNotFound):
		err = nil
	case err == nil:
		var problems toml.Problems
		if p.Config, problems, err = manifest.Load(path); err == nil {
			err = problems.Err()
		}
	}
	if p.Config != nil && p.Config.Dir != dir {
		p.Rules = append(p.Rules, Rules(p.Config.Dir)...)
	}
	p.EnvFiles = manifest.EnvFiles(dir, h.Home, nil, p.Config)
	return p, err
}

// Rules are the files of a directory that say what its Experts may do.
func Rules(dir string) []string {
	usual := &manifest.Config{Path: filepath.Join(dir, manifest.FileName), Dir: dir}
	return []string{usual.Path, usual.LockFile()}
}

// FileRules are the files that say what the Experts of a file may do: it, its lockfile,
// and, if it bears another name, the usual ones beside it, which the next run may use.
func FileRules(c *manifest.Config) []string {
	rules := []string{c.Path, c.LockFile()}
	for _, path := range Rules(c.Dir) {
		if !slices.Contains(rules, path) {
			rules = append(rules, path)
		}
	}
	return rules
}
