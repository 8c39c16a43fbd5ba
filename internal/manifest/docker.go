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

// The bounds of [docker]. Below the lower ones nothing starts; no machine has more than the
// upper ones.
const (
	leastMemory      = 64 << 20 // perstack itself needs about half of it
	leastReservation = 16 << 20
	leastTmp         = 1 << 20
	leastJournal     = 1 << 20
	mostDockerBytes  = 4 << 40

	leastCPUs = 0.01 // what the daemon takes
	mostCPUs  = 1024
	leastPIDs = 64 // perstack and the supervisor of its commands are Go programs, with about ten threads each
	mostPIDs  = 1 << 22

	leastWait = time.Second
	// The engine in the container sends a heartbeat every 5 seconds. Below three times
	// that a busy machine would look like a dead one.
	leastIdle = 15 * time.Second

	maxDNS     = 3 // what the resolver of a container asks
	maxNetwork = 128
)

// networkPattern is what daemons take as the name of a network.
const networkPattern = `^[a-zA-Z0-9][a-zA-Z0-9_.-]*$`

var networkGrammar = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(networkPattern) })

// dockerKeys are the keys of [docker].
func dockerKeys() []key[job.Container] {
	type D = job.Container
	d := job.DefaultContainer()
	return []key[D]{
		row("memory", "Memory limit of the whole container; swap is not used.", size(leastMemory), func(d *D, n int64) { d.Memory = n }).or(FormatBytes(d.Memory)),
		row("memoryReservation", "Memory reserved for the container; at most memory.", size(leastReservation), func(d *D, n int64) { d.MemoryReservation = n }).
			or(FormatBytes(d.MemoryReservation)).without("`\"" + FormatBytes(d.MemoryReservation) + "\"`, or `memory` if that is less"),
		row("cpus", "Number of processors, such as 1.5.", processors(), func(d *D, n float64) { d.CPUs = n }).or(d.CPUs),
		row("pids", "Maximum number of processes and threads.", between(leastPIDs, mostPIDs, "it counts processes and threads"), func(d *D, n int64) { d.PIDs = int(n) }).or(d.PIDs),
		row("tmpSize", "Size of /tmp, which is in memory.", size(leastTmp), func(d *D, n int64) { d.TmpSize = n }).or(FormatBytes(d.TmpSize)),
		row("cacheSize", "Size of the home directory, which is in memory.", size(leastTmp), func(d *D, n int64) { d.CacheSize = n }).or(FormatBytes(d.CacheSize)),
		row("baseImage", "Image with the programs for commands and skills; it must be on this machine.", matching(imagePattern, maxImage, "image", ImageReference), func(d *D, s string) { d.BaseImage = s }).
			without("nothing but perstack"),
		row("nodeImage", "Image with Node, for skills that are npm packages; pinned here or by perstack.lock.", pinnable(), func(d *D, s string) { d.NodeImage = s }).
			or(d.NodeImage).more("not beside `baseImage`"),
		row("pythonImage", "Image with Python, for skills that are uv packages; pinned here or by perstack.lock.", pinnable(), func(d *D, s string) { d.PythonImage = s }).
			without("such skills are refused").more("not beside `baseImage`"),
		row("squidImage", "Image with Squid, for proxy = squid; pinned here or by perstack.lock.", pinnable(), func(d *D, s string) { d.SquidImage = s }).
			more("required by `proxy = \"squid\"`"),
		row("mirrors", "Registries to try before that of the image.", list(maxMirrors, "Host, optionally with port and path, without a scheme.", matching(mirrorPattern, maxMirror, "", mirror)), func(d *D, all []string) { d.Mirrors = all }).
			without("none").more("like `\"mirror.example:5000/hub\"`, without a scheme"),
		row("offline", "Fetch nothing, neither images nor packages.", flag(), func(d *D, yes bool) { d.Offline = yes }).
			more("`perstack install` pins images that the daemon has, and still asks npm"),
		row("proxy", "Proxy through which the container reaches the network.", word(job.ProxyBuiltin, job.ProxySquid), func(d *D, s string) { d.Proxy = s }).or(job.ProxyBuiltin),
		row("readOnlyWorkspace", "Mount the workspace read-only.", flag(), func(d *D, yes bool) { d.ReadOnlyWorkspace = yes }),
		row("dns", "Name servers for the proxy.", list(maxDNS, "IP address of a name server.", matching("", 0, "", nameServer)), func(d *D, all []string) { d.DNS = all }).
			without("those of the daemon"),
		row("network", "Bridge network, created by you, through which the proxy connects.", matching(networkPattern, maxNetwork, "name of a network", toml.Length(1, maxNetwork), network), func(d *D, s string) { d.Network = s }).
			without("a new one for each run"),
		row("buildTimeout", "Time limit for building the image.", deadline("10m", leastWait), func(d *D, v time.Duration) { d.BuildTimeout = v }).or(FormatDuration(d.BuildTimeout)),
		row("startTimeout", "Time limit until the container has checked its isolation.", deadline("1m", leastWait), func(d *D, v time.Duration) { d.StartTimeout = v }).or(FormatDuration(d.StartTimeout)).
			more("networks and proxy have the same limit before it"),
		row("idleTimeout", "Time limit without a heartbeat between host and container.", deadline("2m", leastIdle), func(d *D, v time.Duration) { d.IdleTimeout = v }).or(FormatDuration(d.IdleTimeout)),
		row("totalTimeout", "Time limit of the container.", deadline("24h", leastWait), func(d *D, v time.Duration) { d.TotalTimeout = v }).or(FormatDuration(d.TotalTimeout)),
		row("maxJournalBytes", "Maximum size of what one run adds to the history.", size(leastJournal), func(d *D, n int64) { d.MaxJournalBytes = n }).or(FormatBytes(d.MaxJournalBytes)),
	}
}

