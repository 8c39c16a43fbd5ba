package expert

import (
	"slices"
	"strings"
)

// This file decides who serves the base skill: this program, or another one that the
// file names.

// BaseSkill is the name of the skill that every Expert has.
const BaseSkill = "@perstack/base"

// implicitBase is the base skill of an Expert that does not declare it.
func implicitBase() *Skill {
	return &Skill{
		Name: BaseSkill, Type: StdioSkill, Description: "Base skill", Implicit: true,
		Command: "npx", Args: []string{"-y", BaseSkill},
	}
}

// IsBase reports whether this is the base skill of its Expert.
func (s *Skill) IsBase() bool { return s.Name == BaseSkill }

// isBasePackage recognises the package exactly, with or without a version, so
// that @perstack/base-tools is not taken for it.
func isBasePackage(s string) bool {
	version, ok := strings.CutPrefix(s, BaseSkill)
	return ok && (version == "" || version[0] == '@')
}

// looksLikeBase reports whether an entry would start the base skill, whatever
// it is called.
func (s *Skill) looksLikeBase() bool {
	p, _ := s.Package()
	return isBasePackage(s.Name) || isBasePackage(s.PackageName) || p.Name == BaseSkill
}

// settleBase sets BuiltIn of the base skill, and puts perstackBaseSkillCommand where
// the built-in one would be. An Expert that asks for a version, a program or a server of
// its own keeps it.
func settleBase(s *Skill, command []string) {
	s.BuiltIn = s.asksForBuiltIn()
	if !s.BuiltIn || len(command) == 0 {
		return
	}
	s.BuiltIn = false
	s.Command, s.Args, s.PackageName = command[0], slices.Clone(command[1:]), ""
}

// asksForBuiltIn reports whether an entry names nothing but the base skill itself.
func (s *Skill) asksForBuiltIn() bool {
	if !s.IsBase() || s.Type != StdioSkill {
		return false
	}
	if s.PackageName == "" && len(s.Args) == 0 {
		return s.Command == "" || packageManager(s.Command) == "npx"
	}
	p, ok := s.Package()
	return ok && p.Manager == "npx" && p.Spec() == BaseSkill && p.Program == "" && len(p.Args) == 0
}

// baseEntry warns about keys that do nothing on the base skill.
func (r *reader) baseEntry(t *table, s *Skill) {
	ignored := func(key, hint string) {
		if n := t.n.fields[key]; n != nil {
			r.warn(n.keyAt, t.at(key), "has no effect on the base skill", hint)
		}
	}
	if s.LazyInit {
		ignored("lazyInit", "it always starts first; remove it")
		s.LazyInit = false
	}
	if s.ToolPrefix {
		// A run ends with attemptCompletion, which must be found under its name.
		ignored("toolPrefix", "its tools keep their names; remove it")
		s.ToolPrefix = false
	}
	if !s.BuiltIn {
		return
	}
	if len(s.RequiredEnv) > 0 {
		ignored("requiredEnv", "the built-in one reads no variables; remove it")
	}
	ignored("startTimeout", "the built-in one is not started; remove it")
	ignored("callTimeout", "the built-in one keeps its own limits; remove it")
}
