package install

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/expert"
	"github.com/perstack-go/perstack/internal/cli/host"
	"github.com/perstack-go/perstack/internal/lockfile"
	"github.com/perstack-go/perstack/internal/manifest"
	"github.com/perstack-go/perstack/internal/providers"
	"github.com/perstack-go/perstack/internal/runtimes/docker"
	"github.com/perstack-go/perstack/internal/skills"
	"github.com/perstack-go/perstack/job"
	"github.com/perstack-go/perstack/rawjson"
)

// collectInContainer lists the tools of servers that are programs in a container like that of a job:
// nothing of a skill runs on this machine. Package managers do, and they run no code of packages.
func (p *project) collectInContainer(ctx context.Context, plan *plan, site *skills.Site, images []lockfile.Image) error {
	asked := make(map[[2]string]*server)
	pinned := &lockfile.Lock{Path: p.config.LockFile(), ConfigPath: filepath.Base(p.config.Path), Images: images}
	var experts []*expert.Expert
	for _, s := range plan.servers {
		if s.kept || s.skill.Type != expert.StdioSkill {
			continue
		}
		entry, err := p.resolve(ctx, s, site)
		if err != nil {
			s.failed = fmt.Errorf("expert %q: skill %q: %w", s.users[0].expert, s.skill.Name, err)
			continue
		}
		alone := s.alone()
		alone.Version, alone.Instruction = "0.0.0", "List the tools." // no model reads it
		asked[[2]string{alone.Key, s.skill.Name}] = s
		i := slices.IndexFunc(experts, func(e *expert.Expert) bool { return e.Key == alone.Key })
		if i < 0 {
			experts = append(experts, alone)
			pinned.Experts = append(pinned.Experts, lockfile.NewExpert(alone))
			i = len(experts) - 1
		} else {
			experts[i].Skills = append(experts[i].Skills, s.skill)
		}
		pinned.Experts[i].Skills = append(pinned.Experts[i].Skills, entry)
		p.say("  %s: starting %s in a container", s.users[0], host.Behind(s.skill))
	}
	if len(asked) == 0 {
		return nil
	}
	spec, err := p.containerSpec(experts, pinned)
	if err != nil {
		return err
	}
	h := p.opts.Host
	parts := site.Parts
	parts.CacheDir, parts.Dir = h.CachePath(), h.Dir
	return docker.Discover(ctx, spec, parts, docker.Discovery{
		Progress: func(b event.Body) {
			if step, ok := b.(event.DockerBuildProgress); ok && step.Progress == nil {
				p.say("  container: %s", step.Message)
			}
		},
		Note: func(key, skill, line string) { p.quote(asked[[2]string{key, skill}], line) },
		Found: func(key, skill string, tools []rawjson.Value, err error) {
			s := asked[[2]string{key, skill}]
			locked, _ := pinned.Expert(key)
			entry, _ := locked.Skill(skill)
			for _, definition := range tools {
				var tool lockfile.Tool
				if err == nil {
					tool, err = lockfile.ParseTool(definition)
				}
				entry.Tools = append(entry.Tools, tool)
			}
			s.failed = p.accept(s, entry, err)
		},
	})
}

// resolve returns what is known of a server before it is started: its package and its program.
func (p *project) resolve(ctx context.Context, s *server, site *skills.Site) (*lockfile.Skill, error) {
	entry := &lockfile.Skill{Name: s.skill.Name, Digest: s.skill.Connection()}
	wanted, ok := s.skill.Package()
	var err error
	switch {
	case ok && wanted.Manager == "npx":
		entry.Package, err = site.Packages.Resolve(ctx, wanted, func(line string) { p.quote(s, line) })
	case ok:
		entry.Package = &lockfile.Package{Manager: wanted.Manager, Name: wanted.Name, Version: wanted.Version}
	default:
		entry.Program, err = skills.PinProgram(s.skill, site.Workspace.Path(), job.Docker)
	}
	return entry, err
}

// containerSpec is a Spec like that of a job of these Experts. The first can reach all others.
func (p *project) containerSpec(experts []*expert.Expert, pinned *lockfile.Lock) (job.Spec, error) {
	h := p.opts.Host
	for _, e := range experts[1:] {
		experts[0].Delegates = append(experts[0].Delegates, e.Key)
	}
	spec := p.config.Spec(experts[0])
	spec.Experts = experts
	spec.Complete(providers.Catalogue{})
	spec.JobID, spec.Runtime = h.Source.NewID(), job.Docker
	spec.Lock, spec.LockPath = string(pinned.Encode()), pinned.Path
	spec.Workspace = job.Workspace{Dir: h.Dir, ReadOnly: host.FileRules(p.config)}
	for _, f := range manifest.EnvFiles(h.Dir, h.Home, p.opts.EnvPath, p.config) {
		spec.Workspace.Hidden = append(spec.Workspace.Hidden, f.Path)
	}
	history, err := h.History("", p.opts.Config, h.Dir)
	if err != nil {
		return job.Spec{}, err
	}
	spec.Workspace.Hidden = append(spec.Workspace.Hidden, history.Hidden()...)
	return spec, nil
}
