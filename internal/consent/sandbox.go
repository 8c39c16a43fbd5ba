package consent

import (
	"slices"
	"strconv"

	"github.com/perstack-go/perstack/expert"
	"github.com/perstack-go/perstack/internal/manifest"
	"github.com/perstack-go/perstack/internal/toml"
	"github.com/perstack-go/perstack/job"
)

// sandbox adds what [sandbox] opens. A file can tighten a sandbox, but not open it: only the
// user does that, by name. Where no program has a sandbox, there is nothing to open.
func (l *lister) sandbox() {
	r := &l.project.Resolved
	skills := func(is func(*expert.Skill) bool) bool {
		return slices.ContainsFunc(l.project.Experts, func(e *expert.Expert) bool { return slices.ContainsFunc(e.Skills, is) })
	}
	if !skills((*expert.Skill).UsesSandbox) {
		return
	}
	add := func(key, subject, format string, args ...any) *Request {
		q := l.add(manifest.RequestSandbox, "sandbox."+key, key+" "+subject, format, args...)
		q.Explicit = true
		return q
	}
	if r.From("sandbox") == job.File && r.Isolation.Sandbox == expert.SandboxOff {
		add("mode", "off", "programs run without a sandbox, with all your rights")
	}
	if !skills(func(s *expert.Skill) bool { return s.Sandboxed(r.Runtime, r.Isolation.Sandbox) }) {
		return
	}
	said := l.project.Config.Settings.Isolation
	for _, list := range []struct {
		key, format string
		paths       []string
		write       bool
	}{
		{"readable", "programs can read %s", said.Reach.Read, false},
		{"writable", "programs can change %s", said.Reach.Write, true},
	} {
		for i, path := range list.paths {
			if !r.Opened(path, list.write) && (l.project.Workspace == "" || !Below(path, l.project.Workspace)) {
				q := add(toml.PathTo(list.key, strconv.Itoa(i)), "", list.format, path)
				q.Value, q.subject = path, list.key+" "+path
			}
		}
	}
	if r.From("network") == job.File && r.Isolation.Reach.Network == job.NetworkHost {
		add("network", job.NetworkHost, "programs can use the network of this machine")
	}
	l.sandboxLimits(r.Isolation.SandboxLimits, r.UsualLimits())
}

func (l *lister) sandboxLimits(is, usual job.SandboxLimits) {
	if is.Memory > usual.Memory {
		l.raised("sandbox.memory", "memory of sandboxes", manifest.FormatBytes(is.Memory), manifest.FormatBytes(usual.Memory))
	}
	if is.Processes > usual.Processes {
		l.raised("sandbox.processes", "processes of sandboxes", strconv.Itoa(is.Processes), strconv.Itoa(usual.Processes))
	}
	if is.DiskGrowth > usual.DiskGrowth {
		l.raised("sandbox.diskGrowth", "diskGrowth of sandboxes", manifest.FormatBytes(is.DiskGrowth), manifest.FormatBytes(usual.DiskGrowth))
	}
}
