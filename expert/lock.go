package expert

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// A Lock is what a perstack.lock says: what was found when the Experts of a file were
// installed, and what a run must find again.
type Lock struct {
	Path        string // absolute; set by ReadLock
	GeneratedAt int64  // Unix milliseconds
	ConfigPath  string // base name of the configuration
	Experts     []*LockedExpert
	Images      []LockedImage // what containers stand on that run packages of skills
}

// A LockedImage is a container image by its content.
type LockedImage struct {
	Name   string // as the file calls it, or the default
	Pinned string // the same with its digest, or its id
}

// A LockedExpert is an Expert as it was installed.
type LockedExpert struct {
	Key, Name, Version, Description, Instruction string

	Definition string // Expert.Digest
	Delegates  []string
	Tags       []string
	Skills     []*LockedSkill // the MCP skills; the built-in base has nothing to pin

	// What the provider runs for it, as the file says.
	ProviderTools       []string
	ProviderSkills      []ProviderSkill
	ProviderToolOptions *ProviderToolOptions
}

// A LockedSkill is an MCP skill as it was installed: how it is started, and the tools
// that it offered, before pick and omit.
type LockedSkill struct {
	Name    string
	Digest  string // Skill.Connection: what decides which tools there are
	Package *LockedPackage
	Tools   []LockedTool
}

// A LockedPackage is what a package manager resolved a Package to.
type LockedPackage struct {
	Manager   string // npx or uvx
	Name      string
	Version   string // exact
	Integrity string // as npm writes it; empty for uvx
	Tree      string // npm: the package-lock.json of all that it needs; empty for uvx
}

// A LockedTool is the definition of a tool, word for word as the server gave it. Definition
// is all of it, in the form of [CanonicalJSON]; the other fields are taken out of it. Make
// one with [LockTool], so that they agree: only Definition and Digest are written down.
type LockedTool struct {
	Definition jsontext.Value
	Digest     string // DefinitionDigest, which is skill.Tool.Digest as well

	Name, Title, Description string
	InputSchema              jsontext.Value
	Repeatable               bool // the server says that a second run does no harm
}

// LockTool reads the definition of a tool: the object of name, title, description,
// inputSchema, outputSchema and annotations as the server sent them. There is no other
// reader: what a live server offers and what a lockfile holds must be the same tool.
func LockTool(definition jsontext.Value) (LockedTool, error) {
	canonical, err := CanonicalJSON(definition)
	if err != nil {
		return LockedTool{}, fmt.Errorf("the definition of a tool is not JSON: %w", err)
	}
	var said struct {
		Name        string         `json:"name"`
		Title       string         `json:"title"`
		Description string         `json:"description"`
		InputSchema jsontext.Value `json:"inputSchema"`
		Annotations jsontext.Value `json:"annotations"`
	}
	if err := json.Unmarshal(canonical, &said); err != nil {
		return LockedTool{}, fmt.Errorf("the definition of a tool is not one: %w", err)
	}
	switch {
	case said.Name == "":
		return LockedTool{}, errors.New("the definition of a tool has no name")
	case said.InputSchema.Kind() != '{':
		return LockedTool{}, fmt.Errorf("the definition of the tool %s has no inputSchema", quote(said.Name))
	}
	hints := readHints(said.Annotations)
	return LockedTool{
		Definition: canonical, Digest: DefinitionDigest(canonical),
		Name: said.Name, Title: cmp.Or(said.Title, hints.Title), Description: said.Description,
		InputSchema: said.InputSchema, Repeatable: hints.ReadOnly || hints.Idempotent,
	}, nil
}

// hints are what a server says about a tool beside its definition. They are enough for
// repeating a call after a crash, not for trusting that a tool only reads.
type hints struct {
	Title      string `json:"title"`
	ReadOnly   bool   `json:"readOnlyHint"`
	Idempotent bool   `json:"idempotentHint"`
}

// readHints reads them. Hints that are not as MCP has them count as none: then a call is
// not repeated, which is the careful answer.
func readHints(annotations jsontext.Value) hints {
	var h hints
	if len(annotations) == 0 || json.Unmarshal(annotations, &h) != nil {
		return hints{}
	}
	return h
}

// LockFile is the path of the lockfile that belongs to the file, whether it exists or not.
// It is named after the file: perstack.lock of perstack.toml, b.lock of b.toml. Two files
// of one directory must not take each other's pins for their own.
func (c *Config) LockFile() string {
	return filepath.Join(c.Dir, strings.TrimSuffix(c.name(), ".toml")+".lock")
}

// name is the base name of the file, which its lockfile repeats.
func (c *Config) name() string {
	if c.Path == "" {
		return FileName
	}
	return filepath.Base(c.Path)
}

// ReadLock reads the lockfile beside the file; nil if there is none. One that is there
// and cannot be read is an error: to go on without it would drop the pins.
func (c *Config) ReadLock() (*Lock, error) {
	if _, err := os.Lstat(c.LockFile()); absent(err) {
		return nil, nil
	}
	return ReadLock(c.LockFile())
}

// Expert finds what the lock has about an Expert.
func (l *Lock) Expert(key string) (*LockedExpert, bool) {
	if l == nil {
		return nil, false
	}
	for _, e := range l.Experts {
		if e.Key == key {
			return e, true
		}
	}
	return nil, false
}

// Skill finds what the lock has about a skill.
func (e *LockedExpert) Skill(name string) (*LockedSkill, bool) {
	if e == nil {
		return nil, false
	}
	for _, s := range e.Skills {
		if s.Name == name {
			return s, true
		}
	}
	return nil, false
}
