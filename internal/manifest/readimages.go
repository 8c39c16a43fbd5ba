package manifest

import (
	"regexp"
	"strings"
	"sync"

	"github.com/perstack-go/perstack/internal/toml"
	"github.com/perstack-go/perstack/internal/wording"
	"github.com/perstack-go/perstack/job"
)

// This file reads what [docker] says about images and the proxy.

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

// mirror accepts the address of a registry. How it is spoken to is for the engine to
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

// images looks at what belongs together.
func (r *reader) images(t *toml.Table, d job.Container) {
	base := t.Node.Fields["baseImage"]
	for _, key := range []string{"nodeImage", "pythonImage"} {
		if n := t.Node.Fields[key]; n != nil && base != nil {
			r.Fault(n.KeyAt, t.At(key), "stands beside baseImage, and a container stands on one image", "keep baseImage, with all that skills need in it, or remove it")
		}
	}
	switch squid := t.Node.Fields["squidImage"]; {
	case d.Proxy == job.ProxySquid && squid == nil:
		r.Missing(t.Node.Fields["proxy"].KeyAt, t.At("squidImage"), "is required by proxy = "+wording.Quote(job.ProxySquid), "name an image with the program squid, by its digest")
	case d.Proxy != job.ProxySquid && squid != nil && wellWritten(t.Node.Fields["proxy"]):
		r.Warn(squid.KeyAt, t.At("squidImage"), "has no effect", `add proxy = "squid" to use it`)
	}
}

// wellWritten reports whether the proxy was understood; a second report of the same
// mistake helps nobody.
func wellWritten(proxy *toml.Node) bool {
	return proxy == nil || proxy.Kind == toml.KindString && proxy.Text == job.ProxyBuiltin
}
