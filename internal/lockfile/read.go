package lockfile

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"github.com/perstack-go/perstack/expert"
	"github.com/perstack-go/perstack/internal/manifest"
	"github.com/perstack-go/perstack/internal/programs"
	"github.com/perstack-go/perstack/internal/toml"
	"github.com/perstack-go/perstack/internal/userfile"
	"github.com/perstack-go/perstack/internal/wording"
)

// The limits of a lockfile. A server may offer a thousand tools; the text of all their
// definitions has its own limit when they are listed.
const (
	maxLock      = 16 << 20
	maxLockTools = 1000

	// The commas of one definition, of all large ones, and of all, which bound their members. JSON with
	// millions of members takes many seconds to sort, and objects with many members take the longest.
	// 16 MiB of small definitions have 800,000.
	maxCommas      = 20_000
	largeCommas    = 500
	maxLargeCommas = 300_000
	maxAllCommas   = 1_000_000

	// The commas of the trees of all packages. 12 MiB of them have 250,000.
	maxTreeCommas = 250_000

	// Sorting moves the text of a member once for every level above it.
	maxDefinitionDepth = 64
)

// InstallAgain is the hint of every error that a new lockfile cures. Programs that can
// install replace it with how they do so.
const InstallAgain = "install the Experts again"

// updateHint is about a lockfile of a later version.
const updateHint = "update perstack"

// A KeepError is about a lockfile that must not be replaced: nothing is wrong with it, but
// this program is too old for it, or this user may not read it. To replace it would drop
// pins that hold for others.
type KeepError struct{ toml.Problems }

// Unwrap returns the Problems.
func (e *KeepError) Unwrap() error { return e.Problems }

// ReadFile reads a perstack.lock. It is strict: a file that [Lock.Write] would not have
// written is an error of type [toml.Problems], maybe inside a [KeepError]. So is a missing
// file; see [Read].
func ReadFile(path string) (*Lock, error) {
	data, err := userfile.Read(path, maxLock)
	if err != nil {
		return nil, unreadable(path, err)
	}
	l, err := Parse(path, data)
	if l != nil {
		l.SHA256 = userfile.Digest(data)
	}
	return l, err
}

// Parse is [ReadFile] for the text of a perstack.lock that comes from path.
func Parse(path string, data []byte) (*Lock, error) {
	l, problems := parseLock(path, data)
	switch {
	case slices.ContainsFunc(problems, func(p toml.Problem) bool { return p.Hint == updateHint }):
		return nil, &KeepError{problems}
	case len(problems) > 0:
		return nil, problems
	}
	var err error
	if l.Path, err = filepath.Abs(path); err != nil {
		l.Path = path
	}
	return l, nil
}

// unreadable is the error about a lockfile that could not be read at all.
func unreadable(path string, err error) error {
	problems := toml.Problems{{File: path, Message: "cannot be read: " + err.Error(), Hint: InstallAgain}}
	if errors.Is(err, fs.ErrPermission) {
		problems[0].Hint = "let yourself read it"
		return &KeepError{problems}
	}
	return problems
}

// parseLock returns the first problems only: each has the same cure.
func parseLock(path string, data []byte) (*Lock, toml.Problems) {
	const enough = 3
	base, root := toml.ReadTree(path, data)
	r, l := &lockReader{Reader: base}, (*Lock)(nil)
	if root != nil && !r.Partial {
		l = r.lock(root)
	}
	if len(r.Problems) == 0 {
		return l, nil
	}
	r.Problems.Sort()
	if more := len(r.Problems) - enough; more > 0 {
		r.Problems = append(r.Problems[:enough], toml.Problem{File: path, Message: fmt.Sprintf("and %d more", more)})
	}
	for i := range r.Problems {
		if r.Problems[i].Hint != updateHint { // the others are about files that people write
			r.Problems[i].Hint = InstallAgain
		}
	}
	return nil, r.Problems
}

// lockReader turns the tree into a Lock.
type lockReader struct {
	*toml.Reader
	// The commas of all definitions so far, and of the large ones.
	commas, largeCommas int
	treeCommas          int
}

