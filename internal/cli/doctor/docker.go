package doctor

import (
	"context"
	"strings"

	"github.com/perstack-go/perstack/internal/runtimes/docker"
	"github.com/perstack-go/perstack/job"
)

// docker looks for a daemon on this machine, and for the program that goes into its containers.
// Both are needed if the project uses the runtime docker.
func (x *examination) docker(ctx context.Context) []Check {
	missing := Info
	if c := x.project().config; c != nil && c.Settings.Runtime == job.Docker {
		missing = Fail
	}
	c := Check{ID: "docker", Title: "Docker", Status: OK}
	d, err := docker.Connect(ctx, x.host.Getenv, x.host.Home)
	if err != nil {
		if c.Status, c.Detail = missing, err.Error(); missing == Fail {
			c.Fix = "start Docker, or use the runtime local"
		}
		return []Check{c}
	}
	defer d.Close()
	c.Detail = "daemon " + d.Version + " at " + d.Host
	if len(d.Notes) > 0 {
		c.Status, c.Detail = Warn, c.Detail+"; "+strings.Join(d.Notes, "; ")
	}
	helper := Check{ID: "docker.program", Title: "Docker program", Status: OK}
	executable, err := x.opts.Executable()
	if err == nil {
		var parts docker.ImageSpec
		parts, err = docker.Parts(executable, x.host.Getenv, d.Arch)
		helper.Detail = parts.Binary
	}
	if err != nil {
		if helper.Status, helper.Detail = missing, err.Error(); missing == Fail {
			helper.Fix = "use the archive of a release, which has it"
		}
	}
	return []Check{c, helper}
}
