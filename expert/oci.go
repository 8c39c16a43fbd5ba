package expert

import (
	"fmt"
	"strconv"
	"strings"
)

// ociScheme begins every reference to a container registry. No key begins like this: keys have no colon.
const ociScheme = "oci://"

// The longest parts of a reference, as container registries have them.
const (
	maxHost       = 253
	maxRepository = 255
	maxOCITag     = 128
)

const (
	hostLabel      = `[a-z0-9](?:[a-z0-9-]*[a-z0-9])?`
	repositoryPart = `[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*`
)

// OCIPattern is the grammar of a reference to a container registry: host, repository, tag and digest.
const OCIPattern = `^oci://(` + hostLabel + `(?:\.` + hostLabel + `)*(?::[1-9][0-9]{0,4})?)/(` + repositoryPart + `(?:/` + repositoryPart + `)*)` +
	`(?::([A-Za-z0-9_][A-Za-z0-9_.-]*))?(?:@(sha256:[0-9a-f]{64}))?$`

// ReferencePattern is the grammar of what names an Expert: a key, or a reference to a container registry.
const ReferencePattern = `(?:` + KeyPattern + `)|(?:` + OCIPattern + `)`

// An OCI is a reference to an Expert in a container registry. If it has a digest, it can mean nothing
// else, and the tag is for people.
type OCI struct {
	Host       string // registry.example or 127.0.0.1:5000
	Repository string // acme/reader
	Tag        string // 1.0.0
	Digest     string // of the manifest
}

// IsOCI reports whether s is meant as a reference to a container registry.
func IsOCI(s string) bool { return strings.HasPrefix(s, ociScheme) }

// ParseOCI reads oci://host/repository, with :tag, @sha256:… or both.
func ParseOCI(s string) (OCI, error) {
	fail := func(hint string) (OCI, error) {
		return OCI{}, fmt.Errorf("invalid reference to a container registry: %s; %s", quote(s), hint)
	}
	if len(s) > MaxKey {
		return fail(fmt.Sprintf("a reference has at most %d characters", MaxKey))
	}
	r, ok := cutOCI(s)
	if !ok {
		return fail("write oci://host/repository, followed by :tag, @sha256:digest or both, in lower case")
	}
	switch {
	case len(r.Host) > maxHost:
		return fail(fmt.Sprintf("a host has at most %d characters", maxHost))
	case len(r.Repository) > maxRepository:
		return fail(fmt.Sprintf("a repository has at most %d characters", maxRepository))
	case len(r.Tag) > maxOCITag:
		return fail(fmt.Sprintf("a tag has at most %d characters", maxOCITag))
	}
	if _, port, ok := strings.Cut(r.Host, ":"); ok {
		if n, err := strconv.Atoi(port); err != nil || n > 65535 {
			return fail("a port is at most 65535")
		}
	}
	return r, nil
}

// cutOCI splits what [OCIPattern] describes.
func cutOCI(s string) (r OCI, ok bool) {
	rest, ok := strings.CutPrefix(s, ociScheme)
	if !ok {
		return OCI{}, false
	}
	if before, digest, found := strings.Cut(rest, "@"); found {
		sum, isSum := strings.CutPrefix(digest, "sha256:")
		if !isSum || len(sum) != 64 || !only(sum, "abcdef"+digit) {
			return OCI{}, false
		}
		rest, r.Digest = before, digest
	}
	if r.Host, r.Repository, ok = strings.Cut(rest, "/"); !ok {
		return OCI{}, false
	}
	if before, tag, found := strings.Cut(r.Repository, ":"); found {
		if r.Repository, r.Tag = before, tag; !isWord(tag, upper+lower+"_", ".-") {
			return OCI{}, false
		}
	}
	host, port, found := strings.Cut(r.Host, ":")
	if found && (!only(port, digit) || len(port) > 5 || port[0] == '0') {
		return OCI{}, false
	}
	for label := range strings.SplitSeq(host, ".") {
		if !isWord(label, lower, "-") || label[len(label)-1] == '-' {
			return OCI{}, false
		}
	}
	for part := range strings.SplitSeq(r.Repository, "/") {
		if !isRepositoryPart(part) {
			return OCI{}, false
		}
	}
	return r, true
}

// isRepositoryPart reports whether s consists of words with one of . _ __ or any number of - between them.
func isRepositoryPart(s string) bool {
	for {
		word := strings.TrimLeft(s, lower+digit)
		if len(word) == len(s) {
			return false
		}
		if word == "" {
			return true
		}
		s = strings.TrimLeft(word, "._-")
		switch sign := word[:len(word)-len(s)]; {
		case sign == ".", sign == "_", sign == "__", only(sign, "-"):
		default:
			return false
		}
	}
}

// String writes the reference as [ParseOCI] reads it.
func (r OCI) String() string {
	s := r.Name()
	if r.Tag != "" {
		s += ":" + r.Tag
	}
	if r.Digest != "" {
		s += "@" + r.Digest
	}
	return s
}

// Name is the reference without tag and digest. It is the name of the Expert that runs.
func (r OCI) Name() string { return ociScheme + r.Host + "/" + r.Repository }

// Exact is the key of what the digest names, in one form: without the tag. It is empty if there is no digest.
func (r OCI) Exact() string {
	if r.Digest == "" {
		return ""
	}
	return r.Name() + "@" + r.Digest
}

// ParseReference reads what names an Expert where both are allowed: a key, or a reference to a container
// registry. The latter has as Version its digest, or else its tag as Tag.
func ParseReference(s string) (Key, error) {
	if !IsOCI(s) {
		return ParseKey(s)
	}
	r, err := ParseOCI(s)
	if err != nil {
		return Key{}, err
	}
	k := Key{Name: r.Name(), Version: r.Digest}
	if r.Digest == "" {
		k.Tag = r.Tag
	}
	return k, nil
}
