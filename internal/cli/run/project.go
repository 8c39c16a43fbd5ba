package run

import (
	"context"
	"errors"
	"maps"
	"path/filepath"
	"slices"

	"github.com/perstack-go/perstack/engine"
	"github.com/perstack-go/perstack/internal/cli/host"
	"github.com/perstack-go/perstack/internal/consent"
	"github.com/perstack-go/perstack/internal/env"
	"github.com/perstack-go/perstack/internal/lockfile"
	"github.com/perstack-go/perstack/internal/manifest"
	"github.com/perstack-go/perstack/internal/protect"
	"github.com/perstack-go/perstack/internal/providers"
	"github.com/perstack-go/perstack/internal/skills"
	"github.com/perstack-go/perstack/internal/terminal"
	"github.com/perstack-go/perstack/job"
	"github.com/perstack-go/perstack/model"
)

// A project is what lies on the disk: perstack.toml, its env files, and the files that no
// tool can read or change.
type project struct {
	config   *manifest.Config
	absent   error // why there is no perstack.toml; nil if there is one
	envFiles []env.File
	lock     *lockfile.Lock // nil if there is none
	lockErr  error          // why it cannot be used; makeSpec reports it
	env      env.Env        // see readEnv
	own      host.Own       // what holds in all projects
	history  host.History
	hidden   []string // env files, credentials, the history
	readOnly []string // files that say what an Expert can do
	marks    *protect.Marks

	published *host.Published
}

// loadProject reads perstack.toml, unless a job has changed it or one of the env files.
func loadProject(ctx context.Context, o *Options) (*project, error) {
	h := o.Host
	marks, err := h.TrustedConfig(ctx, o.Config, o.EnvPath)
	if err != nil {
		return nil, err
	}
	config, err := h.LoadConfig(o.Config, o.Expert)
	var absent error
	if errors.Is(err, manifest.ErrNotFound) && o.Config == "" && (o.continues() || manifest.NamesPublished(o.Expert)) {
		config, absent, err = manifest.Empty(o.workspace()), err, nil
	}
	if err != nil {
		return nil, err
	}
	if err := h.SandboxPaths(config); err != nil {
		return nil, err
	}
	if err := h.HideLogins(config.Dir, o.workspace()); err != nil {
		return nil, err
	}
	own, err := h.Own(config.Dir, o.workspace())
	if err != nil {
		return nil, err
	}
	if o.Flags.Approvals.AllowAll && own.NoAllowAll != "" {
		return nil, host.Usagef("--allow-all is refused: %s has allowAll = false; leave the flag out", terminal.CleanLine(own.NoAllowAll))
	}
	p := &project{config: config, absent: absent, own: own, envFiles: manifest.EnvFiles(h.Dir, h.Home, o.EnvPath, config)}
	for _, f := range p.envFiles {
		p.hidden = append(p.hidden, f.Path)
	}
	if err := h.RefuseMarked(ctx, marks, append(slices.Clone(p.hidden), config.LockFile())...); err != nil {
		return nil, err
	}
	p.marks = marks
	if absent == nil {
		p.lock, p.lockErr = lockfile.Read(config) // once: the user's answer is about what it pins
	}
	if p.history, err = h.History(o.Storage, o.Config, o.workspace()); err != nil {
		return nil, err
	}
	p.hidden = append(p.hidden, p.history.Hidden()...)
	if old := p.history.OldHistory(o.workspace()); old != "" {
		p.hidden = append(p.hidden, old)
	}
	p.readOnly = host.FileRules(config)
	p.keepOther(o)
	return p, nil
}

// readEnv asks the user whether the project gets what it asks for, and reads the env files.
func (p *project) readEnv(ctx context.Context, o *Options, t *target) (err error) {
	e, ok := p.config.Lookup(t.expertKey)
	if !ok {
		return nil // makeSpec reports it, before any variable is used
	}
	asks := consent.Project{Config: p.config, Lock: p.lock, Resolved: job.Resolve(p.flags(o), p.config.Settings, t.recorded.Settings, providers.Catalogue{})}
	asks.Experts, _ = p.config.Closure(e)
	if p.published != nil {
		asks.Published, asks.Registries = p.published.Requests, p.published.Registries
	}
	question := host.Question{
		Host: o.Host, Project: asks, Files: p.envFiles, Named: len(o.EnvPath) > 0,
		Workspace: o.workspace(),
	}
	question.Refused = func() error { return p.refused(o, t, question.Project) }
	if p.env, err = question.Env(ctx); err != nil {
		return err
	}
	if err := p.published.Keep(ctx); err != nil {
		return err
	}
	for _, notice := range p.env.Notices() {
		o.logger().Debug(notice)
	}
	if path := p.env.Get(model.CredentialsEnv); path != "" {
		p.hidden = append(p.hidden, o.Host.Path(path)) // it is a key, wherever it lies
	}
	return nil
}

