package run

import (
	"fmt"

	"github.com/perstack-go/perstack/internal/cli/host"
	"github.com/perstack-go/perstack/internal/sandbox/landlock"
	"github.com/perstack-go/perstack/internal/skills"
	"github.com/perstack-go/perstack/internal/terminal"
	"github.com/perstack-go/perstack/job"
)

// checkSandbox refuses isolation that cannot be had. Without it, an untrusted
// program would run where the user said that it must not.
func (pl *plan) checkSandbox() error {
	if pl.spec.Runtime == job.Docker {
		return pl.checkProxy()
	}
	by := pl.sandboxedBy()
	if by == "" {
		return nil
	}
	available := pl.opts.sandboxAvailable
	if available == nil {
		available = landlock.Available
	}
	if err := available(); err != nil {
		return host.Usagef("%s: %w; or use --runtime docker on a machine that can", by, err)
	}
	return pl.checkHistory()
}

// checkHistory refuses a workspace that contains the state of the user, such as a home
// directory: a sandbox opens the workspace as a whole, and the key that seals the history is
// there.
func (pl *plan) checkHistory() error {
	found, state, err := pl.project.history.In(pl.spec.Workspace.Dir)
	switch {
	case err != nil:
		return host.Usagef("look for the history in the workspace: %w", err)
	case state:
		return host.Usagef("the workspace contains %s, where perstack keeps its key and history, and a sandbox cannot hide it; choose a smaller one with --workspace", found[0])
	case len(found) > 0:
		pl.say("the sandbox cannot hide the history in the workspace (%s): programs can read and remove it", found[0])
	}
	return nil
}

// sandboxedBy names what asks for a sandbox with the runtime local: the flag, or the first
// skill of an Expert; "" if nothing does.
func (pl *plan) sandboxedBy() string {
	if pl.spec.Runtime != job.Local {
		return ""
	}
	if pl.spec.Isolation.Sandbox {
		return "--sandbox"
	}
	machine := skills.OnHost(false)
	for _, e := range pl.spec.Experts {
		for _, k := range e.Skills {
			if machine.Contain(k) {
				return fmt.Sprintf("sandbox of the skill %q of %s", k.Name, e.Key)
			}
		}
	}
	return ""
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
