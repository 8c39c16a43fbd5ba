package doctor

import (
	"context"
	"sync"

	"github.com/perstack-go/perstack/internal/cli/host"
	"github.com/perstack-go/perstack/internal/env"
	"github.com/perstack-go/perstack/internal/manifest"
	"github.com/perstack-go/perstack/internal/sandbox"
	"github.com/perstack-go/perstack/internal/toml"
)

// An examination is one call of the command. What several checks need is read once.
type examination struct {
	opts     *Options
	host     *host.Host
	project  func() project
	values   func() (env.Env, error)
	commands *sandbox.Supervisor
}

// A project is the perstack.toml that applies here.
type project struct {
	path     string
	config   *manifest.Config // nil if there is none that can be read
	problems toml.Problems
	err      error
}

func newExamination(opts *Options) *examination {
	x := &examination{opts: opts, host: opts.Host, commands: sandbox.NewSupervisor()}
	x.project = sync.OnceValue(x.readProject)
	x.values = sync.OnceValues(func() (env.Env, error) {
		p := x.project()
		values, err := env.Load(x.host.Environ, manifest.EnvFiles(x.host.Dir, x.host.Home, nil, p.config))
		if p.config != nil && err == nil {
			x.host.HideProject(p.config, values)
		}
		return values, err
	})
	return x
}

func (x *examination) close() { _ = x.commands.Close() }

// tasks are the checks, in the order in which they are shown.
func (x *examination) tasks() []task {
	all := []task{
		{"program", "program", func(context.Context) []Check { return x.copies() }},
		{"project", "perstack.toml", func(context.Context) []Check { return x.manifest() }},
		{"key", "model and key", func(context.Context) []Check { return x.keys() }},
		{"files.modes", "private files", func(context.Context) []Check { return x.modes() }},
		{"files.env", "env files", x.envFiles},
		{"state", "state directory", func(context.Context) []Check { return x.state() }},
		{"sandbox", "sandbox", x.sandbox},
		{"docker", "Docker", x.docker},
		{"programs", "skill programs", x.programs},
		{"terminal", "terminal", func(context.Context) []Check { return x.terminal() }},
		{"proxy", "proxies", func(context.Context) []Check { return x.proxies() }},
		{"storage", "storage", x.storage},
	}
	if x.opts.Online {
		all = append(all, task{"online", "online", x.online})
	}
	return all
}

func (x *examination) readProject() (p project) {
	if p.path, p.err = manifest.Locate(x.host.Dir, ""); p.err != nil {
		return p
	}
	p.config, p.problems, p.err = manifest.Load(p.path)
	return p
}
