package manifest

import (
	"path"
	"slices"
	"strings"

	"github.com/perstack-go/perstack/expert"
	"github.com/perstack-go/perstack/internal/toml"
	"github.com/perstack-go/perstack/internal/wording"
	"github.com/perstack-go/perstack/job"
)

// maxSandboxPaths is more than any project needs. Each is looked up on the disk.
const maxSandboxPaths = 1000

// The bounds of limits in [sandbox]. With less, an ordinary program does not run.
const (
	leastSandboxMemory = 16 << 20
	leastSandboxDisk   = 1 << 20
	leastProcesses     = 16
)

// sandboxKeys are the keys of [sandbox].
func sandboxKeys() []key[job.Isolation] {
	return sandboxRows(list(maxSandboxPaths, "A path, relative to this file, or beginning with / or ~/.", text(1, 4096, toml.NoNUL)))
}

// userSandboxKeys are those of the user's configuration. It does not close paths in workspaces,
// which are others in each project.
func userSandboxKeys() []key[job.Isolation] {
	rows := sandboxRows(list(maxSandboxPaths, "A path that begins with / or ~/.", text(1, 4096, toml.NoNUL, wholePath)))
	return slices.DeleteFunc(rows, func(k key[job.Isolation]) bool { return k.name == "hide" || k.name == "protect" })
}

func sandboxRows(outside value[[]string]) []key[job.Isolation] {
	type I = job.Isolation
	inside := list(maxSandboxPaths, "A path in the workspace, relative to it.", text(1, 4096, toml.NoNUL, inWorkspace))
	limits := job.DefaultSandboxLimits()
	return []key[I]{
		row("mode", "Least level of the sandboxes of programs.", word(expert.SandboxLevels()...), func(i *I, s string) { i.Sandbox = expert.SandboxLevel(s) }).
			without("`auto`: the best level of the machine").more("see [levels](sandbox.md#levels)"),
		row("readable", "Paths outside of the workspace that programs can read.", outside, func(i *I, all []string) { i.Reach.Read = all }).without("none"),
		row("writable", "Paths outside of the workspace that programs can change.", outside, func(i *I, all []string) { i.Reach.Write = all }).without("none"),
		row("caches", "Caches of yours that commands can use and not change.", list(0, "Name of a cache.", word(job.CacheNames()...)), func(i *I, all []string) { i.Reach.Caches = append([]string{}, all...) }).
			without("all that exist").more("`go`, `npm`, `pip` or `cargo`; level `full` only"),
		row("hide", "Paths in the workspace that tools and programs cannot read.", inside, func(i *I, all []string) { i.Reach.Hide = cleanPaths(all) }).
			without("none").more("for programs at level `full` only"),
		row("protect", "Paths in the workspace that tools and programs cannot change.", inside, func(i *I, all []string) { i.Reach.Protect = cleanPaths(all) }).
			without("none").more("for programs at level `full` only"),
		row("network", "What programs can reach: no host, their allowedDomains, or all that the machine reaches.", word(job.Networks()...), func(i *I, s string) { i.Reach.Network = s }).or(job.NetworkListed),
		row("memory", "Memory that programs can use.", size(leastSandboxMemory), func(i *I, n int64) { i.SandboxLimits.Memory = n }).or(FormatBytes(limits.Memory)).more("see [limits](sandbox.md#limits)"),
		row("processes", "Maximum number of processes and threads of one sandbox.", between(leastProcesses, mostPIDs, "it counts processes and threads"), func(i *I, n int64) { i.SandboxLimits.Processes = int(n) }).or(limits.Processes),
		row("diskGrowth", "Bytes that programs can add to the disk in one run.", size(leastSandboxDisk), func(i *I, n int64) { i.SandboxLimits.DiskGrowth = n }).or(FormatBytes(limits.DiskGrowth)).more("see [limits](sandbox.md#limits)"),
	}
}

// sandbox reads [sandbox].
func (r *reader) sandbox(top *toml.Table, c *Config) {
	t := top.Sub("sandbox")
	if t == nil {
		return
	}
	readKeys(r, t, r.tables.sandbox(), &c.Settings.Isolation)
	t.Finish(r.tables.misplaced)
}

// inWorkspace accepts a path that does not lead out of the workspace, and is not all of it.
func inWorkspace(s string) (string, string) {
	clean := path.Clean(s)
	if path.IsAbs(s) || clean == "." || clean == ".." || strings.HasPrefix(clean, "../") || strings.HasPrefix(s, "~") {
		return wording.Quote(s) + " is not a path in the workspace", "write it relative to the workspace, like config/keys.json"
	}
	return "", ""
}

func cleanPaths(all []string) (clean []string) {
	for _, p := range all {
		clean = append(clean, path.Clean(p))
	}
	return clean
}
