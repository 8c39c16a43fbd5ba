package job

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/perstack-go/perstack/expert"
)

// DefaultSandbox is the level of a job with the runtime local where nothing else is said: the
// best one that the machine offers.
const DefaultSandbox = expert.SandboxAuto

// Reach is what programs in a sandbox can use besides the workspace and the programs of the
// system, and what of the workspace they cannot. Skills with a server of their own get none
// of Caches and Domains.
type Reach struct {
	Read    []string `json:"read,omitempty"`    // whole paths outside of the workspace
	Write   []string `json:"write,omitempty"`   // the same, which can be changed too
	Hide    []string `json:"hide,omitempty"`    // in the workspace, relative to it: not readable
	Protect []string `json:"protect,omitempty"` // the same: not writable
	Caches  []string `json:"caches,omitzero"`   // names of caches; nil for all that exist, empty for none
	Network string   `json:"network,omitzero"`  // empty for NetworkListed
	Domains []string `json:"domains,omitempty"` // hosts for commands, besides the allowedDomains of the base skill
}

// The networks of sandboxed programs.
const (
	NetworkNone   = "none"   // no host
	NetworkListed = "listed" // the hosts in allowedDomains
	NetworkHost   = "host"   // the network of the machine
)

// Networks lists them, the strictest first.
func Networks() []string { return []string{NetworkNone, NetworkListed, NetworkHost} }

// CacheNames lists the caches that commands can use.
func CacheNames() []string { return []string{"go", "npm", "pip", "cargo"} }

// SandboxLimits are what the programs of a job can use together. 0 says nothing.
type SandboxLimits struct {
	Memory     int64 `json:"memory,omitzero"`     // bytes
	Processes  int   `json:"processes,omitzero"`  // and threads
	DiskGrowth int64 `json:"diskGrowth,omitzero"` // bytes that one run can add
}

// DefaultSandboxLimits are the limits where nothing else is said.
func DefaultSandboxLimits() SandboxLimits {
	return SandboxLimits{Memory: 4 << 30, Processes: 512, DiskGrowth: 4 << 30}
}

// Or fills the limits that say nothing from other.
func (l SandboxLimits) Or(other SandboxLimits) SandboxLimits {
	if l.Memory <= 0 {
		l.Memory = other.Memory
	}
	if l.Processes <= 0 {
		l.Processes = other.Processes
	}
	if l.DiskGrowth <= 0 {
		l.DiskGrowth = other.DiskGrowth
	}
	return l
}

// stricter lowers limits to recorded ones. It raises none above its default.
func (l SandboxLimits) stricter(recorded SandboxLimits) SandboxLimits {
	usual := DefaultSandboxLimits()
	return SandboxLimits{
		Memory:     lower(l.Memory, withinUsual(l.Memory, recorded.Memory, usual.Memory)),
		Processes:  lower(l.Processes, withinUsual(l.Processes, recorded.Processes, usual.Processes)),
		DiskGrowth: lower(l.DiskGrowth, withinUsual(l.DiskGrowth, recorded.DiskGrowth, usual.DiskGrowth)),
	}
}

// withinUsual returns a recorded limit, or 0 if it would raise one that nothing else raises.
func withinUsual[N int | int64](said, recorded, usual N) N {
	if said <= 0 && recorded > usual {
		return 0
	}
	return recorded
}

// sandbox decides the level and the reach of programs with the runtime local. That a job ran
// without a sandbox is not kept: only the user turns it off, each time.
func (r *Resolved) sandbox(flags Flags, file, had Isolation) {
	user := flags.User.Isolation
	file = user.TightenedBy(file)
	level := had.Sandbox
	if !level.Restricts() {
		level = ""
	}
	if level.Compare(file.Sandbox) > 0 {
		file.Sandbox = ""
	}
	r.Isolation.Sandbox = first(r, "sandbox", flags.Isolation.Sandbox, file.Sandbox, level, DefaultSandbox)
	r.Isolation.SandboxLimits = file.SandboxLimits.stricter(had.SandboxLimits)
	r.usual = user.SandboxLimits
	r.reach(flags.Isolation.Reach, file.Reach, had.Reach)
	r.named.Read, r.named.Write = slices.Concat(r.named.Read, user.Reach.Read), slices.Concat(r.named.Write, user.Reach.Write)
	if r.from["sandbox"] == File && r.Isolation.Sandbox == user.Sandbox {
		r.from["sandbox"] = User
	}
	if r.from["network"] == File && r.Isolation.Reach.Network == user.Reach.Network {
		r.from["network"] = User
	}
}

