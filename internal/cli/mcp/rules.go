package mcp

import (
	"cmp"
	"errors"
	"path/filepath"

	"github.com/perstack-go/perstack/expert"
	"github.com/perstack-go/perstack/internal/cli/host"
)

// rules are where the tools work and what is kept from them: the same as in a run.
type rules struct {
	workspace string
	protected []string
	readOnly  []string
	maxBytes  int64 // 0 for no limit
}

// loadRules reads perstack.toml, if there is one, and the env files. One that cannot be
// read ends the command: it may name files that must be kept from the tools.
func loadRules(o *Options) (rules, error) {
	h := o.Host
	r := rules{
		workspace: h.Path(cmp.Or(o.Workspace, ".")),
		protected: []string{h.StoragePath(o.Storage)},
		maxBytes:  int64(o.MaxBytes),
	}
	config, err := loadConfig(h)
	if err != nil {
		return rules{}, err
	}
	if config != nil {
		r.readOnly = []string{config.Path, filepath.Join(config.Dir, "perstack.lock")}
		if r.maxBytes == 0 && config.MaxWorkspaceBytes != nil {
			r.maxBytes = *config.MaxWorkspaceBytes
		}
	}
	envFiles := expert.EnvFiles(h.Dir, h.Home, o.EnvPath, config)
	for _, f := range envFiles {
		r.protected = append(r.protected, f.Path)
	}
	env, err := expert.LoadEnv(h.Environ, envFiles)
	if err != nil {
		return rules{}, &host.ExitError{Code: host.ExitUsage, Err: err}
	}
	// A command can read what the file tools cannot. What it prints goes to the client
	// without the values of these files.
	h.HideSecrets(env.Get)
	for name, value := range env.InFiles() {
		h.Secrets.AddIfRandom(name, value)
	}
	return r, nil
}

// loadConfig returns the perstack.toml that a run would use, or nil if there is none.
func loadConfig(h *host.Host) (*expert.Config, error) {
	path, err := expert.Locate(h.Dir, "")
	if errors.Is(err, expert.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, &host.ExitError{Code: host.ExitUsage, Err: err}
	}
	config, problems, err := expert.Load(path)
	if err != nil {
		return nil, &host.ExitError{Code: host.ExitUsage, Err: err}
	}
	return config, problems.Err()
}
