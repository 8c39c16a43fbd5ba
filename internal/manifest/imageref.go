package manifest

import (
	"regexp"
	"strings"
	"sync"

	"github.com/perstack-go/perstack/internal/wording"
)

// The grammar of a reference to an image: a host with its port, names in lower case, a
// tag, a digest. It is narrower than what engines take: no upper-case host, no IPv6 host
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