func (r *lockReader) lock(root *toml.Node) *Lock {
	t := r.Table(root)
	// In another format, nothing else means what it means here.
	if n := root.Fields["version"]; n == nil || n.Kind != toml.KindString || n.Text != Version {
		r.Problems = nil
		n = t.Want("version", toml.KindString)
		switch {
		case n != nil:
			hint := ""
			if n.Text != "" && strings.Trim(n.Text, "0123456789") == "" {
				hint = updateHint // anything else is no version that we will ever write
			}
			r.Fault(n.At, n.Path(), fmt.Sprintf("is %s, and this program reads %q", wording.Quote(n.Text), Version), hint)
		case root.Fields["version"] == nil:
			r.Fault(root.At, "version", "is required", "")
		}
		return nil
	}
	if at := writtenByOriginal(root); at != nil {
		r.Problems = nil
		r.Fault(at.KeyAt, "", "was written by the original perstack, and its pins cannot be used", "")
		return nil
	}
	t.Knows("version")
	l := &Lock{}
	if n := t.Want("generatedAt", toml.KindInteger); n != nil && n.Number >= 0 && !n.Unreadable {
		l.GeneratedAt = n.Number
	} else {
		r.Missing(root.At, "generatedAt", "must be a time in milliseconds", "")
	}
	l.ConfigPath = t.Require("configPath", toml.Length(1, 255), toml.Printable)
	l.Images = r.lockedImages(t)
	if experts := t.Sub("experts"); experts != nil {
		experts.Each(func(key string, entry *toml.Table) { l.Experts = append(l.Experts, r.lockedExpert(key, entry)) })
	}
	t.Finish()
	return l
}

// writtenByOriginal returns where a lockfile shows that the original wrote it: its skills have
// a type and no digest, and its tools have no definition.
func writtenByOriginal(root *toml.Node) *toml.Node {
	experts := root.Fields["experts"]
	if experts == nil {
		return nil
	}
	for _, key := range experts.Keys {
		e := experts.Fields[key]
		if e.Fields["definition"] != nil || e.Fields["toolDefinitions"] == nil && e.Fields["skills"] == nil {
			continue
		}
		if tools := e.Fields["toolDefinitions"]; tools != nil {
			for _, item := range tools.Items {
				if item.Fields["inputSchema"] != nil {
					return e
				}
			}
		}
		if skills := e.Fields["skills"]; skills != nil {
			for _, name := range skills.Keys {
				if skills.Fields[name].Fields["type"] != nil {
					return e
				}
			}
		}
	}
	return nil
}

func (r *lockReader) lockedExpert(key string, t *toml.Table) *Expert {
	e := &Expert{
		Key: t.Require("key"), Name: t.Require("name"), Version: t.Require("version"),
		Description: t.Str("description"), Instruction: t.Require("instruction"),
		Delegates: t.Strs("delegates", 0), DelegateTools: t.Strs("delegateTools", 0), Tags: t.Strs("tags", 0),
		Definition: t.Require("definition", isDigest),
	}
	if t.Node.Fields["registry"] != nil {
		e.Published = r.published(t)
	}
	if e.Key != key {
		r.Fault(t.Node.KeyAt, t.At("key"), fmt.Sprintf("is %s in the table of %s", wording.Quote(e.Key), wording.Quote(key)), "")
	}
	for _, list := range []string{"delegates", "tags"} {
		if t.Node.Fields[list] == nil {
			r.Missing(t.Node.KeyAt, t.At(list), "is required", "")
		}
	}
	if skills := t.Sub("skills"); skills != nil {
		skills.Each(func(name string, entry *toml.Table) { e.Skills = append(e.Skills, r.lockedSkill(name, entry)) })
	}
	var hosted expert.Expert
	manifest.ReadProviderFeatures(t, &hosted)
	e.ProviderTools, e.ProviderSkills, e.ProviderToolOptions = hosted.ProviderTools, hosted.ProviderSkills, hosted.ProviderToolOptions
	r.lockedTools(e, t)
	t.Finish()
	return e
}

// published reads what is known of an Expert of a registry.
func (r *lockReader) published(t *toml.Table) *Published {
	p := &Published{
		Registry: t.Require("registry", toml.Length(1, 2048), toml.Printable), Digest: t.Require("digest", isNamedDigest),
		Capability: t.Require("capabilityHash", isDigest), Signer: t.Str("signer", toml.Length(0, 255), toml.Printable),
		Requested: t.Strs("requested", 0),
	}
	if n := t.Want("leafIndex", toml.KindInteger); n != nil && n.Number >= 0 && !n.Unreadable {
		p.LeafIndex = n.Number
	} else {
		r.Missing(t.Node.KeyAt, t.At("leafIndex"), "must be a position in a log", "")
	}
	return p
}

