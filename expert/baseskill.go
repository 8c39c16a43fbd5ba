package expert

import (
	"strings"
)

// This file decides who serves the base skill: this program, or another one that the
// file names.

// BaseSkill is the name of the skill that every Expert has.
const BaseSkill = "@perstack/base"

// IsBase reports whether this is the base skill of its Expert.
func (s *Skill) IsBase() bool { return s.Name == BaseSkill }

// IsBasePackage recognises the package exactly, with or without a version, so
// that @perstack/base-tools is not taken for it.
func IsBasePackage(s string) bool {
	version, ok := strings.CutPrefix(s, BaseSkill)
	return ok && (version == "" || version[0] == '@')
}

// NamesBase reports whether an entry would start the base skill, whatever
// it is called.
func (s *Skill) NamesBase() bool {
	p, _ := s.Package()
	return IsBasePackage(s.Name) || IsBasePackage(s.PackageName) || p.Name == BaseSkill
}

// AsksForBuiltIn reports whether an entry names nothing but the base skill itself.
func (s *Skill) AsksForBuiltIn() bool {
	if !s.IsBase() || s.Type != StdioSkill {
		return false
	}
	if s.PackageName == "" && len(s.Args) == 0 {
		return s.Command == "" || PackageManager(s.Command) == "npx"
	}
	p, ok := s.Package()
	return ok && p.Manager == "npx" && p.Spec() == BaseSkill && p.Program == "" && len(p.Args) == 0
}
