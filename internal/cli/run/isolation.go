package run

import (
	"context"
	"fmt"

	"github.com/perstack-go/perstack/expert"
	"github.com/perstack-go/perstack/internal/cli/host"
	"github.com/perstack-go/perstack/internal/runtimes/local"
	"github.com/perstack-go/perstack/internal/terminal"
	"github.com/perstack-go/perstack/internal/wording"
	"github.com/perstack-go/perstack/job"
)

// checkSandbox refuses isolation that cannot be had. Without it, an untrusted
// program would run where the user said that it must not.
func (pl *plan) checkSandbox(ctx context.Context) error {
	if pl.spec.Runtime == job.Docker {
		return pl.checkProxy()
	}
	if line := host.ForeignWorkspace(pl.spec.Workspace.Dir); line != "" && local.StartPrograms(pl.spec.Experts) {
		pl.say("%s", line)
	}
	needed := local.Needed(pl.spec.Experts, pl.spec.Isolation.Sandbox)
	if needed == "" {
		pl.tellReach()
		pl.tellUnenforced(pl.spec.Isolation.Sandbox)
		pl.tellLevel()
		return nil
	}
	offered := pl.opts.Host.OfferedSandbox
	if pl.opts.sandboxes != nil {
		offered = func(context.Context) local.Offer { return pl.opts.sandboxes() }
	}
	offer := offered(ctx)
	level, err := offer.Choose(needed)
	switch {
	case err != nil && needed == expert.SandboxAuto:
		return pl.acceptNone(ctx, err)
	case err != nil:
		return host.Usagef("%s: %w; or use --runtime docker on a machine that can", pl.sandboxedBy(needed), err)
	}
	if err := host.CheckNetwork(pl.spec.Isolation.Reach.Network, level, offer); err != nil {
		return err
	}
	if level != expert.SandboxFull && pl.spec.Isolation.Sandbox == expert.SandboxAuto {
		pl.say("%s; perstack doctor says what is missing for level full", offer.Lacks())
	}
	if pl.spec.Isolation.Sandbox.Restricts() {
		pl.spec.Isolation.Sandbox = level
	}
	pl.tellLevel()
	pl.tellUnenforced(level)
	open, err := pl.opts.Host.SandboxWorkspace(pl.project.history, pl.spec.Workspace.Dir, level)
	if open != "" {
		pl.say("%s", open)
	}
	return err
}

// acceptNone asks whether programs can run without a sandbox on a machine that has none.
// The answer is kept for the project.
func (pl *plan) acceptNone(ctx context.Context, why error) error {
	if err := pl.opts.Host.AcceptNoSandbox(ctx, pl.project.config, pl.spec.Workspace.Dir, why); err != nil {
		return err
	}
	pl.spec.Isolation.Sandbox = expert.SandboxOff
	pl.tellLevel()
	pl.tellUnenforced(expert.SandboxOff)
	return nil
}

// tellUnenforced says which settings of the file programs are not held to.
func (pl *plan) tellUnenforced(level expert.SandboxLevel) {
	if line := host.Unenforced(pl.spec.Isolation, level); line != "" && local.StartPrograms(pl.spec.Experts) {
		pl.say("%s", line)
	}
}

// tellReach says that flags open nothing, because there is no sandbox that they could open.
func (pl *plan) tellReach() {
	if given := host.ReachFlags(pl.opts.Flags.Isolation.Reach); len(given) > 0 {
		pl.say("%s cannot have an effect, because no program of this job runs in a sandbox", wording.And(given))
	}
}

// sandboxedBy names what asks for a level: the setting of the job, or the first skill of an
// Expert.
func (pl *plan) sandboxedBy(level expert.SandboxLevel) string {
	if pl.spec.Isolation.Sandbox == level {
		switch pl.resolved.From("sandbox") {
		case job.File:
			return "mode in [sandbox]"
		case job.User:
			return "mode in [sandbox] of config.toml"
		case job.Record:
			return "the sandbox that the job had"
		}
		return "--sandbox=" + string(level)
	}
	for _, e := range pl.spec.Experts {
		for _, k := range e.Skills {
			if k.UsesSandbox() && k.Sandbox == level {
				return fmt.Sprintf("sandbox of the skill %q of %s", k.Name, e.Key)
			}
		}
	}
	return "the sandbox"
}

// checkProxy says what the container depends on. That a file names Squid, or an image, is a
// request that the user has allowed.
func (pl *plan) checkProxy() error {
	c, path := pl.spec.Isolation.Container, pl.project.config.Path
	switch {
	case c.Proxy != job.ProxySquid:
	case c.SquidImage == "":
		return host.Usagef("--proxy %s needs an image with Squid; name it as squidImage in [docker] of %s", job.ProxySquid, terminal.CleanLine(path))
	case pl.spec.Isolation.SharedSandbox:
		return host.Usagef("--shared-sandbox cannot be used with proxy = %q, which takes no tokens: each skill could use the hosts of the others; use proxy = %q", job.ProxySquid, job.ProxyBuiltin)
	default:
		pl.say("connections leave the container through Squid, from the image %s", c.SquidImage)
	}
	if image := c.BaseImage; image != "" && pl.resolved.From("baseImage") == job.File {
		pl.say("the container uses the image %s, as %s says", image, path)
	}
	if pl.spec.Isolation.SharedSandbox {
		pl.say("%s", sharedSandbox)
	}
	return nil
}

// sharedSandbox is what --shared-sandbox gives up. It is printed at every start, because
// the flag can be in a script that was written long ago.
const sharedSandbox = "--shared-sandbox: skills and commands share one sandbox: each can read the files and variables of the others, signal them, and use their hosts"
