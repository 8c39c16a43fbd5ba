package expert

import (
	"fmt"
	"net/netip"
	"regexp"
	"strings"
	"sync"
	"time"
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
func (r *reader) docker(top *table) Docker {
	t := top.sub("docker")
	if t == nil {
		return Docker{}
	}
	r.mark("docker", t.n)
	for key, n := range t.n.fields {
		r.mark(t.at(key), n)
	}
	d := Docker{
		Memory:            t.size("memory", leastMemory),
		MemoryReservation: t.size("memoryReservation", leastReservation),
		CPUs:              t.cpus("cpus"),
		PIDs:              t.pids("pids"),
		TmpSize:           t.size("tmpSize", leastTmp),
		CacheSize:         t.size("cacheSize", leastTmp),
		BaseImage:         t.str("baseImage", ImageReference),
		NodeImage:         t.str("nodeImage", pinnableImage),
		PythonImage:       t.str("pythonImage", pinnableImage),
		SquidImage:        t.str("squidImage", pinnableImage),
		Mirrors:           t.strs("mirrors", maxMirrors, mirror),
		Offline:           t.boolean("offline"),
		Proxy:             t.str("proxy", oneOf(ProxyBuiltin, ProxySquid)),
		ReadOnlyWorkspace: t.boolean("readOnlyWorkspace"),
		DNS:               t.strs("dns", maxDNS, nameServer),
		Network:           t.str("network", length(1, maxNetwork), network),
		BuildTimeout:      t.wait("buildTimeout", leastWait),
		StartTimeout:      t.wait("startTimeout", leastWait),
		IdleTimeout:       t.wait("idleTimeout", leastIdle),
		TotalTimeout:      t.wait("totalTimeout", leastWait),
		MaxJournalBytes:   t.size("maxJournalBytes", leastJournal),
	}
	if most := d.Or(DefaultDocker()).Memory; d.MemoryReservation > most {
		r.fault(t.n.fields["memoryReservation"].at, t.at("memoryReservation"), "is more than memory, which is "+FormatBytes(most), "")
	}
	r.images(t, d)
	t.finish(misplaced)
	return d
}

// size reads a number of bytes: a text with its unit, or a whole number. Absent or wrong,
// it is 0.
func (t *table) size(key string, low int64) int64 {
	n := t.get(key)
	if n == nil || n.unreadable {
		return 0
	}
	const hint = `write it with its unit, like "512MiB" or "2GiB"`
	least, most := FormatBytes(low), FormatBytes(mostDockerBytes)
	switch n.kind {
	case kindInteger:
		if n.number < low || n.number > mostDockerBytes {
			t.r.fault(n.at, t.at(key), fmt.Sprintf("must be between %d and %d bytes", low, int64(mostDockerBytes)), fmt.Sprintf("that is %s to %s; %s", least, most, hint))
			return 0
		}
		return n.number
	case kindString:
		size, err := ParseBytes(n.text)
		if err != nil {
			message, hint, _ := strings.Cut(err.Error(), "; ")
			t.r.fault(n.at, t.at(key), message, hint)
			return 0
		}
		if size < low || size > mostDockerBytes {
			t.r.fault(n.at, t.at(key), fmt.Sprintf("must be between %s and %s", least, most), "")
			return 0
		}
		return size
	}
	t.r.fault(n.at, t.at(key), fmt.Sprintf("must be a string or an integer, not %s", n.kind), hint)
	return 0
}

// cpus reads how many processors may be used; absent or wrong, it is 0.
func (t *table) cpus(key string) float64 {
	n := t.number(key)
	if n == nil {
		return 0
	}
	v := n.amount()
	switch {
	case v >= leastCPUs && v <= mostCPUs: // NaN fails here
		return v
	case v > 0 && v < leastCPUs:
		t.r.fault(n.at, t.at(key), fmt.Sprintf("must be at least %g", leastCPUs), "it is a number of processors, like 1.5")
	default:
		t.r.fault(n.at, t.at(key), fmt.Sprintf("must be more than 0 and at most %d", mostCPUs), "it is a number of processors, like 1.5")
	}
	return 0
}

func (t *table) pids(key string) int {
	n := t.want(key, kindInteger)
	if n == nil || n.unreadable {
		return 0
	}
	if n.number < leastPIDs || n.number > mostPIDs {
		t.r.fault(n.at, t.at(key), fmt.Sprintf("must be between %d and %d", leastPIDs, mostPIDs), "it counts processes and threads")
		return 0
	}
	return int(n.number)
}

// wait reads a deadline; absent or wrong, it is 0.
func (t *table) wait(key string, low time.Duration) time.Duration {
	const without = "leave the key out for the default"
	d := t.duration(key, without)
	if d > 0 && d < low {
		t.r.fault(t.n.fields[key].at, t.at(key), fmt.Sprintf("must be at least %s", low), without)
		return 0
	}
	return d
}

// nameServer accepts an address that a container can ask.
func nameServer(s string) (string, string) {
	addr, err := netip.ParseAddr(s)
	switch {
	case err != nil || addr.Zone() != "":
		return quote(s) + " is not an IP address", "write it like 10.0.0.53"
	case addr.Unmap().IsLoopback() || addr.IsUnspecified():
		return quote(s) + " would be the container itself", "name an address that other machines can reach"
	case addr.Unmap().IsMulticast():
		return quote(s) + " is not the address of one server", ""
	}
	return "", ""
}

// network accepts a network that somebody made. Those that the engine brings would undo
// the wall or share it: host is the host's own, and on bridge all other containers are.
func network(s string) (string, string) {
	const hint = "name a bridge network that you made, with: docker network create"
	if kind, _, ok := strings.Cut(s, ":"); ok {
		return "a network of kind " + quote(kind) + " would undo the wall", hint
	}
	if !networkGrammar().MatchString(s) {
		return quote(s) + " is not the name of a network", hint
	}
	switch strings.ToLower(s) {
	case "host", "none", "bridge", "default", "nat", "ingress":
		return quote(s) + " is one of the engine's own networks", hint
	}
	return "", ""
}
