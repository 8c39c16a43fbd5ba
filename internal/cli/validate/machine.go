package validate

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/perstack-go/perstack/expert"
	"github.com/perstack-go/perstack/internal/env"
	"github.com/perstack-go/perstack/internal/lockfile"
	"github.com/perstack-go/perstack/internal/manifest"
	"github.com/perstack-go/perstack/internal/providers"
	"github.com/perstack-go/perstack/internal/runtimes/docker"
	"github.com/perstack-go/perstack/internal/runtimes/local"
	"github.com/perstack-go/perstack/internal/sandbox"
	"github.com/perstack-go/perstack/internal/toml"
	"github.com/perstack-go/perstack/internal/wording"
	"github.com/perstack-go/perstack/job"
)

// missing lists what perstack run needs, and this machine does not have: env files, keys,
// variables of skills, programs, a sandbox and, with --machine, a Docker daemon. Another
// machine may have them, so they say nothing about the file.
func (o *Options) missing(ctx context.Context, c *manifest.Config, lock *lockfile.Lock) (found toml.Problems) {
	add := func(path, message, hint string) { found = append(found, c.Problem(path, message, hint)) }
	if problems, ok := errors.AsType[toml.Problems](o.Host.SandboxPaths(c)); ok {
		found = append(found, problems...)
	}
	if level := c.Settings.Isolation.Sandbox; c.Settings.Runtime != job.Docker && local.Needed(c.Experts, level) == level && level.Restricts() {
		if _, err := o.Host.OfferedSandbox(ctx).Choose(level); err != nil {
			add("sandbox.mode", err.Error(), "")
		}
	}
	values, err := env.Load(o.Host.Environ, manifest.EnvFiles(o.Host.Dir, o.Host.Home, nil, c))
	if err != nil {
		for line := range strings.Lines(err.Error()) {
			if line = strings.TrimSpace(line); c.EnvPath == nil {
				found = append(found, toml.Problem{Message: line}) // it names a default file
			} else {
				add("envPath", line, "")
			}
		}
		return found // which keys are there is not known then
	}
	o.missingKeys(c, values, add)
	onHost := c.Settings.Runtime != job.Docker
	told := make(map[string]bool)
	search, _ := sandbox.Environment(o.Host.Environ, nil)
	for _, e := range c.Experts {
		for _, p := range e.MissingEnv(values.Get) {
			add(toml.PathTo("experts", e.Name, "skills", p.Skill, "requiredEnv"), p.Message, p.Hint)
		}
		for _, s := range e.Skills {
			if !onHost || s.BuiltIn || s.Type != expert.StdioSkill {
				continue
			}
			path := toml.PathTo("experts", e.Name, "skills", s.Name)
			for _, program := range programsOf(s) {
				if _, err := sandbox.LookPath(program, search); err != nil && !told[program] {
					told[program] = true
					add(toml.PathTo(path, "command"), "the program "+wording.Quote(program)+" is not in PATH", "install it")
				}
			}
			if needed := local.NeededBy([]*expert.Skill{s}, ""); needed != "" && !told["sandbox"+string(needed)] {
				told["sandbox"+string(needed)] = true
				if _, err := o.Host.OfferedSandbox(ctx).Choose(needed); err != nil {
					add(toml.PathTo(path, "sandbox"), err.Error(), "")
				}
			}
		}
	}
	if !onHost && o.Machine {
		o.missingImages(ctx, c, lock, add)
	}
	return found
}

// programsOf are the programs that must be in PATH for a skill: those that run its package,
// or its command. A path is left to the kernel, because the workspace can be elsewhere.
func programsOf(s *expert.Skill) []string {
	switch p, ok := s.Package(); {
	case ok && p.Manager == "uvx":
		return []string{p.Manager} // it fetches and starts the package itself
	case ok:
		return []string{"node"}
	case strings.ContainsAny(s.Command, `/\`):
		return nil
	}
	return []string{s.Command}
}

// missingKeys opens the models of the file, which sends nothing, to learn whether their keys
// are there. What is wrong with the file is told elsewhere.
func (o *Options) missingKeys(c *manifest.Config, values env.Env, add func(path, message, hint string)) {
	told := make(map[string]bool)
	for _, e := range c.Experts {
		config := modelConfig(c, &expert.Expert{Name: e.Name, Model: e.Model, Provider: e.Provider})
		config.Setting.ExtraBody = nil // it says nothing about keys
		id := fmt.Sprintf("%s %s", config.Provider, config.Setting.BaseURL)
		if config.Provider == "replay" || told[id] || len(providers.Check(config)) > 0 {
			continue
		}
		told[id] = true
		config.Variables = func(name string) providers.Variable {
			return providers.Variable{Value: values.Get(name), File: values.File(name)}
		}
		config.Dir = o.Host.Dir
		if _, err := providers.Open(config); err != nil {
			path := "provider"
			if e.Provider != nil {
				path = toml.PathTo("experts", e.Name, path)
			}
			add(path, err.Error(), "")
		}
	}
}

// missingImages asks the Docker daemon. An image that it does not have is fetched by a run,
// unless the file forbids that.
func (o *Options) missingImages(ctx context.Context, c *manifest.Config, lock *lockfile.Lock, add func(path, message, hint string)) {
	daemon, err := docker.Connect(ctx, o.Host.Getenv, o.Host.Home)
	if err != nil {
		add("runtime", err.Error(), "")
		return
	}
	defer daemon.Close()
	box := c.Settings.Isolation.Container
	if !box.Offline {
		return
	}
	for _, name := range c.Images() {
		if pinned, ok := lock.Image(name); ok {
			if err := daemon.Holds(ctx, pinned, docker.Sources{Mirrors: box.Mirrors, Offline: true}); err != nil {
				add("docker", err.Error(), "")
			}
		}
	}
}
