package install

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/perstack-go/perstack/engine"
	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/expert"
	"github.com/perstack-go/perstack/internal/cli/host"
	"github.com/perstack-go/perstack/internal/lockfile"
	"github.com/perstack-go/perstack/internal/packages"
	"github.com/perstack-go/perstack/internal/runtimes/local"
	"github.com/perstack-go/perstack/internal/sandbox"
	"github.com/perstack-go/perstack/internal/skills"
	"github.com/perstack-go/perstack/internal/terminal"
	"github.com/perstack-go/perstack/internal/wording"
	"github.com/perstack-go/perstack/internal/workspace"
	"github.com/perstack-go/perstack/job"
)

// maxParallel is how many servers are started in parallel: each can be a package manager that uses
// the network and the disk.
const maxParallel = 4

// collect lists the tools of the servers of the plan, in the isolation that a job has. It reports
// all that fail. Images are those for containers.
func (p *project) collect(ctx context.Context, plan *plan, images []lockfile.Image) (err error) {
	site, end, err := p.site(ctx, plan)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, end()) }()

	if p.inContainer() {
		err = p.collectInContainer(ctx, plan, site, images)
	}
	errs := make([]error, len(plan.servers))
	slots := make(chan struct{}, maxParallel)
	var group sync.WaitGroup
	for i, s := range plan.servers {
		if s.kept {
			p.say("  %s: %s, as installed before", s.users[0], wording.Count(len(s.found.Tools), "tool"))
			p.warnUnknown(s)
			continue
		}
		if s.found != nil || s.failed != nil {
			errs[i] = s.failed
			continue
		}
		if err != nil {
			continue // the container could not be made
		}
		group.Go(func() {
			select {
			case slots <- struct{}{}:
				defer func() { <-slots }()
			case <-ctx.Done():
			}
			if ctx.Err() != nil {
				errs[i] = ctx.Err()
				return
			}
			errs[i] = p.ask(ctx, s, site)
		})
	}
	group.Wait()
	return errors.Join(err, errors.Join(errs...))
}

// inContainer reports whether skills are started in a container.
func (p *project) inContainer() bool {
	return p.config.Settings.Runtime == job.Docker && p.opts.Discover == nil
}

// site is where servers run: in the working directory, as with perstack run.
func (p *project) site(ctx context.Context, plan *plan) (*skills.Site, func() error, error) {
	h := p.opts.Host
	files, err := workspace.Open(h.Dir, workspace.Options{ReadOnly: host.FileRules(p.config)})
	if err != nil {
		return nil, nil, &host.ExitError{Code: host.ExitUsage, Err: err}
	}
	hosts, err := h.PackageHosts(p.config.Dir, files.Path())
	if err != nil {
		return nil, nil, errors.Join(err, files.Close())
	}
	sandboxes, remove, err := p.sandboxes(ctx, plan, files.Path())
	if err != nil {
		return nil, nil, errors.Join(err, files.Close())
	}
	// What a server writes while it is asked for its tools is no data of the project.
	data, removeData, err := skills.MakeData("")
	if err != nil {
		return nil, nil, errors.Join(err, remove(), files.Close())
	}
	commands := sandbox.NewSupervisor()
	site := &skills.Site{
		Parts: engine.Parts{
			Environ:   h.Environ,
			Variables: func(name string) engine.Variable { return engine.Variable{Value: p.env.Get(name)} },
			Secrets:   &h.Secrets,
			Source:    h.Source,
			Log:       h.Logger(false),

			PackageHosts: hosts,
		},
		Workspace: files,
		Commands:  commands,
		Packages:  &packages.Store{Dir: h.CachePath(), Commands: commands, Environ: h.Environ, Hosts: hosts, Fresh: p.opts.Update},
		Data:      data,
		Sandboxes: sandboxes,
	}
	return site, func() error { return errors.Join(commands.Close(), removeData(), remove(), files.Close()) }, nil
}

