package expert

import (
	"cmp"
	"time"
)

// Docker is [docker]: the walls of the Docker runtime. It does not hold defaults: a field
// that the file does not set is zero.
type Docker struct {
	Memory            int64 // bytes that all processes of the container may use together
	MemoryReservation int64 // bytes that they get before others do
	CPUs              float64
	PIDs              int   // processes and threads
	TmpSize           int64 // bytes of /tmp
	CacheSize         int64 // bytes of the home directory, where caches are

	BaseImage         string   // what the container has beside perstack; empty for nothing
	NodeImage         string   // what it has instead when skills are packages of npm; pinned here or by the lockfile
	PythonImage       string   // the same for packages of uv
	SquidImage        string   // what the proxy runs in, if it is Squid
	Mirrors           []string // where images are looked for before their own registry
	Offline           bool     // nothing is fetched: neither images nor packages
	Proxy             string   // ProxyBuiltin or ProxySquid; empty means the first
	ReadOnlyWorkspace bool     // the workspace cannot be changed
	DNS               []string // addresses of the servers that the proxy asks; nil means those of the engine
	Network           string   // network by which the proxy goes out; empty for one of its own

	BuildTimeout time.Duration // to make the image
	StartTimeout time.Duration // until the engine in the container has answered and checked its walls
	IdleTimeout  time.Duration // without a sign of life from it
	TotalTimeout time.Duration // of the container

	MaxJournalBytes int64 // what one run may add to the history
}

// The proxies by which a container gets out.
const (
	ProxyBuiltin = "builtin"
	ProxySquid   = "squid"
)

// Or completes d with what other says: each setting that d leaves open is that of other.
// The engine refuses a reservation above the limit, so a small limit takes the default
// reservation down with it.
func (d Docker) Or(other Docker) Docker {
	d.Memory = cmp.Or(d.Memory, other.Memory)
	d.MemoryReservation = cmp.Or(d.MemoryReservation, other.MemoryReservation)
	if d.Memory > 0 {
		d.MemoryReservation = min(d.MemoryReservation, d.Memory)
	}
	d.CPUs = cmp.Or(d.CPUs, other.CPUs)
	d.PIDs = cmp.Or(d.PIDs, other.PIDs)
	d.TmpSize = cmp.Or(d.TmpSize, other.TmpSize)
	d.CacheSize = cmp.Or(d.CacheSize, other.CacheSize)
	d.BaseImage = cmp.Or(d.BaseImage, other.BaseImage)
	d.NodeImage = cmp.Or(d.NodeImage, other.NodeImage)
	d.PythonImage = cmp.Or(d.PythonImage, other.PythonImage)
	d.SquidImage = cmp.Or(d.SquidImage, other.SquidImage)
	if d.Mirrors == nil {
		d.Mirrors = other.Mirrors
	}
	d.Offline = d.Offline || other.Offline
	d.Proxy = cmp.Or(d.Proxy, other.Proxy)
	d.ReadOnlyWorkspace = d.ReadOnlyWorkspace || other.ReadOnlyWorkspace
	if d.DNS == nil {
		d.DNS = other.DNS
	}
	d.Network = cmp.Or(d.Network, other.Network)
	d.BuildTimeout = cmp.Or(d.BuildTimeout, other.BuildTimeout)
	d.StartTimeout = cmp.Or(d.StartTimeout, other.StartTimeout)
	d.IdleTimeout = cmp.Or(d.IdleTimeout, other.IdleTimeout)
	d.TotalTimeout = cmp.Or(d.TotalTimeout, other.TotalTimeout)
	d.MaxJournalBytes = cmp.Or(d.MaxJournalBytes, other.MaxJournalBytes)
	return d
}

// DefaultDocker is what holds where neither the file nor a flag says otherwise.
func DefaultDocker() Docker {
	return Docker{
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
