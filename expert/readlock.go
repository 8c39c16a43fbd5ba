package expert

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
)

// The limits of a lockfile. A server may offer a thousand tools; the text of all their
// definitions has its own limit when they are listed.
const (
	maxLock      = 16 << 20
	maxLockTools = 1000
)

// What errors about a lockfile end with.
const (
	mendLock        = "run: perstack install"
	mendVersion     = "update perstack"
	mendPermissions = "let yourself read it"
)

// A KeptLockError is about a lockfile that must not be written anew: nothing is wrong with
// it, but this program is too old for it, or this user may not read it. To replace it
// would drop pins that hold for others.
type KeptLockError struct{ Problems }

// Unwrap returns the Problems.
func (e *KeptLockError) Unwrap() error { return e.Problems }

// ReadLock reads a perstack.lock. It is strict: a file that perstack install would not
// have written, because somebody edited it, a merge left its marks in it or another
// version wrote it, is an error of type Problems, maybe inside a [KeptLockError]. A
// missing file is an error as well: where there need not be one, ask Config.ReadLock.
func ReadLock(path string) (*Lock, error) {
	data, err := ReadFile(path, maxLock)
	if err != nil {
		return nil, unreadable(path, err)
	}
	return ParseLock(path, data)
}

// ParseLock is [ReadLock] for the text of a perstack.lock. The path says where it comes
// from.
func ParseLock(path string, data []byte) (*Lock, error) {
	l, problems := parseLock(path, data)
	switch {
	case slices.ContainsFunc(problems, func(p Problem) bool { return p.Hint == mendVersion }):
		return nil, &KeptLockError{problems}
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
	problems := Problems{{File: path, Message: "cannot be read: " + err.Error(), Hint: mendLock}}
	if errors.Is(err, fs.ErrPermission) {
		problems[0].Hint = mendPermissions
		return &KeptLockError{problems}
	}
	return problems
}

// parseLock returns the first problems only: each of them is mended in the same way.
func parseLock(path string, data []byte) (*Lock, Problems) {
	const enough = 3
	r := &reader{file: path, doc: newDocument(data), positions: map[string]Position{}}
	l := r.lock(data)
	if len(r.problems) == 0 {
		return l, nil
	}
	r.problems.Sort()
	if more := len(r.problems) - enough; more > 0 {
		r.problems = append(r.problems[:enough], Problem{File: path, Message: fmt.Sprintf("and %d more", more)})
	}
	for i := range r.problems {
		if r.problems[i].Hint != mendVersion { // the others are about files that people write
			r.problems[i].Hint = mendLock
		}
	}
	return nil, r.problems
}

func (r *reader) lock(data []byte) *Lock {
	var b builder
	root, syntax := b.build(data)
	switch {
	case b.excess != "":
		r.fault(b.excessAt, "", b.excess, "")
		return nil
	case syntax != nil:
		r.fault(b.offset(syntax), "", visible(syntax.Error()), "")
		return nil
	}
	t := &table{r: r, n: root}
	// First of all: in another format, nothing else means what it means here.
	if n := t.want("version", kindString); n == nil || n.text != LockVersion {
		switch {
		case n != nil:
			hint := ""
			if n.text != "" && strings.Trim(n.text, "0123456789") == "" {
				hint = mendVersion // anything else is no version that we will ever write
			}
			r.fault(n.at, "version", fmt.Sprintf("is %s, and this program reads %q", quote(n.text), LockVersion), hint)
		case root.fields["version"] == nil:
			r.fault(root.at, "version", "is required", "")
		}
		return nil
	}
	for _, d := range b.twice {
		r.fault(d.at, d.path, "defined twice", "")
	}
	r.decode(data)
	l := &Lock{}
	if n := t.want("generatedAt", kindInteger); n != nil && n.number >= 0 && !n.unreadable {
		l.GeneratedAt = n.number
	} else {
		r.missing(root.at, "generatedAt", "must be a time in milliseconds", "")
	}
	l.ConfigPath = t.require("configPath", "", length(1, 255), printable)
	l.Images = r.lockedImages(t)
	if experts := t.sub("experts"); experts != nil {
		experts.each(func(key string, entry *table) { l.Experts = append(l.Experts, r.lockedExpert(key, entry)) })
	}
	t.finish()
	return l
}

func (r *reader) lockedExpert(key string, t *table) *LockedExpert {
	e := &LockedExpert{
		Key: t.require("key", ""), Name: t.require("name", ""), Version: t.require("version", ""),
		Description: t.str("description"), Instruction: t.require("instruction", ""),
		Delegates: t.strs("delegates", 0), Tags: t.strs("tags", 0),
		Definition: t.require("definition", "", isDigest),
	}
	if e.Key != key {
		r.fault(t.n.keyAt, t.at("key"), fmt.Sprintf("is %s in the table of %s", quote(e.Key), quote(key)), "")
	}
	for _, list := range []string{"delegates", "tags"} {
		if t.n.fields[list] == nil {
			r.missing(t.n.keyAt, t.at(list), "is required", "")
		}
	}
	if skills := t.sub("skills"); skills != nil {
		skills.each(func(name string, entry *table) { e.Skills = append(e.Skills, r.lockedSkill(name, entry)) })
	}
	var hosted Expert
	r.hosted(t, &hosted)
	e.ProviderTools, e.ProviderSkills, e.ProviderToolOptions = hosted.ProviderTools, hosted.ProviderSkills, hosted.ProviderToolOptions
	r.lockedTools(e, t)
	t.finish()
	return e
}

func (r *reader) lockedSkill(name string, t *table) *LockedSkill {
	s := &LockedSkill{Name: name, Digest: t.require("digest", "", isDigest)}
	if p := t.sub("package"); p != nil {
		s.Package = &LockedPackage{
			Manager: p.require("manager", "", oneOf("npx", "uvx")), Name: p.require("name", "", length(1, 255), printable),
			Version: p.str("version", length(0, 255), printable), Integrity: p.str("integrity", printable),
			Tree: strings.ReplaceAll(p.str("tree"), "\r", ""), // git may have changed how lines end; see lines
		}
		p.finish()
	}
	t.finish()
	return s
}

// lockedTools hands the definitions of an Expert to the skills that they belong to.
func (r *reader) lockedTools(e *LockedExpert, t *table) {
	list := t.want("toolDefinitions", kindArray)
	if list == nil {
		return
	}
	for i, item := range list.items {
		path := pathTo(t.at("toolDefinitions"), fmt.Sprint(i))
		if !r.is(item, kindTable, path) {
			continue
		}
		entry := &table{r: r, n: item, path: path}
		s, ok := e.Skill(entry.require("skillName", ""))
		tool, good := r.lockedTool(entry)
		switch {
		case !good:
		case !ok:
			r.fault(item.keyAt, entry.at("skillName"), "is not a skill of this Expert", "")
		case len(s.Tools) == maxLockTools:
			r.fault(item.keyAt, path, fmt.Sprintf("the skill %s has more than %d tools", quote(s.Name), maxLockTools), "")
			return
		case s.has(tool.Name):
			r.fault(item.keyAt, path, fmt.Sprintf("the skill %s has the tool %s twice", quote(s.Name), quote(tool.Name)), "")
		default:
			s.Tools = append(s.Tools, tool)
		}
	}
}

// lockedTool reads a definition and compares it with its own digest: one that was edited
// in the lockfile is not what the server said.
func (r *reader) lockedTool(t *table) (LockedTool, bool) {
	name, definition, digest := t.require("name", ""), t.require("definition", ""), t.require("digest", "", isDigest)
	t.finish()
	if name == "" || definition == "" || digest == "" {
		return LockedTool{}, false
	}
	at := t.n.fields["definition"].keyAt
	tool, err := LockTool([]byte(definition))
	switch {
	case err != nil:
		r.fault(at, t.at("definition"), visible(err.Error()), "")
	case tool.Digest != digest:
		r.fault(at, t.at("definition"), "does not have the digest that stands beside it: it was edited", "")
	case tool.Name != name:
		r.fault(at, t.at("definition"), fmt.Sprintf("is of %s, not of %s", quote(tool.Name), quote(name)), "")
	default:
		return tool, true
	}
	return LockedTool{}, false
}

func (s *LockedSkill) has(tool string) bool {
	for _, t := range s.Tools {
		if t.Name == tool {
			return true
		}
	}
	return false
}

func isDigest(s string) (message, hint string) {
	if len(s) != 64 || strings.Trim(s, "0123456789abcdef") != "" {
		return "is not a SHA-256 in hex", ""
	}
	return "", ""
}
