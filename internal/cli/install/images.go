package install

import (
	"context"
	"fmt"
	"slices"

	"github.com/perstack-go/perstack/expert"
	"github.com/perstack-go/perstack/internal/lockfile"
	"github.com/perstack-go/perstack/internal/manifest"
	"github.com/perstack-go/perstack/internal/runtimes/docker"
	"github.com/perstack-go/perstack/job"
)

// A pinner finds the digests of images: a name can mean another image tomorrow.
type pinner struct {
	unknown []string // names that the daemon is asked about
	ask     func(ctx context.Context, name string, from docker.Sources) (string, error)
	close   func()
}

// pinner connects to the Docker daemon if there are images to pin. It is called before any skill
// is started: no untrusted program should run for a lockfile that cannot be written. Pins of the
// old lockfile stay, except with --update. An image with a digest needs no pin.
func (p *project) pinner(ctx context.Context, plan *plan, old *lockfile.Lock) (*pinner, error) {
	by := &pinner{ask: p.opts.Pin, close: func() {}}
	if p.config.Settings.Runtime != job.Docker {
		return by, nil
	}
	for _, name := range p.config.Images() {
		if _, ok := old.Image(name); !manifest.ImagePinned(name) && (!ok || p.opts.Update) {
			by.unknown = append(by.unknown, name)
		}
	}
	starts := p.inContainer() && slices.ContainsFunc(plan.servers, func(s *server) bool { return !s.kept && s.skill.Type == expert.StdioSkill })
	if len(by.unknown) == 0 && !starts || by.ask != nil {
		return by, nil
	}
	daemon, err := docker.Connect(ctx, p.opts.Host.Getenv, p.opts.Host.Home)
	if err != nil && len(by.unknown) == 0 {
		return nil, fmt.Errorf("skills cannot be started in a container: %w", err)
	}
	if err != nil {
		return nil, fmt.Errorf("the image %s cannot be pinned: %w; or write its digest behind its name, in [docker]", by.unknown[0], err)
	}
	by.ask, by.close = daemon.Pin, daemon.Close
	return by, nil
}

// pinImages returns the pins for the lockfile. A missing image shows here, before a skill is started.
func (p *project) pinImages(ctx context.Context, by *pinner, old *lockfile.Lock) (images []lockfile.Image, err error) {
	// Old pins are kept with runtime local, too: they are for runs with --runtime docker. With
	// --base-image they are for runs without it.
	for _, name := range p.images {
		if pinned, ok := old.Image(name); ok && !manifest.ImagePinned(name) && !slices.Contains(by.unknown, name) {
			images = append(images, lockfile.Image{Name: name, Pinned: pinned})
		}
	}
	for _, name := range by.unknown {
		d := p.config.Settings.Isolation.Container
		pinned, err := by.ask(ctx, name, docker.Sources{Mirrors: d.Mirrors, Offline: d.Offline, Fresh: p.opts.Update})
		if err != nil {
			return nil, err
		}
		p.say("  %s: pinned to %s", name, pinned)
		if before, ok := old.Image(name); ok && before != pinned {
			p.say("  %s: ~ image: was %s", name, before)
		}
		images = append(images, lockfile.Image{Name: name, Pinned: pinned})
	}
	return images, nil
}