// TightenedBy adds what a project says about sandboxes to what the user says: of the level, the
// network, the caches and each limit the stricter, and all paths. Those that the project opens are
// for the user to allow.
func (is Isolation) TightenedBy(file Isolation) Isolation {
	user, limits := is.Reach, is.SandboxLimits
	file.Sandbox = is.Sandbox.Stricter(file.Sandbox)
	file.SandboxLimits = SandboxLimits{
		Memory:     lower(limits.Memory, file.SandboxLimits.Memory),
		Processes:  lower(limits.Processes, file.SandboxLimits.Processes),
		DiskGrowth: lower(limits.DiskGrowth, file.SandboxLimits.DiskGrowth),
	}
	reach := &file.Reach
	reach.Read, reach.Write = slices.Concat(user.Read, reach.Read), slices.Concat(user.Write, reach.Write)
	if reach.Network == "" || user.Network != "" && slices.Index(Networks(), user.Network) < slices.Index(Networks(), reach.Network) {
		reach.Network = user.Network
	}
	switch {
	case reach.Caches == nil:
		reach.Caches = user.Caches
	case user.Caches != nil:
		reach.Caches = slices.DeleteFunc(slices.Clone(reach.Caches), func(name string) bool { return !slices.Contains(user.Caches, name) })
	}
	return file
}

// reach adds up what flags and file open, and what file and record close. A record opens
// nothing.
func (r *Resolved) reach(flags, file, had Reach) {
	r.named = flags
	r.Isolation.Reach = Reach{
		Read:    sortedNames(slices.Concat(flags.Read, file.Read)),
		Write:   sortedNames(slices.Concat(flags.Write, file.Write)),
		Hide:    sortedNames(slices.Concat(file.Hide, had.Hide)),
		Protect: sortedNames(slices.Concat(file.Protect, had.Protect)),
		Caches:  file.Caches,
		Domains: sortedNames(flags.Domains),
	}
	if !slices.Contains(Networks(), had.Network) || had.Network == NetworkHost {
		had.Network = ""
	}
	if file.Network != "" && had.Network != "" && slices.Index(Networks(), had.Network) < slices.Index(Networks(), file.Network) {
		file.Network = ""
	}
	r.Isolation.Reach.Network = first(r, "network", flags.Network, file.Network, had.Network, "")
}

// check refuses settings of sandboxes that mean nothing.
func (is *Isolation) check() error {
	if _, err := expert.ParseSandboxLevel(string(is.Sandbox)); is.Sandbox != "" && err != nil {
		return fmt.Errorf("job: Spec.Isolation.Sandbox: %w", err)
	}
	r := &is.Reach
	if r.Network != "" && !slices.Contains(Networks(), r.Network) {
		return fmt.Errorf("job: Spec.Isolation.Reach.Network %q is unknown; use %s", r.Network, strings.Join(Networks(), ", "))
	}
	for _, path := range slices.Concat(r.Read, r.Write) {
		if !filepath.IsAbs(path) || filepath.Clean(path) != path {
			return fmt.Errorf("job: Spec.Isolation.Reach opens %q; name a whole path, without dots", path)
		}
	}
	for _, path := range slices.Concat(r.Hide, r.Protect) {
		if !filepath.IsLocal(path) || filepath.Clean(path) == "." {
			return fmt.Errorf("job: Spec.Isolation.Reach closes %q; name a path in the workspace, relative to it", path)
		}
	}
	for _, name := range r.Caches {
		if !slices.Contains(CacheNames(), name) {
			return fmt.Errorf("job: Spec.Isolation.Reach.Caches has %q; choose from %s", name, strings.Join(CacheNames(), ", "))
		}
	}
	if l := is.SandboxLimits; l.Memory < 0 || l.Processes < 0 || l.DiskGrowth < 0 {
		return fmt.Errorf("job: Spec.Isolation.SandboxLimits has a negative limit; use 0 for the default")
	}
	return nil
}
