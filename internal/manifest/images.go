package manifest

import (
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/perstack-go/perstack/expert"
	"github.com/perstack-go/perstack/internal/wording"
	"github.com/perstack-go/perstack/job"
)

// The grammar of a reference to an image: a host with its port, names in lower case, a
// tag, a digest. It is narrower than what daemons take: no upper-case host, no IPv6 host
// and no digest but SHA-256. Nothing in it can start with a hyphen or hold a blank, so
// that a reference in a hint can be pasted into a shell and is never an option there.
const (
	imageHost      = `[a-z0-9]([a-z0-9-]*[a-z0-9])?(\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)*(:[0-9]{1,5})?`
	imageComponent = `[a-z0-9]+((\.|_|__|-+)[a-z0-9]+)*`
	imageTag       = `[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}`
	imageDigest    = `sha256:[0-9a-f]{64}`

	maxImage = 512

	imagePattern = `^(` + imageHost + `/)?` + imageComponent + `(/` + imageComponent + `)*(:` + imageTag + `)?(@` + imageDigest + `)?$`
)

var imageGrammar = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(imagePattern) })

// ImageReference says what is wrong with the name of an image; the message is empty when
// nothing is.
func ImageReference(s string) (message, hint string) {
	const example = "write it like debian:12-slim, or with a host before and @sha256:… behind it"
	switch {
	case s == "":
		return "is empty", example
	case len(s) > maxImage || !imageGrammar().MatchString(s):
		if strings.ToLower(s) != s && imageGrammar().MatchString(strings.ToLower(s)) {
			return wording.Quote(s) + " is not the name of an image", "names of images are in lower case"
		}
		return wording.Quote(s) + " is not the name of an image", example
	}
	return "", ""
}

const (
	maxMirrors = 8 // each is asked before the registry of an image, one after the other
	maxMirror  = 255

	mirrorPattern = `^` + imageHost + `(/` + imageComponent + `)*$`
	imageID       = `^` + imageDigest + `$`
)

var (
	mirrorGrammar  = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(mirrorPattern) })
	imageIDGrammar = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(imageID) })
	pinnedGrammar  = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`@` + imageDigest + `$`) })
)

// PinnableImage accepts the name of an image, or its id. What looks like an id and is none
// would be read as an image called sha256, from wherever there is one.
func PinnableImage(s string) (message, hint string) {
	if strings.HasPrefix(s, "sha256:") && !imageIDGrammar().MatchString(s) {
		return wording.Quote(s) + " is not the id of an image", "write sha256: and 64 digits in hex, as docker image inspect has them"
	}
	return ImageReference(s)
}

// ImagePinned reports whether a reference to an image says what is in it: it has a digest,
// or is an id.
func ImagePinned(reference string) bool {
	return imageIDGrammar().MatchString(reference) || pinnedGrammar().MatchString(reference)
}

// mirror accepts the address of a registry. How to connect to it is for the daemon to
// decide: a scheme that somebody writes here must not make it plain HTTP.
func mirror(s string) (message, hint string) {
	const example = "write it like mirror.example, mirror.example:5000 or mirror.example/path"
	switch {
	case strings.Contains(s, "://"):
		return wording.Quote(s) + " has a scheme", example
	case len(s) > maxMirror || !mirrorGrammar().MatchString(s):
		return wording.Quote(s) + " is not the address of a registry", example
	}
	return "", ""
}

// Images are the images that the runtime docker fetches for runs of the file, each once: for
// the packages of skills, and for Squid. The image for commands is on this machine already.
func (c *Config) Images() []string { return c.ImagesOf(c.All()) }

// ImagesOf is Images for runs of these Experts alone.
func (c *Config) ImagesOf(experts []*expert.Expert) (names []string) {
	d := c.Settings.Isolation.Container.Or(job.DefaultContainer())
	add := func(name string) {
		if name != "" && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	for _, e := range experts {
		for _, s := range e.Servers() {
			p, ok := s.Package()
			switch {
			case !ok || d.BaseImage != "":
			case p.Manager == "npx":
				add(d.NodeImage)
			case p.Manager == "uvx":
				add(d.PythonImage)
			}
		}
	}
	if d.Proxy == job.ProxySquid {
		add(d.SquidImage)
	}
	return names
}
