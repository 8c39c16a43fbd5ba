package host

import (
	"cmp"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/perstack-go/perstack/expert"
	"github.com/perstack-go/perstack/internal/env"
	"github.com/perstack-go/perstack/internal/manifest"
	"github.com/perstack-go/perstack/internal/terminal"
	"github.com/perstack-go/perstack/internal/toml"
)

// A Project is what tools that work in a directory must not reach or change. The directory
// need not be the one where perstack was started.
type Project struct {
	Config   *manifest.Config // the perstack.toml that applies there; nil if there is none
	Rules    []string         // files that say what an Expert may do; no tool may change them
	EnvFiles []env.File       // that Config names, or the usual ones
}

// Project reads a directory. With an error it returns what is known.
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

// FileRules are the files that say what the Experts of a file may do: the file, its
// lockfile and, if it has another name, the usual files in its directory, which the next
// run may use.
func FileRules(c *manifest.Config) []string {
	rules := []string{c.Path, c.LockFile()}
	for _, path := range Rules(c.Dir) {
		if !slices.Contains(rules, path) {
			rules = append(rules, path)
		}
	}
	return rules
}

// FindExpert returns the Expert of a file that has the key.
func FindExpert(c *manifest.Config, key string) (*expert.Expert, error) {
	if _, err := expert.ParseReference(key); err != nil {
		return nil, Usagef("%w", err)
	}
	e, ok := c.Lookup(key)
	if !ok && c.Absent {
		return nil, Usagef("expert %q not found: there is no %s, and it does not name a published Expert", key, manifest.FileName)
	}
	if !ok {
		return nil, Usagef("expert %q not found in %s; it has: %s", key, c.Path, cmp.Or(strings.Join(c.Keys(), ", "), "no experts"))
	}
	return e, nil
}

// LoadConfig reads the perstack.toml that the flag --config names, or the first one from
// the working directory upwards. It prints warnings and returns problems as an error. If
// keys of Experts are given, it leaves out warnings about Experts that these do not reach.
func (h *Host) LoadConfig(flag string, about ...string) (*manifest.Config, error) {
	path, err := h.Locate(flag)
	if err != nil {
		return nil, err
	}
	config, problems, err := manifest.Load(path)
	if err != nil {
		return nil, &ExitError{Code: ExitUsage, Err: err}
	}
	concerned := make(map[*expert.Expert]bool)
	for _, key := range about {
		if e, ok := lookup(config, key); ok {
			closure, _ := config.Closure(e)
			for _, e := range closure {
				concerned[e] = true
			}
		}
	}
	for _, w := range problems.Warnings() {
		if len(concerned) > 0 {
			if e := config.ExpertAt(w.Path); e != nil && !concerned[e] {
				continue
			}
		}
		fmt.Fprintln(h.Stderr, "perstack: "+terminal.Clean(w.String()))
	}
	if err := problems.Err(); err != nil {
		return config, err
	}
	return config, h.RestrictRemote(config)
}

func lookup(c *manifest.Config, key string) (*expert.Expert, bool) {
	if c == nil || key == "" {
		return nil, false
	}
	return c.Lookup(key)
}

// Locate is [manifest.Locate] for the flag --config. Its errors say how the flag helps.
func (h *Host) Locate(flag string) (string, error) {
	path, err := manifest.Locate(h.Dir, flag)
	unusable, found := errors.AsType[*manifest.UnusableError](err)
	switch {
	case err == nil:
		return path, nil
	case errors.Is(err, manifest.ErrForeign):
		err = fmt.Errorf("%w; if you trust it, pass --config %s", err, terminal.ShellJoin(unusable.Path))
	case found:
		err = fmt.Errorf("%w; fix it or pass --config <path>", err)
	case errors.Is(err, manifest.ErrNotFound):
		err = fmt.Errorf("%w; create one or pass --config <path>", err)
	}
	return "", &ExitError{Code: ExitUsage, Err: err}
}