func (r *lockReader) lockedSkill(name string, t *toml.Table) *Skill {
	s := &Skill{
		Name: name, Digest: t.Require("digest", isDigest), Source: t.Str("source"),
		Program: strings.ReplaceAll(t.Str("program"), "\r", ""), // git may have changed how lines end; see lines
	}
	if err := programs.Check(s.Program); err != nil {
		r.Fault(t.Node.KeyAt, t.At("program"), wording.Visible(err.Error()), "")
	}
	if p := t.Sub("package"); p != nil {
		s.Package = &Package{
			Manager: p.Require("manager", toml.OneOf("npx", "uvx")), Name: p.Require("name", toml.Length(1, 255), toml.Printable),
			Version: p.Str("version", toml.Length(0, 255), toml.Printable), Integrity: p.Str("integrity", toml.Printable),
			Tree: strings.ReplaceAll(p.Str("tree"), "\r", ""), // git may have changed how lines end; see lines
		}
		p.Finish()
		if r.treeCommas += strings.Count(s.Package.Tree, ","); r.treeCommas > maxTreeCommas {
			r.Fault(p.Node.KeyAt, p.At("tree"), "the trees of the packages have too many members to be checked in time", "")
		}
	}
	t.Finish()
	return s
}

// lockedTools gives the definitions of an Expert to the skills that they belong to.
func (r *lockReader) lockedTools(e *Expert, t *toml.Table) {
	t.EachItem("toolDefinitions", 0, func(entry *toml.Table) {
		s, ok := e.Skill(entry.Require("skillName"))
		tool, good := r.lockedTool(entry)
		fault := func(path, format string, args ...any) {
			r.Fault(entry.Node.KeyAt, path, fmt.Sprintf(format, args...), "")
		}
		switch {
		case !good:
		case !ok:
			fault(entry.At("skillName"), "is not a skill of this Expert")
		case len(s.Tools) == maxLockTools:
			fault(entry.Node.Path(), "the skill %s has more than %d tools", wording.Quote(s.Name), maxLockTools)
		case s.has(tool.Name):
			fault(entry.Node.Path(), "the skill %s has the tool %s twice", wording.Quote(s.Name), wording.Quote(tool.Name))
		default:
			s.Tools = append(s.Tools, tool)
		}
	})
}

// lockedTool reads a definition and compares it with its own digest: one that was edited
// in the lockfile is not what the server said.
func (r *lockReader) lockedTool(t *toml.Table) (Tool, bool) {
	name, definition, digest := t.Require("name"), t.Require("definition"), t.Require("digest", isDigest)
	t.Finish()
	if name == "" || definition == "" || digest == "" {
		return Tool{}, false
	}
	n := t.Node.Fields["definition"]
	commas := strings.Count(definition, ",")
	if r.commas += commas; commas > largeCommas {
		r.largeCommas += commas
	}
	if commas > maxCommas || r.largeCommas > maxLargeCommas || r.commas > maxAllCommas {
		r.Fault(n.KeyAt, n.Path(), "the definitions of the tools have too many members to be checked in time", "")
		return Tool{}, false
	}
	tool, err := ParseTool([]byte(definition))
	switch {
	case err != nil:
		r.Fault(n.KeyAt, n.Path(), wording.Visible(err.Error()), "")
	case tool.Digest != digest:
		r.Fault(n.KeyAt, n.Path(), "does not have the digest that stands beside it: it was edited", "")
	case tool.Name != name:
		r.Fault(n.KeyAt, n.Path(), fmt.Sprintf("is of %s, not of %s", wording.Quote(tool.Name), wording.Quote(name)), "")
	default:
		return tool, true
	}
	return Tool{}, false
}

func (s *Skill) has(tool string) bool {
	return slices.ContainsFunc(s.Tools, func(t Tool) bool { return t.Name == tool })
}

func isDigest(s string) (message, hint string) {
	if len(s) != 64 || strings.Trim(s, "0123456789abcdef") != "" {
		return "is not a SHA-256 in hex", ""
	}
	return "", ""
}

func isNamedDigest(s string) (message, hint string) {
	rest, ok := strings.CutPrefix(s, "sha256:")
	if !ok {
		return "does not begin with sha256:", ""
	}
	return isDigest(rest)
}
