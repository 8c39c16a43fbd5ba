package mcp

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"path/filepath"
	"slices"

	"github.com/perstack-go/perstack/expert"
	"github.com/perstack-go/perstack/internal/cli/host"
	"github.com/perstack-go/perstack/internal/env"
	"github.com/perstack-go/perstack/internal/manifest"
	"github.com/perstack-go/perstack/internal/userfile"
	"github.com/perstack-go/perstack/model"
)

// rules are the workspace and what the tools cannot reach in it, as in a run.
type rules struct {
	workspace string
	protected []string
	readOnly  []string
	maxBytes  int64               // 0 for no limit
	sandbox   expert.SandboxLevel // that a flag or the environment asks for
	user      expert.SandboxLevel // that the user's own configuration asks for
	config    *manifest.Config    // nil if the workspace has none
	history   host.History
}

// hiddenFromUs reports whether this process cannot read an env file, as in a sandbox that hides
// it. Then no command of this process can read it either, and nothing has to be redacted.
func hiddenFromUs(f env.File) bool {
	file, err := userfile.OpenRegular(f.Path)
	if err == nil {
		file.Close()
	}
	return errors.Is(err, fs.ErrPermission)
}

// loadRules reads the perstack.toml of the workspace, if there is one, and the env files
// there and in the current directory, which depends on the client. A file that cannot be read ends
// the command: it can name files that the tools must not reach.
func loadRules(ctx context.Context, o *Options) (rules, error) {
	h := o.Host
	dir := h.Path(cmp.Or(o.Workspace, "."))
	marks, err := h.TrustMarks(ctx)
	if err == nil {
		err = h.RefuseMarked(ctx, marks, host.Rules(dir)...)
	}
	if err != nil {
		return rules{}, err
	}
	project, err := h.Project(dir)
	if err != nil {
		return rules{}, &host.ExitError{Code: host.ExitUsage, Err: err}
	}
	config := ""
	if project.Config != nil {
		config = project.Config.Path
	}
	history, err := h.History(o.Storage, config, dir)
	if err != nil {
		return rules{}, err
	}
	r := rules{
		workspace: dir,
		protected: history.Hidden(),
		readOnly:  project.Rules,
		maxBytes:  o.Limits.MaxWorkspaceBytes,
		config:    project.Config,
		history:   history,
	}
	if r.sandbox, err = h.Sandbox(o.Sandbox); err != nil {
		return rules{}, err
	}
	if err := h.HideLogins(dir, dir); err != nil {
		return rules{}, err
	}
	own, err := h.Own(dir, dir)
	if err != nil {
		return rules{}, err
	}
	r.user = own.Isolation.Sandbox
	if project.Config != nil {
		reach := project.Config.Settings.Isolation.Reach
		for _, path := range reach.Hide {
			r.protected = append(r.protected, filepath.Join(dir, path))
		}
		for _, path := range reach.Protect {
			r.readOnly = append(slices.Clip(r.readOnly), filepath.Join(dir, path))
		}
	}
	if old := history.OldHistory(dir); old != "" {
		r.protected = append(r.protected, old)
	}
	if r.maxBytes == 0 && project.Config != nil {
		r.maxBytes = project.Config.Settings.Limits.MaxWorkspaceBytes
	}
	envFiles := manifest.EnvFiles(h.Dir, h.Home, o.EnvPath, nil)
	for _, f := range project.EnvFiles {
		if !slices.ContainsFunc(envFiles, func(other env.File) bool { return other.Path == f.Path }) {
			envFiles = append(envFiles, f)
		}
	}
	if h.Dir != dir {
		r.readOnly = append(r.readOnly, host.Rules(h.Dir)...) // which may lie in the workspace
	}
	trusted := slices.Clone(r.readOnly)
	for _, f := range envFiles {
		r.protected = append(r.protected, f.Path)
		trusted = append(trusted, f.Path)
	}
	if err := h.RefuseMarked(ctx, marks, trusted...); err != nil {
		return rules{}, err
	}
	if cache := h.CachePath(); cache != "" {
		r.protected = append(r.protected, cache) // skills are started from there
	}
	if o.TokenFile != "" {
		r.protected = append(r.protected, h.Path(o.TokenFile))
	}
	env, err := env.Load(h.Environ, slices.DeleteFunc(envFiles, hiddenFromUs))
	if err != nil {
		return rules{}, &host.ExitError{Code: host.ExitUsage, Err: err}
	}
	if path := env.Get(model.CredentialsEnv); path != "" {
		r.protected = append(r.protected, h.Path(path))
	}
	// A command can read what the file tools cannot. The values of these files are redacted in its
	// output.
	h.HideSecrets(env.Get)
	for name, value := range env.InFiles() {
		h.Secrets.AddIfRandom(name, value)
	}
	return r, nil
}
