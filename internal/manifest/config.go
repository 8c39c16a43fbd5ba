// Package manifest reads perstack.toml: it finds the file, parses it, checks it and
// describes it by a JSON Schema.
//
// It reads files and returns values. It never starts a process, never dials out, never
// expands a variable and never prints. What is wrong with a file is reported all at once,
// each finding with file, line, column and a hint.
//
// Start reading at [Parse], which turns the bytes of a perstack.toml into a [Config] or a
// list of problems. [Locate] and [Load] find and read the file. [ParseUser] reads config.toml,
// the configuration of the user, with the same tables of keys. Keys that this version can
// read but not yet act upon are listed by [Config.Unsupported].
package manifest

import (
	"bytes"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/perstack-go/perstack/expert"
	"github.com/perstack-go/perstack/internal/toml"
	"github.com/perstack-go/perstack/job"
)

// Config is what a perstack.toml says. It does not hold defaults: a field that
// the file does not set is zero, so that flags and defaults can be told apart.
type Config struct {
	Path string // absolute path of the file
	Dir  string // its directory
	// Absent says that there is no file: see [Empty].
	Absent bool
	// SHA256 is the digest of the file as it was read, in hexadecimal.
	SHA256 string

	Settings   job.Settings // of every job; [docker] is Isolation.Container
	APIBaseURL string       // perstackApiBaseUrl: the registry
	Registries []Registry   // others, which the user has to allow

	// What the file says of models, by name; nil if it says nothing. It overrides what is
	// built in.
	Prices map[string]expert.Price
	Models map[string]expert.ModelEntry

	// BaseSkillCommand is perstackBaseSkillCommand: a program that takes the
	// place of the built-in base skill. Empty means the built-in one. The base
	// skills of the Experts have it as their Command already.
	BaseSkillCommand []string

	// EnvPath lists the env files to read, as written. Nil means that the file
	// does not say; empty but not nil means none.
	EnvPath []string

	Experts []*expert.Expert // in file order
	// Published are Experts that are not in the file; see [Config.Add].
	Published []*expert.Expert

	file      string            // as it was given, for messages
	meant     map[string]string // delegates that are not in the file, with the Experts that they look like
	index     expert.Index      // of Experts
	positions map[string]toml.Position
}

// Lookup finds the Expert that key names: one of the file with exactly this name, or one
// with this name and version if the key has a version; else one that was added for this key.
func (c *Config) Lookup(key string) (*expert.Expert, bool) {
	e, ok := c.index[key]
	return e, ok
}

// ExpertAt returns the Expert in whose table a path of the file lies, or nil.
func (c *Config) ExpertAt(path string) *expert.Expert {
	rest, ok := strings.CutPrefix(path, "experts.")
	if !ok {
		return nil
	}
	if name, err := strconv.QuotedPrefix(rest); err == nil {
		rest, _ = strconv.Unquote(name)
	} else {
		rest, _, _ = strings.Cut(rest, ".")
	}
	return c.index[rest]
}

// Closure is [expert.Index.Closure] over the Experts of the file, and those that were added.
func (c *Config) Closure(e *expert.Expert) (experts []*expert.Expert, missing []string) {
	return c.index.Closure(e)
}

// Spec is a job of an Expert, without an input and a workspace.
func (c *Config) Spec(e *expert.Expert) job.Spec {
	experts, _ := c.Closure(e)
	for i, e := range experts {
		experts[i] = c.pinned(e)
	}
	return job.Spec{
		Expert:   e.Key,
		Experts:  experts,
		Project:  c.Keys(),
		Settings: c.Settings,
		Models:   c.Models,
		Prices:   c.Prices,
		Manifest: c.Path,
	}
}

// Keys lists the Experts of the file.
func (c *Config) Keys() (keys []string) {
	for _, e := range c.Experts {
		keys = append(keys, e.Key)
	}
	return keys
}

// DefaultAPIBaseURL is the registry when the file does not name one.
const DefaultAPIBaseURL = "https://api.perstack.ai"

// LockFile is the path of the lockfile that belongs to the file, whether it exists or not.
// It is named after the file: perstack.lock of perstack.toml, b.lock of b.toml. Two files
// of one directory must not take each other's pins for their own.
func (c *Config) LockFile() string {
	return filepath.Join(c.Dir, strings.TrimSuffix(c.Name(), ".toml")+".lock")
}

// Name is the base name of the file, which its lockfile repeats.
func (c *Config) Name() string {
	if c.Path == "" {
		return FileName
	}
	return filepath.Base(c.Path)
}

// maxFile bounds perstack.toml: 1 MiB.
const maxFile = 1 << 20

// Parse reads the text of a perstack.toml. The path says where the text comes
// from: it names the file in problems, and relative paths in the file are
// relative to its directory.
//
// All problems are reported together. The Config is nil if one of them is an
// error, that is if Problems.Err is not nil.
func Parse(path string, data []byte) (*Config, toml.Problems) {
	if len(data) > maxFile {
		return nil, toml.Problems{{File: path, Line: 1, Column: 1, Message: "the file is larger than 1 MiB", Hint: "keep long texts out of it"}}
	}
	data = bytes.TrimPrefix(data, []byte("\ufeff")) // editors on Windows put it there
	base, root := toml.ReadTree(path, data)
	if root == nil {
		return nil, base.Problems
	}
	abs, err := filepath.Abs(path)
	if err != nil {
		abs = path
	}
	r := &reader{Reader: base, tables: &allTables, file: &Config{Path: abs, Dir: filepath.Dir(abs), file: path}}
	r.config(root)
	r.Problems.Sort()
	if r.Problems.Err() != nil {
		return nil, r.Problems
	}
	r.file.positions = r.Positions(root)
	r.file.index = expert.NewIndex(r.file.Experts)
	return r.file, r.Problems
}

// reader turns the tree into a Config.
type reader struct {
	*toml.Reader
	tables    *tables
	file      *Config
	providers []string // all that the file names
	delegates []delegateRef
}