func dockerSchema() *jsonSchema {
	s := schemaOf("", dockerKeys())
	s.AllOf = []*jsonSchema{when("proxy", job.ProxySquid, &jsonSchema{Required: []string{"squidImage"}})}
	s.Not = &jsonSchema{AnyOf: []*jsonSchema{{Required: []string{"baseImage", "nodeImage"}}, {Required: []string{"baseImage", "pythonImage"}}}}
	return s
}

// docker reads [docker], and what belongs together in it.
func (r *reader) docker(top *toml.Table, c *Config) {
	t := top.Sub("docker")
	if t == nil {
		return
	}
	d := &c.Settings.Isolation.Container
	readKeys(r, t, r.tables.docker(), d)
	if most := d.Or(job.DefaultContainer()).Memory; d.MemoryReservation > most {
		n := t.Node.Fields["memoryReservation"]
		r.Fault(n.At, n.Path(), "is more than memory, which is "+FormatBytes(most), "")
	}
	base := t.Node.Fields["baseImage"]
	for _, key := range []string{"nodeImage", "pythonImage"} {
		if n := t.Node.Fields[key]; n != nil && base != nil {
			r.Fault(n.KeyAt, n.Path(), "is set beside baseImage, but a container has one image", "keep baseImage, with all that skills need in it, or remove it")
		}
	}
	proxy := t.Node.Fields["proxy"]
	understood := proxy == nil || proxy.Kind == toml.KindString && proxy.Text == job.ProxyBuiltin // else it was reported already
	switch squid := t.Node.Fields["squidImage"]; {
	case d.Proxy == job.ProxySquid && squid == nil:
		r.Missing(proxy.KeyAt, t.At("squidImage"), "is required by proxy = "+wording.Quote(job.ProxySquid), "name an image with the program squid, by its digest")
	case d.Proxy != job.ProxySquid && squid != nil && understood:
		r.Warn(squid.KeyAt, squid.Path(), "has no effect", `add proxy = "squid" to use it`)
	}
	t.Finish(r.tables.misplaced)
}

// processors is how many may be used.
func processors() value[float64] {
	form := fmt.Sprintf("number from %g to %d", leastCPUs, mostCPUs)
	return amount(&jsonSchema{Above: new(0), Maximum: mostCPUs}, form, func(v float64) (message, hint string) {
		const unit = "it is a number of processors, like 1.5"
		switch {
		case v >= leastCPUs && v <= mostCPUs:
			return "", ""
		case v > 0 && v < leastCPUs:
			return fmt.Sprintf("must be at least %g", leastCPUs), unit
		}
		return fmt.Sprintf("must be more than 0 and at most %d", mostCPUs), unit
	})
}

// pinnable is the name of an image or its id. What begins like an id must be one.
func pinnable() value[string] {
	v := matching(imagePattern, maxImage, "image", PinnableImage)
	v.schema.Not = &jsonSchema{Pattern: "^sha256:", Not: &jsonSchema{Pattern: imageID}}
	return v
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

// network accepts a network that somebody made. Those that the daemon brings would undo
// the isolation or share it: host is the host's own, and on bridge all other containers are.
func network(s string) (string, string) {
	const hint = "name a bridge network that you made, with: docker network create"
	if kind, _, ok := strings.Cut(s, ":"); ok {
		return "a network of kind " + wording.Quote(kind) + " would undo the isolation", hint
	}
	if !networkGrammar().MatchString(s) {
		return wording.Quote(s) + " is not the name of a network", hint
	}
	switch strings.ToLower(s) {
	case "host", "none", "bridge", "default", "nat", "ingress":
		return wording.Quote(s) + " is one of the daemon's own networks", hint
	}
	return "", ""
}
