// Package lockfile reads and writes perstack.lock: what was found when the Experts of a
// perstack.toml were installed, and what a run must find again.
//
// It never fetches or starts anything. Start reading at [Read] and [Lock.Stale].
package lockfile

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/perstack-go/perstack/expert"
	"github.com/perstack-go/perstack/internal/manifest"
	"github.com/perstack-go/perstack/internal/userfile"
	"github.com/perstack-go/perstack/internal/wording"
	"github.com/perstack-go/perstack/rawjson"
)

// A Lock is what a perstack.lock says.
type Lock struct {
	Path        string // absolute; set by ReadFile
	SHA256      string // digest of the file as it was read, in hexadecimal; set by ReadFile
	GeneratedAt int64  // Unix milliseconds
	ConfigPath  string // base name of the configuration
	Experts     []*Expert
	Images      []Image // for containers that run packages of skills
}

// An Image is a container image by its content.
type Image struct {
	Name   string // as the file calls it, or the default
	Pinned string // the same with its digest, or its id
}

// An Expert is an Expert as it was installed.
type Expert struct {
	Key, Name, Version, Description, Instruction string

	Definition string // Expert.Digest
	Delegates  []string
	// DelegateTools are what the model calls the delegates, if it is not the last part of each name.
	DelegateTools []string
	Tags          []string
	Skills        []*Skill // the MCP skills; the built-in base has nothing to pin

	Published *Published // nil for an Expert of the file

	// What the provider runs for it, as the file says.
	ProviderTools       []string
	ProviderSkills      []expert.ProviderSkill
	ProviderToolOptions *expert.ProviderToolOptions
}

// delegateTools are the names of the tools that delegate; none if each is the last part of the delegate's name.
func delegateTools(keys []string) []string {
	tools := expert.DelegateTools(keys)
	for i, key := range keys {
		if k, err := expert.ParseReference(key); err == nil && tools[i] != k.ToolName() {
			return tools
		}
	}
	return nil
}

// NewExpert is an Expert as it is installed, without its skills.
func NewExpert(e *expert.Expert) *Expert {
	return &Expert{
		DelegateTools: delegateTools(e.Delegates),
		Key:           e.Key, Name: e.Name, Version: e.Version, Description: e.Description, Instruction: e.Instruction,
		Definition: e.Digest(), Delegates: e.Delegates, Tags: e.Tags,
		ProviderTools: e.ProviderTools, ProviderSkills: e.ProviderSkills, ProviderToolOptions: e.ProviderToolOptions,
	}
}

// A Published is what a registry proved about an Expert. A lockfile can come from anywhere: its digest
// counts once this machine has verified it.
type Published struct {
	Registry   string   // address
	Digest     string   // of the definition, with sha256: before it
	LeafIndex  int64    // in the log of the registry
	Capability string   // hash of what it and its delegates can do
	Signer     string   // fingerprint; empty if there is no signature
	Requested  []string // keys of the file that mean this Expert; none for a delegate of a published one
}

// A Skill is an MCP skill as it was installed: how it is started, and the tools
// that it offered, before pick and omit.
type Skill struct {
	Name    string
	Digest  string // Skill.Connection: what decides which tools there are
	Source  string // how it was started or reached, for messages; may be empty
	Package *Package
	// Program has a line for each file of the workspace that the skill is started from, as
	// [programs.Program.Digest] writes them; empty if there is none.
	Program string
	Tools   []Tool
}

// A Package is what a package manager resolved a package to.
type Package struct {
	Manager   string `json:"-"` // npx or uvx
	Name      string `json:"name"`
	Version   string `json:"version"`   // exact
	Integrity string `json:"integrity"` // as npm writes it; empty for uvx
	Tree      string `json:"tree"`      // npm: the package-lock.json of all that it needs; empty for uvx
}

// ID identifies the package and all that it needs.
func (p *Package) ID() string {
	return strings.Join([]string{p.Manager, p.Name, p.Version, p.Integrity, p.Tree}, "\n")
}

// A Tool is the definition of a tool, word for word as the server gave it. Definition
// is all of it, in the one form that digests are made of; the other fields are taken out of
// it. Make one with [ParseTool], so that they agree: only Definition and Digest are written
// down.
type Tool struct {
	Definition rawjson.Value
	Digest     string // SHA-256 of Definition, in hex; skill.Tool.Digest is the same

	Name, Title, Description string
	InputSchema              rawjson.Value
	Repeatable               bool // the server says that a second run does no harm
	ReadOnly, Destructive    bool // the server says that the tool changes nothing, or that it can delete or overwrite
}

