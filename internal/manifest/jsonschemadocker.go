package manifest

import (
	"strings"
	"time"

	"github.com/perstack-go/perstack/job"
)

// This file describes [docker].

func dockerSchema() *jsonSchema {
	d := job.DefaultContainer()
	s := closed("The walls of the runtime docker.", describe(dockerKeys, map[string]*jsonSchema{
		"memory":            byteSize("Memory of all processes of the container together; swap is not used.", leastMemory).or(FormatBytes(d.Memory)),
		"memoryReservation": byteSize("Memory that they get before others do; at most memory.", leastReservation).or(FormatBytes(d.MemoryReservation)),
		"cpus":              (&jsonSchema{Description: "Processors that may be used, such as 1.5.", Type: "number", Above: new(0), Maximum: mostCPUs}).or(d.CPUs),
		"pids":              (&jsonSchema{Description: "Most processes and threads at once.", Type: "integer", Minimum: new(leastPIDs), Maximum: mostPIDs}).or(d.PIDs),
		"tmpSize":           byteSize("Size of /tmp, which lies in memory.", leastTmp).or(FormatBytes(d.TmpSize)),
		"cacheSize":         byteSize("Size of the home directory, which lies in memory.", leastTmp).or(FormatBytes(d.CacheSize)),
		"baseImage":         pattern("Image that brings programs for commands and skills; it must be on this machine.", imagePattern, maxImage),
		"nodeImage":         pinnable("Image with Node, for skills that are packages of npm; pinned here or by perstack.lock.").or(d.NodeImage),
		"pythonImage":       pinnable("Image with Python, for skills that are packages of uv; pinned here or by perstack.lock."),
		"squidImage":        pinnable("Image with Squid, for proxy = squid; pinned here or by perstack.lock."),
		"mirrors":           array("Registries that images are looked for in before their own.", maxMirrors, pattern("Host, with a port and a path if need be, without a scheme.", mirrorPattern, maxMirror)),
		"offline":           flag("Nothing is fetched: neither images nor packages."),
		"proxy":             words("Proxy by which the container gets out.", job.ProxyBuiltin, job.ProxySquid).or(job.ProxyBuiltin),
		"readOnlyWorkspace": flag("Nothing in the container can change the workspace."),
		"dns":               array("Name servers that the proxy asks instead of those of the engine.", maxDNS, anyText("IP address of a name server.")),
		"network":           pattern("Bridge network by which the proxy goes out, made by you.", networkPattern, maxNetwork),
		"buildTimeout":      deadline("Time to make the image.", d.BuildTimeout),
		"startTimeout":      deadline("Time until the container has checked its walls.", d.StartTimeout),
		"idleTimeout":       deadline("Time without a sign of life from the container.", d.IdleTimeout),
		"totalTimeout":      deadline("Time that the container may live.", d.TotalTimeout),
		"maxJournalBytes":   byteSize("What one run may add to the history.", leastJournal).or(FormatBytes(d.MaxJournalBytes)),
	}))
	s.AllOf = []*jsonSchema{when("proxy", job.ProxySquid, &jsonSchema{Required: []string{"squidImage"}})}
	s.Not = &jsonSchema{AnyOf: []*jsonSchema{{Required: []string{"baseImage", "nodeImage"}}, {Required: []string{"baseImage", "pythonImage"}}}}
	return s
}

// pinnable is the name of an image or its id. What begins like an id must be one.
func pinnable(about string) *jsonSchema {
	s := pattern(about, imagePattern, maxImage)
	s.Not = &jsonSchema{Pattern: "^sha256:", Not: &jsonSchema{Pattern: imageID}}
	return s
}

// byteSize is a size with its unit, or a number of bytes. The bounds of a text only the
// parser can tell.
func byteSize(about string, low int) *jsonSchema {
	return &jsonSchema{Description: about, AnyOf: []*jsonSchema{
		pattern("A whole number with its unit, such as 512MiB.", bytesPattern, 0),
		{Description: "A number of bytes.", Type: "integer", Minimum: &low, Maximum: mostDockerBytes},
	}}
}

func deadline(about string, otherwise time.Duration) *jsonSchema {
	return duration(about).or(shortDuration(otherwise))
}

// shortDuration writes 10m for what Go calls 10m0s.
func shortDuration(d time.Duration) string {
	text := d.String()
	for _, zero := range []string{"m0s", "h0m"} {
		if rest, ok := strings.CutSuffix(text, zero); ok {
			text = rest + zero[:1]
		}
	}
	return text
}
