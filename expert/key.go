package expert

import (
	"fmt"
	"strconv"
	"strings"
)

// The longest key, and the longest of each of its parts.
const (
	MaxKey     = 511
	MaxName    = 255
	MaxVersion = 255

	MaxVariable = 255 // the name of an environment variable
)

// The version part follows the registry, which is a little wider than SemVer:
// pre-release and build parts may hold underscores.
const fullVersion = `(?:0|[1-9][0-9]*)\.(?:0|[1-9][0-9]*)\.(?:0|[1-9][0-9]*)(?:-[A-Za-z0-9_.-]+)?(?:\+[A-Za-z0-9_.-]+)?`

// The grammars as regular expressions, which the JSON Schema of perstack.toml states too.
// That of a key is also that of a package for npx or uvx.
const (
	KeyPattern      = `^((?:@[a-z0-9][a-z0-9_.-]*/)?[a-z0-9][a-z0-9_.-]*)(?:@(` + fullVersion + `)|@([a-z0-9][a-z0-9_.-]*))?$`
	NamePattern     = `^(?:@[a-z0-9][a-z0-9_-]*/)?[a-z0-9][a-z0-9_-]*$`
	VersionPattern  = `^` + fullVersion + `$`
	TagPattern      = `^[a-z0-9][a-z0-9_-]*$`
	VariablePattern = `^[a-zA-Z0-9][a-zA-Z0-9_-]*$` // names of environment variables
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
	if len(s) > MaxKey {
		return fail(fmt.Sprintf("a key has at most %d characters", MaxKey))
	}
	k, ok := cutKey(s)
	if !ok {
		return fail("write name, @scope/name, name@1.0.0 or name@tag in lower case")
	}
	switch {
	case len(k.Name) > MaxName:
		return fail(fmt.Sprintf("a name has at most %d characters", MaxName))
	case len(k.Version)+len(k.Tag) > MaxVersion:
		return fail(fmt.Sprintf("a version or tag has at most %d characters", MaxVersion))
	}
	return k, nil
}

// String writes the key as [ParseKey] or [ParseReference] reads it.
func (k Key) String() string {
	if k.Tag != "" && IsOCI(k.Name) {
		return k.Name + ":" + k.Tag
	}
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

// DelegateTools returns what a parent sees of its delegates, by their keys: the last part of each name. Of
// two with the same one, the second has the part before it as well: researcher and b_researcher for @a/researcher
// and @b/researcher. A name without a scope always keeps its own. Only the same name twice has the same tool. A
// key that is none has no tool.
func DelegateTools(keys []string) []string {
	names, tools, taken := make([]string, len(keys)), map[string]string{}, map[string]bool{} // tools by their names
	assign := func(name, tool string) {
		if tools[name] == "" && !taken[tool] {
			tools[name], taken[tool] = tool, true
		}
	}
	for i, text := range keys {
		if k, err := ParseReference(text); err == nil {
			if names[i] = k.Name; k.ToolName() == k.Name {
				assign(k.Name, k.Name)
			}
		}
	}
	for _, name := range names {
		assign(name, Key{Name: name}.ToolName())
	}
	all := make([]string, len(keys))
	for i, name := range names {
		parts := strings.FieldsFunc(name, func(r rune) bool { return !strings.ContainsRune(lower+digit+"_-", r) })
		for n := 2; name != "" && tools[name] == ""; n++ {
			tool := strings.Join(parts[max(len(parts)-n, 0):], "_")
			if n > len(parts) {
				tool += "_" + strconv.Itoa(n-len(parts)+1)
			}
			assign(name, tool)
		}
		if name != "" {
			all[i] = tools[name]
		}
	}
	return all
}

// ValidName reports whether s may name an Expert. Names are narrower than the
// name part of a key: they have no dots.
func ValidName(s string) bool {
	return len(s) <= MaxName && isScoped(s, "_-")
}

// ValidVersion reports whether s is a full version such as 1.0.0-rc.1+build.
func ValidVersion(s string) bool {
	return len(s) <= MaxVersion && isVersion(s)
}

// ValidTag reports whether s may be a tag, of a version or of an Expert.
func ValidTag(s string) bool {
	return len(s) <= MaxVersion && isWord(s, lower, "_-")
}

// ValidVariable reports whether s may name an environment variable that a skill asks for.
func ValidVariable(s string) bool {
	return len(s) <= MaxVariable && isWord(s, upper+lower, "_-")
}

// quote shows a value in a message. Control characters and bidi marks come out escaped,
// and long values are cut, so that a hostile value cannot draw on the terminal.
func quote(s string) string {
	const longest = 60
	if r := []rune(s); len(r) > longest {
		s = string(r[:longest]) + "…"
	}
	return strconv.Quote(s)
}
