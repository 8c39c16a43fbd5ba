package run

import (
	"fmt"

	"github.com/perstack-go/perstack/expert"
	"github.com/perstack-go/perstack/internal/cli/host"
	"github.com/perstack-go/perstack/internal/sandbox/cell"
	"github.com/perstack-go/perstack/internal/skills"
	"github.com/perstack-go/perstack/internal/terminal"
)

// sharedCell is what --shared-cell gives up. It is said at every start: whoever put the flag
// into a script a year ago must still read it.
const sharedCell = "--shared-cell: skills and commands are not kept apart: each can read the files and variables of the others, signal them, and use their hosts"

// sandbox reports whether every skill gets a cell with the runtime local: as the flag says,
// else as it was before.
func (s *setup) sandbox() bool {
	return s.runtime != expert.DockerRuntime && (s.opts.Sandbox || s.kept.Sandbox)
}

// cells says how the programs of the built-in runtime are locked in; nil where nothing asks
// for it.
func (s *setup) cells(e *expert.Expert) *skills.Cells {
	if s.celled(e) == "" {
		return nil
	}
	return skills.Machine(s.sandbox())
}

// celled names what asks for cells with the runtime local: the flag, or the first skill of
// the Expert or of one that it can delegate to; "" if nothing does.
func (s *setup) celled(e *expert.Expert) string {
	if s.sandbox() {
		return "--sandbox"
	}
	experts, _ := s.config.Closure(e)
	for _, e := range experts {
		for _, k := range e.Skills {
			if k.InCell(s.runtime, false) {
				return fmt.Sprintf("sandbox of the skill %q of %s", k.Name, e.Key)
			}
		}
	}
	return ""
}

// checkCells refuses, before anything starts, cells that nobody could keep. To go on without
// them would be to run a stranger's program where the user said that it must not run.
func (s *setup) checkCells(e *expert.Expert) error {
	if s.runtime == expert.DockerRuntime {
		if err := s.checkProxy(); err != nil {
			return err
		}
		if s.opts.SharedCell && s.walls().Proxy == expert.ProxySquid {
			return host.Usagef("--shared-cell does not go with proxy = %q: its gates ask for no token, so that nothing but cells keeps a skill from the hosts of another; use proxy = %q", expert.ProxySquid, expert.ProxyBuiltin)
		}
		return nil
	}
	by := s.celled(e)
	if by == "" {
		return nil
	}
	if err := s.available(); err != nil {
		return host.Usagef("%s: %w; or use --runtime docker on a machine that can", by, err)
	}
	return nil
}

// checkProxy wants to hear from the user that Squid is the proxy. The file names the image,
// and whoever made that decides what leaves the container, whatever the lists say: a
// repository that was cloned must not choose it.
func (s *setup) checkProxy() error {
	d := s.walls()
	image := terminal.CleanLine(d.SquidImage)
	switch {
	case d.Proxy != expert.ProxySquid:
	case s.opts.Proxy == "":
		return host.Usagef("%s has the program of the image %s decide what leaves the container; if you trust that image, add --proxy %s, else --proxy %s", terminal.CleanLine(s.config.Path), image, expert.ProxySquid, expert.ProxyBuiltin)
	case d.SquidImage == "":
		return host.Usagef("--proxy %s needs an image with Squid; name it as squidImage in [docker] of %s", expert.ProxySquid, terminal.CleanLine(s.config.Path))
	default:
		fmt.Fprintf(s.opts.Host.Stderr, "perstack: connections leave the container by Squid, of the image %s\n", image)
	}
	return nil
}

// available says why this machine keeps no cells.
func (s *setup) available() error {
	if s.keepsCells != nil {
		return s.keepsCells()
	}
	return cell.Available()
}

// keepCells takes over whether a job had cells. They are kept because a flag that was not
// repeated must not open them; that they were shared is not, for the same reason.
func (s *setup) keepCells(before author) {
	o, had := s.opts, before.walls
	if had == nil {
		return
	}
	switch {
	case had.Sandbox && s.runtime == expert.DefaultRuntime && !o.Sandbox && !o.NoSandbox:
		s.kept.Sandbox = true
		fmt.Fprintln(o.Host.Stderr, "perstack: the job goes on with cells, as before; --sandbox=false is without")
	case had.Sandbox && s.runtime == expert.DefaultRuntime && o.NoSandbox:
		fmt.Fprintln(o.Host.Stderr, "perstack: the job goes on without cells, it was run with --sandbox: nothing is around its skills and commands any more")
	case had.SharedCell && s.runtime == expert.DockerRuntime && !o.SharedCell:
		fmt.Fprintln(o.Host.Stderr, "perstack: the job goes on with a cell for each skill, it was run with --shared-cell")
	}
}
