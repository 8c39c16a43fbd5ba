package doctor

import (
	"context"
	"runtime"
	"strings"

	"github.com/perstack-go/perstack/expert"
	"github.com/perstack-go/perstack/internal/sandbox/probe"
)

// stepPrefix begins the ids of the steps of the sandbox.
const stepPrefix = "sandbox."

// stepTitle is what a step is called in the list.
func stepTitle(name string) string {
	switch name {
	case probe.IDs:
		return "user and group"
	case probe.Proc:
		return "/proc"
	case probe.Landlock:
		return "Landlock"
	case probe.Memory:
		return "memory limit"
	case probe.Start:
		return "complete start"
	case probe.Start + ".root":
		return "read-only system"
	case probe.Start + ".loopback":
		return "local servers"
	case probe.Start + ".proc":
		return "own /proc"
	}
	return strings.TrimPrefix(name, probe.Start+".") // the checks of a complete start
}

// sandbox tries which level the machine offers.
func (x *examination) sandbox(ctx context.Context) []Check {
	level, steps := x.opts.Level(ctx)
	c := Check{ID: "sandbox", Title: "sandbox", Status: OK, Detail: "level full"}
	lost := Fail // what a step that fails means
	switch {
	case level == expert.SandboxFull:
		lost = Info
	case level == expert.SandboxLandlock:
		lost = Warn
		c.Status, c.Detail = Warn, "level landlock: commands cannot use localhost, and protected files in the workspace stay open"
	case runtime.GOOS != "linux":
		lost = Info
		c.Status, c.Detail, c.Fix = Warn, "there is none on this system", "use --runtime docker for code that you do not trust"
	default:
		c.Status, c.Detail = Fail, "this machine offers none"
		c.Fix = "see the steps below, or use --runtime docker"
	}
	all := []Check{c}
	for _, s := range steps {
		all = append(all, stepCheck(s, lost))
	}
	return all
}

func stepCheck(s probe.Step, lost Status) Check {
	c := Check{ID: stepPrefix + s.Name, Title: stepTitle(s.Name), Status: OK, Detail: s.Detail}
	switch s.Status {
	case probe.OK:
	case probe.Skipped:
		c.Status = Info
	default:
		c.Status = lost
		if s.Name == probe.Memory || s.Name == probe.Caches {
			c.Status = Info // both have substitutes
		}
		c.Detail = "cannot " + s.Detail
		if s.Errno != "" {
			c.Detail += " (" + s.Errno + ")"
		}
		if s.Cause != "" {
			c.Detail += ": " + s.Cause
		}
		if c.Status != Info {
			c.Fix = strings.ReplaceAll(s.Remedy, probe.AllowByProfile, installProfile)
		}
	}
	return c
}
