package expert

import (
	"fmt"
	"regexp"
	"strings"
	"sync"
)

// The longest key, and the longest of each of its parts.
const (
	maxKey     = 511
	maxName    = 255
	maxVersion = 255
)

// The version part follows the registry, which is a little wider than SemVer:
// pre-release and build parts may hold underscores.
const versionPattern = `(?:0|[1-9][0-9]*)\.(?:0|[1-9][0-9]*)\.(?:0|[1-9][0-9]*)(?:-[A-Za-z0-9_.-]+)?(?:\+[A-Za-z0-9_.-]+)?`

// Compiled once, when they are first used. A key and a package differ only in that a
// key tells a version from a tag.
var (
	keyGrammar = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^((?:@[a-z0-9][a-z0-9_.-]*/)?[a-z0-9][a-z0-9_.-]*)(?:@(` + versionPattern + `)|@([a-z0-9][a-z0-9_.-]*))?$`)
	})
	nameGrammar    = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^(?:@[a-z0-9][a-z0-9_-]*/)?[a-z0-9][a-z0-9_-]*$`) })
	versionGrammar = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^` + versionPattern + `$`) })
	tagGrammar     = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[a-z0-9][a-z0-9_-]*$`) })
	packageGrammar = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^(?:@[a-z0-9][a-z0-9_.-]*/)?[a-z0-9][a-z0-9_.-]*(?:@` + versionPattern + `|@[a-z0-9][a-z0-9_.-]*)?$`)
	})
)

// Key names an Expert, in this file or in the registry. At most one of Version
// and Tag is set; with neither the registry means the tag latest.
type Key struct {
	Name    string // writer or @acme/writer
	Version string // 1.2.0
	Tag     string // latest
}

// ParseKey reads name, name@version or name@tag. A suffix that is not a full
// version, such as 1.0, is a tag.
func ParseKey(s string) (Key, error) {
	fail := func(hint string) (Key, error) {
		return Key{}, fmt.Errorf("invalid expert key format: %s; %s", quote(s), hint)
	}
	if len(s) > maxKey {
		return fail(fmt.Sprintf("a key has at most %d characters", maxKey))
	}
	m := keyGrammar().FindStringSubmatch(s)
	if m == nil {
		return fail("write name, @scope/name, name@1.0.0 or name@tag in lower case")
	}
	k := Key{Name: m[1], Version: m[2], Tag: m[3]}
	switch {
	case len(k.Name) > maxName:
		return fail(fmt.Sprintf("a name has at most %d characters", maxName))
	case len(k.Version)+len(k.Tag) > maxVersion:
		return fail(fmt.Sprintf("a version or tag has at most %d characters", maxVersion))
	}
	return k, nil
}

// String writes the key as ParseKey reads it.
func (k Key) String() string {
	if suffix := k.Version + k.Tag; suffix != "" {
		return k.Name + "@" + suffix
	}
	return k.Name
}

// ToolName is what a parent sees when it delegates to this Expert: the part of
// the name after the scope.
func (k Key) ToolName() string {
	return k.Name[strings.LastIndexByte(k.Name, '/')+1:]
}

// ValidName reports whether s may name an Expert. Names are narrower than the
// name part of a key: they have no dots.
func ValidName(s string) bool {
	return len(s) <= maxName && nameGrammar().MatchString(s)
}

// ValidVersion reports whether s is a full version such as 1.0.0-rc.1+build.
func ValidVersion(s string) bool {
	return len(s) <= maxVersion && versionGrammar().MatchString(s)
}
