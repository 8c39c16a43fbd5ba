package manifest

import (
	"fmt"
	"net/netip"
	"regexp"
	"strings"
	"sync"
	"time"

	"github.com/perstack-go/perstack/internal/toml"
	"github.com/perstack-go/perstack/internal/wording"
	"github.com/perstack-go/perstack/job"
)

// dockerKeys are the keys of [docker], for the schema and for hints. A test compares them
// with what the code below asks for.
var dockerKeys = []string{
	"memory", "memoryReservation", "cpus", "pids", "tmpSize", "cacheSize",
	"baseImage", "nodeImage", "pythonImage", "squidImage", "mirrors", "offline", "proxy",
	"readOnlyWorkspace", "dns", "network",
	"buildTimeout", "startTimeout", "idleTimeout", "totalTimeout", "maxJournalBytes",
}

// The bounds of [docker]. Below the lower ones nothing starts; nobody has a machine beyond
// the upper ones.
const (
	leastMemory      = 64 << 20 // the engine itself needs about half of it
	leastReservation = 16 << 20
	leastTmp         = 1 << 20
	leastJournal     = 1 << 20
	mostDockerBytes  = 4 << 40

	leastCPUs = 0.01 // what the engine takes
	mostCPUs  = 1024
	leastPIDs = 64 // the engine and the supervisor of its commands are Go programs, with about ten threads each
	mostPIDs  = 1 << 22

	leastWait = time.Second
	// The engine in the container gives a sign of life every 5 seconds. Below three times
	// that a busy machine would look like a dead one.
	leastIdle = 15 * time.Second

	maxDNS     = 3 // what the resolver of a container asks
	maxNetwork = 128
)

// networkPattern is what engines take as the name of a network.
const networkPattern = `^[a-zA-Z0-9][a-zA-Z0-9_.-]*$`

var networkGrammar = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(networkPattern) })

// docker reads [docker].
func (r *reader) docker(top *toml.Table) job.Container {
	t := top.Sub("docker")
	if t == nil {
		return job.Container{}
	}
	r.Mark("docker", t.Node)
	for key, n := range t.Node.Fields {
		r.Mark(t.At(key), n)
	}
	d := job.Container{
		Memory:            readSize(t, "memory", leastMemory),
		MemoryReservation: readSize(t, "memoryReservation", leastReservation),
		CPUs:              readCPUs(t, "cpus"),
		PIDs:              readPIDs(t, "pids"),
		TmpSize:           readSize(t, "tmpSize", leastTmp),
		CacheSize:         readSize(t, "cacheSize", leastTmp),
		BaseImage:         t.Str("baseImage", ImageReference),
		NodeImage:         t.Str("nodeImage", PinnableImage),
		PythonImage:       t.Str("pythonImage", PinnableImage),
		SquidImage:        t.Str("squidImage", PinnableImage),
		Mirrors:           t.Strs("mirrors", maxMirrors, mirror),
		Offline:           t.Bool("offline"),
		Proxy:             t.Str("proxy", toml.OneOf(job.ProxyBuiltin, job.ProxySquid)),
		ReadOnlyWorkspace: t.Bool("readOnlyWorkspace"),
		DNS:               t.Strs("dns", maxDNS, nameServer),
		Network:           t.Str("network", toml.Length(1, maxNetwork), network),
		BuildTimeout:      readWait(t, "buildTimeout", leastWait),
		StartTimeout:      readWait(t, "startTimeout", leastWait),
		IdleTimeout:       readWait(t, "idleTimeout", leastIdle),
		TotalTimeout:      readWait(t, "totalTimeout", leastWait),
		MaxJournalBytes:   readSize(t, "maxJournalBytes", leastJournal),
	}
	if most := d.Or(job.DefaultContainer()).Memory; d.MemoryReservation > most {
		r.Fault(t.Node.Fields["memoryReservation"].At, t.At("memoryReservation"), "is more than memory, which is "+FormatBytes(most), "")
	}
	r.images(t, d)
	t.Finish(misplaced)
	return d
}