// refused returns what keeps the run from starting whatever the user allows: settings or a lockfile
// that cannot be used, an env file that decides where a key goes, or a program of a skill that is
// not the one that was pinned.
func (p *project) refused(o *Options, t *target, asks consent.Project) error {
	settings := asks.Resolved.Settings
	err := host.Refused(p.config, settings, p.lock, p.lockErr, asks.Experts).Err()
	variable := func(name string) providers.Variable {
		return providers.Variable{Value: asks.Env.Get(name), File: asks.Env.File(name)}
	}
	for _, e := range asks.Experts {
		if use := providers.Choice(settings, e); err == nil {
			err = providers.Detour(providers.Config{Provider: use.Provider, Model: use.Model, Setting: use.Setting, Expert: e, Variables: variable})
		}
	}
	if err == nil {
		spec := job.Spec{Settings: settings, Experts: asks.Experts, Programs: t.recorded.Programs, Workspace: job.Workspace{Dir: o.workspace()}}
		err = installHint(skills.RecordPrograms(&spec, p.lock))
	}
	if err == nil {
		return nil
	}
	return host.AddConfigToError(&host.ExitError{Code: host.ExitUsage, Err: err}, o.Config, p.dockerOnly(settings))
}

// flags are the settings that the user gives, for this run and for all.
func (p *project) flags(o *Options) job.Flags {
	all := o.flags()
	all.User = p.own.Settings
	return all
}

// dockerOnly reports whether a flag, and not the file, asks for the container: then the
// advice to install has to say so, or images stay without a pin.
func (p *project) dockerOnly(settings job.Settings) bool {
	return settings.Runtime == job.Docker && p.config.Settings.Runtime != job.Docker
}

// keepOther keeps from the tools what belongs to a project that lies in the workspace, if
// it is not the one that this run uses. The run does not depend on it: what is wrong there
// does not stop it.
func (p *project) keepOther(o *Options) {
	h, workspace := o.Host, o.workspace()
	if h.Dir == workspace && p.config.Path == filepath.Join(workspace, manifest.FileName) {
		return
	}
	other, err := h.Project(workspace)
	if err == nil {
		var values env.Env
		values, err = env.Load(nil, other.EnvFiles)
		for name, value := range values.InFiles() {
			h.Secrets.AddIfRandom(name, value)
		}
	}
	if err != nil {
		o.logger().Debug("the project in the workspace cannot be read", "error", err)
	}
	for _, f := range other.EnvFiles {
		p.hidden = append(p.hidden, f.Path)
	}
	p.readOnly = append(p.readOnly, other.Rules...)
}

// variable returns a variable of the environment or of an env file.
func (p *project) variable(name string) engine.Variable {
	return engine.Variable{Value: p.env.Get(name), File: p.env.File(name)}
}

// protect records the files that decide about the next run, and git configuration: a program
// that can write to the workspace can change them. end tells the user which have changed.
func (pl *plan) protect(ctx context.Context) (end func(error) error, err error) {
	for _, use := range pl.spec.ModelUses() {
		if path := use.Setting.Cassette; path != "" {
			if err := pl.opts.Host.RefuseMarked(ctx, pl.project.marks, path); err != nil {
				return nil, err
			}
		}
	}
	trusted := slices.Clone(pl.spec.Workspace.ReadOnly)
	for _, f := range pl.project.envFiles {
		trusted = append(trusted, f.Path)
	}
	read := pl.lock.Digests(pl.project.config)
	maps.Copy(read, pl.project.env.Digests())
	return pl.opts.Host.Protect(ctx, pl.project.history, pl.spec.JobID, pl.spec.Workspace.Dir, trusted, read)
}
