package install

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/perstack-go/perstack/internal/cli/host"
	"github.com/perstack-go/perstack/internal/consent"
	"github.com/perstack-go/perstack/internal/env"
	"github.com/perstack-go/perstack/internal/lockfile"
	"github.com/perstack-go/perstack/internal/manifest"
	"github.com/perstack-go/perstack/internal/providers"
	"github.com/perstack-go/perstack/internal/terminal"
	"github.com/perstack-go/perstack/job"
)

// A project is the file that is installed, with the environment of its skills.
type project struct {
	opts   *Options
	config *manifest.Config
	old    *lockfile.Lock // nil if there is none
	env    env.Env
	asked  host.Question
	docker bool     // a flag chose that runtime, and the file does not
	images []string // that the file needs pinned, without the flags

	trusted []string // files that the command goes by

	published *host.Published

	mu sync.Mutex // one line of progress at a time
}

// load reads perstack.toml and the env files.
func load(ctx context.Context, opts *Options) (*project, error) {
	h := opts.Host
	marks, err := h.TrustedConfig(ctx, opts.Config, opts.EnvPath)
	if err != nil {
		return nil, err
	}
	config, err := h.LoadConfig(opts.Config)
	if err != nil {
		return nil, err
	}
	p := &project{opts: opts, config: config, docker: opts.Runtime == job.Docker && config.Settings.Runtime != job.Docker}
	file := *config // without the flags
	config.Settings.Runtime = cmp.Or(opts.Runtime, config.Settings.Runtime)
	if opts.BaseImage != "" {
		if runtime := cmp.Or(config.Settings.Runtime, job.Local); runtime != job.Docker {
			return nil, host.Usagef("--base-image goes with --runtime docker, not %s", runtime)
		}
		config.Settings.Isolation.Container.BaseImage = opts.BaseImage
	}
	if given := host.ReachFlags(opts.Reach); len(given) > 0 && config.Settings.Runtime == job.Docker {
		return nil, host.Usagef("%s goes with --runtime local, not docker", given[0])
	}
	if err := h.SandboxPaths(config); err != nil {
		return nil, err
	}
	if opts.Check {
		return p, nil // no skill is started, so none needs a variable
	}
	files := manifest.EnvFiles(h.Dir, h.Home, opts.EnvPath, config)
	p.trusted = []string{config.Path, config.LockFile()}
	for _, f := range files {
		p.trusted = append(p.trusted, f.Path)
	}
	if err := h.RefuseMarked(ctx, marks, p.trusted...); err != nil {
		return nil, err
	}
	if p.old, err = p.oldLock(); err != nil {
		return nil, err
	}
	if err := opts.checkKeys(config); err != nil {
		return nil, err
	}
	p.published, err = h.Fetch(ctx, host.Fetch{Config: config, Workspace: h.Dir, Keys: config.Missing(), Lock: p.old, Update: opts.Update || opts.Experts, Only: opts.Keys})
	if err != nil {
		return nil, err
	}
	file.Published = config.Published
	p.images = file.Images()
	// Nothing leaves a container yet, so its proxy is asked for when the Expert runs.
	box := job.Container{Proxy: config.Settings.Isolation.Container.Proxy, BaseImage: opts.BaseImage}
	level, err := h.Sandbox(opts.Sandbox)
	if err != nil {
		return nil, err
	}
	own, err := h.Own(config.Dir, h.Dir)
	if err != nil {
		return nil, err
	}
	flags := job.Flags{User: own.Settings, Settings: job.Settings{Isolation: job.Isolation{Sandbox: level, Reach: opts.Reach, Container: box}}}
	asks := consent.Project{Config: config, Lock: p.old, Experts: config.All(), Published: p.published.Requests, Registries: p.published.Registries, Resolved: job.Resolve(flags, config.Settings, job.Settings{}, providers.Catalogue{})}
	if opts.Update {
		asks.Lock = nil // it pins nothing any more
	}
	p.asked = host.Question{Host: h, Project: asks, Files: files, Named: len(opts.EnvPath) > 0, Workspace: h.Dir, Later: true}
	if p.env, err = p.asked.Env(ctx); err != nil {
		return nil, err
	}
	return p, p.published.Keep(ctx)
}

// oldLock returns the existing lockfile; nil if there is none. A broken one is replaced with a
// warning. One that belongs to another file is an error.
func (p *project) oldLock() (*lockfile.Lock, error) {
	old, err := lockfile.Read(p.config)
	var kept *lockfile.KeepError
	switch {
	case errors.As(err, &kept):
		return nil, &host.ExitError{Code: host.ExitUsage, Err: fmt.Errorf("%w, or delete it to install again", err)}
	case err != nil:
		p.warn("the lockfile cannot be used, so every skill is started again: " + strings.ReplaceAll(err.Error(), "; "+lockfile.InstallAgain, ""))
		return nil, nil
	case old != nil && p.isOfOther(old):
		return nil, host.Usagef("%s belongs to %q, which is in the same directory; give one of the two files another name", old.Path, old.ConfigPath)
	}
	return old, nil
}

// isOfOther reports whether a lockfile was made from another file that still exists. That happens
// where file names ignore letter case, or if a file is not named .toml.
func (p *project) isOfOther(old *lockfile.Lock) bool {
	other, err := os.Stat(filepath.Join(p.config.Dir, filepath.Base(old.ConfigPath)))
	if err != nil {
		return false
	}
	ours, err := os.Stat(p.config.Path)
	return err == nil && !os.SameFile(ours, other)
}

// say prints one line of progress. It can be called from several goroutines.
func (p *project) say(format string, args ...any) {
	h := p.opts.Host
	// Cleaned first: invisible characters can hide a secret from the redaction.
	text := fmt.Sprintf(format, args...)
	indent := text[:len(text)-len(strings.TrimLeft(text, " "))]
	line := indent + h.Secrets.Redact(terminal.CleanLine(text))
	p.mu.Lock()
	defer p.mu.Unlock()
	out := h.Stdout
	if p.opts.JSON {
		out = h.Stderr // programs read the result only
	}
	// Installing continues when the output is closed.
	_, _ = fmt.Fprintln(out, line)
}

func (p *project) warn(text string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	fmt.Fprintln(p.opts.Host.Stderr, "perstack: "+terminal.Clean(text))
}