// size reads a number of bytes: a text with its unit, or a whole number. Absent or wrong,
// it is 0.
func readSize(t *toml.Table, key string, low int64) int64 {
	n := t.Get(key)
	if n == nil || n.Unreadable {
		return 0
	}
	const hint = `write it with its unit, like "512MiB" or "2GiB"`
	least, most := FormatBytes(low), FormatBytes(mostDockerBytes)
	switch n.Kind {
	case toml.KindInteger:
		if n.Number < low || n.Number > mostDockerBytes {
			t.Reader.Fault(n.At, t.At(key), fmt.Sprintf("must be between %d and %d bytes", low, int64(mostDockerBytes)), fmt.Sprintf("that is %s to %s; %s", least, most, hint))
			return 0
		}
		return n.Number
	case toml.KindString:
		size, err := ParseBytes(n.Text)
		if err != nil {
			message, hint, _ := strings.Cut(err.Error(), "; ")
			t.Reader.Fault(n.At, t.At(key), message, hint)
			return 0
		}
		if size < low || size > mostDockerBytes {
			t.Reader.Fault(n.At, t.At(key), fmt.Sprintf("must be between %s and %s", least, most), "")
			return 0
		}
		return size
	}
	t.Reader.Fault(n.At, t.At(key), fmt.Sprintf("must be a string or an integer, not %s", n.Kind), hint)
	return 0
}

// cpus reads how many processors may be used; absent or wrong, it is 0.
func readCPUs(t *toml.Table, key string) float64 {
	n := readNumber(t, key)
	if n == nil {
		return 0
	}
	v := n.Amount()
	switch {
	case v >= leastCPUs && v <= mostCPUs: // NaN fails here
		return v
	case v > 0 && v < leastCPUs:
		t.Reader.Fault(n.At, t.At(key), fmt.Sprintf("must be at least %g", leastCPUs), "it is a number of processors, like 1.5")
	default:
		t.Reader.Fault(n.At, t.At(key), fmt.Sprintf("must be more than 0 and at most %d", mostCPUs), "it is a number of processors, like 1.5")
	}
	return 0
}

func readPIDs(t *toml.Table, key string) int {
	n := t.Want(key, toml.KindInteger)
	if n == nil || n.Unreadable {
		return 0
	}
	if n.Number < leastPIDs || n.Number > mostPIDs {
		t.Reader.Fault(n.At, t.At(key), fmt.Sprintf("must be between %d and %d", leastPIDs, mostPIDs), "it counts processes and threads")
		return 0
	}
	return int(n.Number)
}

// wait reads a deadline; absent or wrong, it is 0.
func readWait(t *toml.Table, key string, low time.Duration) time.Duration {
	const without = "leave the key out for the default"
	d := readDuration(t, key, without)
	if d > 0 && d < low {
		t.Reader.Fault(t.Node.Fields[key].At, t.At(key), fmt.Sprintf("must be at least %s", low), without)
		return 0
	}
	return d
}

// nameServer accepts an address that a container can ask.
func nameServer(s string) (string, string) {
	addr, err := netip.ParseAddr(s)
	switch {
	case err != nil || addr.Zone() != "":
		return wording.Quote(s) + " is not an IP address", "write it like 10.0.0.53"
	case addr.Unmap().IsLoopback() || addr.IsUnspecified():
		return wording.Quote(s) + " would be the container itself", "name an address that other machines can reach"
	case addr.Unmap().IsMulticast():
		return wording.Quote(s) + " is not the address of one server", ""
	}
	return "", ""
}

// network accepts a network that somebody made. Those that the engine brings would undo
// the wall or share it: host is the host's own, and on bridge all other containers are.
func network(s string) (string, string) {
	const hint = "name a bridge network that you made, with: docker network create"
	if kind, _, ok := strings.Cut(s, ":"); ok {
		return "a network of kind " + wording.Quote(kind) + " would undo the wall", hint
	}
	if !networkGrammar().MatchString(s) {
		return wording.Quote(s) + " is not the name of a network", hint
	}
	switch strings.ToLower(s) {
	case "host", "none", "bridge", "default", "nat", "ingress":
		return wording.Quote(s) + " is one of the engine's own networks", hint
	}
	return "", ""
}
