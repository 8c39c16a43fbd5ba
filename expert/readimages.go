package expert

import (
	"regexp"
	"strings"
	"sync"
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

// pinnableImage accepts the name of an image, or its id. What looks like an id and is none
// would be read as an image called sha256, from wherever there is one.
func pinnableImage(s string) (message, hint string) {
	if strings.HasPrefix(s, "sha256:") && !imageIDGrammar().MatchString(s) {
		return quote(s) + " is not the id of an image", "write sha256: and 64 digits in hex, as docker image inspect has them"
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
		return quote(s) + " has a scheme", example
	case len(s) > maxMirror || !mirrorGrammar().MatchString(s):
		return quote(s) + " is not the address of a registry", example
	}
	return "", ""
}

// images looks at what belongs together.
func (r *reader) images(t *table, d Docker) {
	base := t.n.fields["baseImage"]
	for _, key := range []string{"nodeImage", "pythonImage"} {
		if n := t.n.fields[key]; n != nil && base != nil {
			r.fault(n.keyAt, t.at(key), "stands beside baseImage, and a container stands on one image", "keep baseImage, with all that skills need in it, or remove it")
		}
	}
	switch squid := t.n.fields["squidImage"]; {
	case d.Proxy == ProxySquid && squid == nil:
		r.missing(t.n.fields["proxy"].keyAt, t.at("squidImage"), "is required by proxy = "+quote(ProxySquid), "name an image with the program squid, by its digest")
	case d.Proxy != ProxySquid && squid != nil && wellWritten(t.n.fields["proxy"]):
		r.warn(squid.keyAt, t.at("squidImage"), "has no effect", `add proxy = "squid" to use it`)
	}
}

// wellWritten reports whether the proxy was understood; a second report of the same
// mistake helps nobody.
func wellWritten(proxy *node) bool {
	return proxy == nil || proxy.kind == kindString && proxy.text == ProxyBuiltin
}
