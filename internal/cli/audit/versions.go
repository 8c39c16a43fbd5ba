package audit

import (
	"context"
	"runtime"
	"runtime/debug"
	"strings"

	"github.com/perstack-go/perstack/internal/audit"
	"github.com/perstack-go/perstack/internal/cli/host"
	"github.com/perstack-go/perstack/internal/runtimes/docker"
	"github.com/perstack-go/perstack/internal/sandbox"
	"github.com/perstack-go/perstack/internal/sandbox/landlock"
	"github.com/perstack-go/perstack/internal/sandbox/probe"
	"github.com/perstack-go/perstack/internal/userfile"
	"github.com/perstack-go/perstack/internal/version"
	"github.com/perstack-go/perstack/internal/wording"
)

// versions lists every part of this program, the system, and the modules that are linked in. The
// self-test also asks the programs that perstack starts; a review starts nothing.
func versions(ctx context.Context, h *host.Host, selfTest bool) []audit.Version {
	all := []audit.Version{
		{Name: "perstack", Version: version.String()},
		{Name: "go", Version: runtime.Version()},
		{Name: "system", Version: runtime.GOOS + "/" + runtime.GOARCH},
	}
	if release, err := userfile.Read("/proc/sys/kernel/osrelease", 256); err == nil {
		all = append(all, audit.Version{Name: "kernel", Version: strings.TrimSpace(string(release))})
	}
	sandboxes := "available"
	if err := landlock.Available(); err != nil {
		sandboxes = "not available: " + err.Error()
	}
	all = append(all, audit.Version{Name: "sandbox landlock", Version: sandboxes})
	if selfTest {
		level, _ := probe.Prober{Complete: sandbox.Complete}.Level(ctx)
		all = append(all, audit.Version{Name: "sandbox level", Version: string(level)})
		all = append(all, audit.Version{Name: "docker daemon", Version: daemon(ctx, h)})
		all = append(all, tools(ctx, h)...)
	}
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, m := range info.Deps {
			if m.Replace != nil {
				m = m.Replace
			}
			all = append(all, audit.Version{Name: m.Path, Version: strings.TrimPrefix(m.Version, "v")})
		}
	}
	return all
}

// daemon is the version of the Docker daemon that jobs would use.
func daemon(ctx context.Context, h *host.Host) string {
	d, err := docker.Connect(ctx, h.Getenv, h.Home)
	if err != nil {
		return "not available"
	}
	defer d.Close()
	return d.Version
}

// tools asks the programs that perstack starts for skills and images.
func tools(ctx context.Context, h *host.Host) (all []audit.Version) {
	const longest = 100
	supervisor := sandbox.NewSupervisor()
	defer supervisor.Close()
	for _, name := range []string{"docker", "node", "npm", "uv"} {
		said := "not installed"
		// In the root directory, no file of a project tells them what to do.
		outcome, err := supervisor.Version(ctx, name, "/", h.Environ)
		switch {
		case err == nil && outcome.ExitCode == 0:
			said, _, _ = strings.Cut(strings.TrimSpace(outcome.Stdout.String()), "\n")
		case err == nil:
			said = "does not say"
		}
		all = append(all, audit.Version{Name: name, Version: wording.CutRunes(said, longest, "…")})
	}
	return all
}
