package job

import (
	"reflect"
	"slices"
	"time"

	"github.com/perstack-go/perstack/expert"
)

// The runtimes that a Spec can name.
const (
	Local  = "local"
	Docker = "docker"
)

// Isolation says what keeps commands and skills from files, network and each other.
type Isolation struct {
	// Sandbox is the least level of the sandboxes of programs with the runtime local: each skill
	// and the commands have one of their own. What a job records is the level that it had.
	// Containers always have sandboxes.
	Sandbox expert.SandboxLevel `json:"sandbox,omitzero"`
	// Reach is what programs in these sandboxes can use besides the workspace.
	Reach Reach `json:"reach,omitzero"`
	// SandboxLimits are what these programs can use together.
	SandboxLimits SandboxLimits `json:"sandboxLimits,omitzero"`
	// SharedSandbox runs all skills of a container in one sandbox. It is for kernels that
	// cannot keep them apart, and never kept when a job is resumed.
	SharedSandbox bool `json:"sharedSandbox,omitzero"`
	// Env names the variables of the user's environment that commands in a container get.
	Env []string `json:"env,omitempty"`

	Container Container `json:"container,omitzero"`
}

// A Container describes the container of the runtime docker. Zero fields say nothing; a
// resolved Spec has none of those that have a default.
type Container struct {
	Memory            int64   `json:"memory,omitzero"`            // bytes that all processes can use together
	MemoryReservation int64   `json:"memoryReservation,omitzero"` // bytes that the container gets before others do
	CPUs              float64 `json:"cpus,omitzero"`
	PIDs              int     `json:"pids,omitzero"`      // processes and threads
	TmpSize           int64   `json:"tmpSize,omitzero"`   // bytes of /tmp
	CacheSize         int64   `json:"cacheSize,omitzero"` // bytes of the home directory, where caches are

	BaseImage         string   `json:"baseImage,omitzero"`   // programs beside perstack; empty for none
	NodeImage         string   `json:"nodeImage,omitzero"`   // used instead when skills are npm packages; pinned here or by the lockfile
	PythonImage       string   `json:"pythonImage,omitzero"` // the same for packages of uv
	SquidImage        string   `json:"squidImage,omitzero"`  // image of the proxy, if that is Squid
	Mirrors           []string `json:"mirrors,omitempty"`    // asked for images before their own registry
	Offline           bool     `json:"offline,omitzero"`     // neither images nor packages are fetched
	Proxy             string   `json:"proxy,omitzero"`       // ProxyBuiltin or ProxySquid
	ReadOnlyWorkspace bool     `json:"readOnlyWorkspace,omitzero"`
	DNS               []string `json:"dns,omitempty"`    // addresses of the servers that the proxy asks; nil means those of the daemon
	Network           string   `json:"network,omitzero"` // network by which the proxy reaches out; empty for one of its own

	BuildTimeout time.Duration `json:"buildTimeout,omitzero"` // to make the image
	StartTimeout time.Duration `json:"startTimeout,omitzero"` // until the program in the container has answered and checked its isolation
	IdleTimeout  time.Duration `json:"idleTimeout,omitzero"`  // without a heartbeat from it, or from the host
	TotalTimeout time.Duration `json:"totalTimeout,omitzero"` // of the container

	MaxJournalBytes int64 `json:"maxJournalBytes,omitzero"` // that one run can add to the history
}

// The proxies by which a container reaches out.
const (
	ProxyBuiltin = "builtin"
	ProxySquid   = "squid"
)

// DefaultContainer returns the settings of a container where nothing else is said.
func DefaultContainer() Container {
	return Container{
		Memory:            2 << 30,
		MemoryReservation: 256 << 20,
		CPUs:              2,
		PIDs:              256,
		TmpSize:           256 << 20,
		CacheSize:         256 << 20,
		NodeImage:         "node:24-bookworm-slim",
		Proxy:             ProxyBuiltin,
		BuildTimeout:      10 * time.Minute,
		StartTimeout:      time.Minute,
		IdleTimeout:       2 * time.Minute,
		TotalTimeout:      24 * time.Hour,
		MaxJournalBytes:   1 << 30,
	}
}

// Or fills the zero fields of c from other.
func (c Container) Or(other Container) Container {
	to, from := reflect.ValueOf(&c).Elem(), reflect.ValueOf(other)
	for i := range to.NumField() {
		if to.Field(i).IsZero() {
			to.Field(i).Set(from.Field(i))
		}
	}
	if c.Memory > 0 { // the daemon refuses a reservation above the limit
		c.MemoryReservation = min(c.MemoryReservation, c.Memory)
	}
	return c
}

// restrict lowers the limits of c to those of a recorded container. It never raises one: a
// journal can be forged.
func (c *Container) restrict(had Container) {
	c.Memory = lower(c.Memory, had.Memory)
	c.MemoryReservation = min(c.MemoryReservation, c.Memory)
	c.CPUs = lower(c.CPUs, had.CPUs)
	c.PIDs = lower(c.PIDs, had.PIDs)
	c.TmpSize, c.CacheSize = lower(c.TmpSize, had.TmpSize), lower(c.CacheSize, had.CacheSize)
	c.TotalTimeout = lower(c.TotalTimeout, had.TotalTimeout)
	c.MaxJournalBytes = lower(c.MaxJournalBytes, had.MaxJournalBytes)
	c.Offline = c.Offline || had.Offline
}

// lower returns the lower of two limits; a recorded one that is not positive says nothing.
func lower[N int | int64 | float64 | time.Duration](limit, recorded N) N {
	if recorded > 0 && (limit <= 0 || recorded < limit) { // a limit below 0 is none
		return recorded
	}
	return limit
}

// sortedNames returns names in order and each once, nil if there are none.
func sortedNames(names []string) []string {
	return slices.Compact(slices.Sorted(slices.Values(names)))
}
