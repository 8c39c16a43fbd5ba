package host

import (
	"path/filepath"

	"github.com/perstack-go/perstack/internal/consent"
	"github.com/perstack-go/perstack/internal/manifest"
	"github.com/perstack-go/perstack/internal/registry/scopes"
)

// Registries returns what decides where Experts come from, and the file in which a command binds what
// it used. The configuration is that of the project; nil if there is none.
func (h *Host) Registries(config *manifest.Config, workspace string) (*scopes.Rules, scopes.File, error) {
	project := workspace
	if config != nil {
		project = config.Dir
	}
	user, err := h.userConfig(project, workspace)
	if err != nil {
		return nil, scopes.File{}, err
	}
	dir, err := h.StateDir()
	if err != nil {
		return nil, scopes.File{}, &ExitError{Code: ExitUsage, Err: err}
	}
	file := scopes.File{Path: filepath.Join(string(dir), scopes.FileName)}
	bound, err := file.Load()
	if err == nil && (len(bound.Subjects) > 0 || len(bound.LogKeys) > 0) {
		err = h.planted(file.Path, project, workspace)
	}
	if err != nil {
		return nil, scopes.File{}, Usagef("%s is not used: %w", file.Path, err)
	}
	rules, err := scopes.New(user, config, bound)
	if err != nil {
		return nil, scopes.File{}, &ExitError{Code: ExitUsage, Err: err}
	}
	return rules, file, nil
}

// AskedRegistries returns the registries that a run would ask for these Experts and that only the
// project names. The user has to allow them before any request is sent.
func AskedRegistries(rules *scopes.Rules, keys []string) (all []consent.Registry, err error) {
	for _, key := range keys {
		d, err := rules.For(key)
		if err != nil {
			return nil, &ExitError{Code: ExitUsage, Err: err}
		}
		if !d.Asks {
			continue
		}
		one := consent.Registry{Name: d.Registry.Name, URL: d.Registry.URL, Scope: d.Subject}
		if d.KeyFrom == scopes.Project {
			one.LogKey = d.Registry.LogKey
		}
		if one.Name == manifest.DefaultRegistry {
			one.Scope = ""
		}
		all = append(all, one)
	}
	return all, nil
}