// ask lists the tools of one server.
func (p *project) ask(ctx context.Context, s *server, site *skills.Site) error {
	report := func(b event.Body) {
		switch b := b.(type) {
		case event.SkillStarting:
			if s.skill.Endpoint == "" {
				p.say("  %s: starting %s", s.users[0], terminal.ShellJoin(append([]string{b.Command}, b.Args...)...))
			}
		case event.SkillStderr:
			p.quote(s, b.Message)
		}
	}
	if s.skill.Endpoint != "" {
		p.say("  %s: connecting to %s", s.users[0], host.Behind(s.skill))
	}
	var found *lockfile.Skill
	var err error
	if p.opts.Discover != nil {
		found, err = p.opts.Discover(ctx, site, s.skill, nil, report)
	} else {
		found, err = site.Discover(ctx, s.users[0].expert, s.skill, nil, report)
	}
	return p.accept(s, found, err)
}

// quote prints lines of a server or its package manager. Each is marked: it must not look like a
// message of perstack.
func (p *project) quote(s *server, text string) {
	for line := range strings.Lines(terminal.Clean(text)) {
		p.say("    | %s: %s", s.users[0], strings.TrimSpace(line))
	}
}

// accept takes what a server offers.
func (p *project) accept(s *server, found *lockfile.Skill, err error) error {
	if err == nil {
		err = p.refuseSecrets(found)
	}
	if err != nil {
		return fmt.Errorf("expert %q: %w", s.users[0].expert, err)
	}
	s.found = found
	p.say("  %s: Found %s", s.users[0], wording.Count(len(found.Tools), "tool"))
	p.warnUnknown(s)
	p.showDifferences(s)
	return nil
}

// refuseSecrets keeps secrets that a server was given out of the lockfile.
func (p *project) refuseSecrets(found *lockfile.Skill) error {
	for _, t := range found.Tools {
		if text := string(t.Definition); p.opts.Host.Secrets.Redact(text) != text {
			return fmt.Errorf("skill %q: the definition of its tool %q holds a secret that the server was given; it cannot be written to the lockfile", found.Name, t.Name)
		}
	}
	return nil
}

// sandboxes returns the sandboxes of the servers that are started: all at the level of the job,
// and those of skills that ask for one. It is nil when there are none.
func (p *project) sandboxes(ctx context.Context, plan *plan, workspace string) (*skills.Sandboxes, func() error, error) {
	nothing := func() error { return nil }
	if p.inContainer() {
		return nil, nothing, nil // no program is started on this machine
	}
	var started []*expert.Skill
	for _, s := range plan.servers {
		if !s.kept {
			started = append(started, s.skill)
		}
	}
	is := p.asked.Project.Resolved.Isolation
	needed := local.NeededBy(started, is.Sandbox)
	if needed == "" {
		if given := host.ReachFlags(p.opts.Reach); len(given) > 0 {
			p.warn(wording.And(given) + " cannot have an effect, because no skill is started in a sandbox")
		}
		return nil, nothing, nil
	}
	h := p.opts.Host
	offer := h.OfferedSandbox(ctx)
	level, err := offer.Choose(needed)
	switch {
	case err != nil && needed == expert.SandboxAuto:
		return nil, nothing, h.AcceptNoSandbox(ctx, p.config, workspace, err)
	case err != nil:
		return nil, nothing, host.Usagef("skills cannot be started in sandboxes: %w", err)
	}
	if err := host.CheckNetwork(is.Reach.Network, level, offer); err != nil {
		return nil, nothing, err
	}
	sandboxes := skills.OnHost(is.Sandbox.Restricts())
	sandboxes.Reach = is.Reach
	sandboxes.Limit(is.SandboxLimits.Or(job.DefaultSandboxLimits()))
	sandboxes, remove, err := sandboxes.Prepare(ctx, level, workspace, skills.Machine{Environ: h.Environ, Dir: h.Dir, State: h.StatePath(), Now: h.Source.Now, Log: h.Logger(false)})
	if err != nil {
		return nil, nothing, &host.ExitError{Code: host.ExitUsage, Err: err}
	}
	return sandboxes, remove, nil
}