// ParseTool reads the definition of a tool: the object of name, title, description,
// inputSchema, outputSchema and annotations as the server sent them. There is no other
// reader: what a live server offers and what a lockfile holds must be the same tool.
func ParseTool(definition rawjson.Value) (Tool, error) {
	opens := bytes.Count(definition, []byte("{")) + bytes.Count(definition, []byte("["))
	if opens > maxDefinitionDepth && !definition.IsWithin(maxDefinitionDepth) && definition.IsValid() {
		return Tool{}, fmt.Errorf("the definition of a tool is nested more than %d deep", maxDefinitionDepth)
	}
	canonical, err := canonicalJSON(definition)
	if err != nil {
		return Tool{}, fmt.Errorf("the definition of a tool is not JSON: %w", err)
	}
	var said struct {
		Name        string        `json:"name"`
		Title       string        `json:"title"`
		Description string        `json:"description"`
		InputSchema rawjson.Value `json:"inputSchema"`
		Annotations rawjson.Value `json:"annotations"`
	}
	if err := json.Unmarshal(canonical, &said, jsontext.AllowDuplicateNames(true)); err != nil { // there are none
		return Tool{}, fmt.Errorf("the definition of a tool is not one: %w", err)
	}
	switch {
	case said.Name == "":
		return Tool{}, errors.New("the definition of a tool has no name")
	case said.InputSchema.Kind() != '{':
		return Tool{}, fmt.Errorf("the definition of the tool %s has no inputSchema", wording.Quote(said.Name))
	}
	hints, sum := readHints(said.Annotations), sha256.Sum256(canonical)
	return Tool{
		Definition: canonical, Digest: hex.EncodeToString(sum[:]),
		Name: said.Name, Title: cmp.Or(said.Title, hints.Title), Description: said.Description,
		InputSchema: said.InputSchema, Repeatable: hints.ReadOnly || hints.Idempotent,
		ReadOnly: hints.ReadOnly, Destructive: hints.Destructive,
	}, nil
}

// hints are what a server says about a tool beside its definition. They are enough for
// repeating a call after a crash, not for trusting that a tool only reads.
type hints struct {
	Title       string `json:"title"`
	ReadOnly    bool   `json:"readOnlyHint"`
	Idempotent  bool   `json:"idempotentHint"`
	Destructive bool   `json:"destructiveHint"`
}

// readHints reads them. Hints that are not as MCP has them count as none: then a call is
// not repeated.
func readHints(annotations rawjson.Value) (h hints) {
	if json.Unmarshal(annotations, &h) != nil {
		return hints{}
	}
	return h
}

// Expert finds what the lock has about an Expert.
func (l *Lock) Expert(key string) (*Expert, bool) {
	if l == nil {
		return nil, false
	}
	return first(l.Experts, func(e *Expert) bool { return e.Key == key })
}

// Published finds the published Expert that a key of the file meant.
func (l *Lock) Published(key string) (*Expert, bool) {
	if l == nil {
		return nil, false
	}
	return first(l.Experts, func(e *Expert) bool {
		return e.Published != nil && (e.Key == key || slices.Contains(e.Published.Requested, key))
	})
}

// ByKey has what the lock says about Experts, by their keys.
func (l *Lock) ByKey() map[string]*Expert {
	all := make(map[string]*Expert, len(l.Experts))
	for _, e := range l.Experts {
		all[e.Key] = e
	}
	return all
}

// Skill finds what the lock has about a skill.
func (e *Expert) Skill(name string) (*Skill, bool) {
	if e == nil {
		return nil, false
	}
	return first(e.Skills, func(s *Skill) bool { return s.Name == name })
}

func first[T any](all []*T, is func(*T) bool) (*T, bool) {
	if i := slices.IndexFunc(all, is); i >= 0 {
		return all[i], true
	}
	return nil, false
}

// Read reads the lockfile beside the file; nil if there is none. One that is there
// and cannot be read is an error: continuing without it would drop the pins.
func Read(c *manifest.Config) (*Lock, error) {
	if _, err := os.Lstat(c.LockFile()); userfile.Absent(err) {
		return nil, nil
	}
	return ReadFile(c.LockFile())
}

// Digests returns the SHA-256 of a configuration and of its lockfile as they were read, by path. The
// Lock is nil if there is no lockfile, whose digest is "" then.
func (l *Lock) Digests(c *manifest.Config) map[string]string {
	all := map[string]string{c.Path: c.SHA256, c.LockFile(): ""}
	if l != nil {
		all[c.LockFile()] = l.SHA256
	}
	return all
}

// canonicalJSON writes a JSON value in the one form that digests are made of: no blanks,
// members sorted, strings with as few escapes as JSON allows. Numbers stay as they are
// written, since rounding them could make two values equal that are not. A value with
// two members of one name, or with bytes that are not UTF-8, is refused: two readers
// could take it for two different things.
func canonicalJSON(value rawjson.Value) (rawjson.Value, error) {
	v := value.Clone()
	err := (*jsontext.Value)(&v).Compact(jsontext.ReorderRawObjects(true), jsontext.PreserveRawStrings(false),
		jsontext.AllowDuplicateNames(false), jsontext.AllowInvalidUTF8(false))
	return v, err
}

// UnknownTools has a line for each name in pick and omit of s that the skill did not have
// when it was installed. A slip in pick loses a tool; one in omit leaves in what was to go.
func (l *Skill) UnknownTools(s *expert.Skill) (lines []string) {
	var known []string
	for _, t := range l.Tools {
		known = append(known, t.Name)
	}
	check := func(key string, names []string) {
		for _, name := range names {
			if l.has(name) {
				continue
			}
			line := fmt.Sprintf("%s names the tool %s, which the skill does not have", key, wording.Quote(name))
			if meant := wording.Nearest(name, known); meant != "" {
				line += "; did you mean " + wording.Quote(meant) + "?"
			}
			lines = append(lines, line)
		}
	}
	check("pick", s.Pick)
	check("omit", s.Omit)
	return lines
}
