package manifest

import (
	"path/filepath"
	"slices"
	"strings"

	"github.com/perstack-go/perstack/expert"
	"github.com/perstack-go/perstack/internal/toml"
	"github.com/perstack-go/perstack/internal/wording"
)

// Empty returns what holds in a directory without a perstack.toml: published Experts can run there.
func Empty(dir string) *Config {
	return &Config{Path: filepath.Join(dir, FileName), Dir: dir, Absent: true, index: expert.Index{}}
}

// NamesPublished reports whether a key can only be that of a published Expert, if no file has it: it
// has a scope, a version or a tag, or is a reference to a container registry. A simple name can be a slip,
// which must not be looked for elsewhere.
func NamesPublished(key string) bool {
	if expert.IsOCI(key) {
		_, err := expert.ParseOCI(key)
		return err == nil
	}
	k, err := expert.ParseKey(key)
	return err == nil && expert.ValidName(k.Name) && (strings.HasPrefix(k.Name, "@") || k.Version != "" || k.Tag != "")
}

// Fetched reports whether a key names a published Expert: one that the file does not have. Another
// version of an Expert of the file is one only if its name has a scope.
func (c *Config) Fetched(key string) bool {
	if c.index[key] != nil && !c.IsPublished(c.index[key]) || !NamesPublished(key) {
		return false
	}
	k, _ := expert.ParseReference(key) // it is one
	return strings.HasPrefix(k.Name, "@") || c.index[k.Name] == nil || c.IsPublished(c.index[k.Name])
}

// Missing returns the keys of published Experts that are needed to run Experts, and that [Config.Add]
// has not added. If no key is given, it returns those for all Experts of the file.
func (c *Config) Missing(keys ...string) (missing []string) {
	add := func(key string) {
		if c.index[key] == nil && c.Fetched(key) && !slices.Contains(missing, key) {
			missing = append(missing, key)
		}
	}
	roots := c.Experts
	if len(keys) > 0 {
		roots = nil
	}
	for _, key := range keys {
		if e := c.index[key]; e != nil {
			roots = append(roots, e)
		}
		add(key)
	}
	for _, e := range roots {
		_, absent := c.Closure(e)
		for _, key := range absent {
			add(key)
		}
	}
	return missing
}

// Add adds published Experts. Their keys and those of their delegates are exact. keys has the exact key
// of each key that was asked for. The file cannot have another Expert under the same exact key: the user would
// be shown the one that was verified, and the one of the file would run.
func (c *Config) Add(keys map[string]string, published ...*expert.Expert) error {
	for _, e := range published {
		if own := c.index[e.Key]; own != nil && !c.IsPublished(own) {
			p := c.Problem(toml.PathTo("experts", own.Name), e.Key+" is a published Expert, too, which is needed here", "give the one of the file another version, or another name")
			return toml.Problems{p}.Err()
		}
		if c.index[e.Key] == nil {
			c.index[e.Key] = e
			c.Published = append(c.Published, e)
		}
	}
	for key, exact := range keys {
		if c.index[key] == nil && c.index[exact] != nil {
			c.index[key] = c.index[exact]
		}
	}
	return nil
}

// All returns the Experts of the file and the published ones.
func (c *Config) All() []*expert.Expert { return slices.Concat(c.Experts, c.Published) }

// IsPublished reports whether an Expert was added by [Config.Add].
func (c *Config) IsPublished(e *expert.Expert) bool { return slices.Contains(c.Published, e) }

// pinned is an Expert as a job has it: a delegate that was published is named by its exact key.
func (c *Config) pinned(e *expert.Expert) *expert.Expert {
	exact := slices.Clone(e.Delegates)
	for i, key := range exact {
		if d := c.index[key]; d != nil && c.IsPublished(d) {
			exact[i] = d.Key
		}
	}
	if slices.Equal(exact, e.Delegates) {
		return e
	}
	clone := *e
	clone.Delegates = exact
	return &clone
}

// publishedAt reports whether a path of the file is that of an Expert that is not in it.
func (c *Config) publishedAt(path string) bool {
	if len(c.Published) == 0 || !strings.HasPrefix(path, "experts.") {
		return false
	}
	e := c.ExpertAt(path)
	return e == nil || c.IsPublished(e)
}

// missingHint says what to do about a delegate that neither the file nor a registry has.
func (c *Config) missingHint(key string) string {
	k, err := expert.ParseKey(key)
	if err != nil {
		return ""
	}
	if e := c.index[k.Name]; e != nil {
		return "it has version " + e.Version + " of it"
	}
	return "define it, or write " + wording.Quote(k.Name+"@latest") + " for a published Expert"
}
