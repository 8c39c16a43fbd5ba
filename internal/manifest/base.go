package manifest

import (
	"fmt"
	"slices"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/expert"
	"github.com/perstack-go/perstack/internal/skills/base/prompt"
	"github.com/perstack-go/perstack/internal/toml"
	"github.com/perstack-go/perstack/internal/wording"
)

// implicitBase is the base skill of an Expert that does not declare it.
func implicitBase() *expert.Skill {
	return &expert.Skill{
		Name: expert.BaseSkill, Type: expert.StdioSkill, Description: "Base skill", Implicit: true,
		Command: "npx", Args: []string{"-y", expert.BaseSkill},
	}
}

// settleBase sets BuiltIn of the base skill, and puts perstackBaseSkillCommand where
// the built-in one would be. An Expert that asks for a version, a program or a server of
// its own keeps it.
func settleBase(s *expert.Skill, command []string) {
	s.BuiltIn = s.AsksForBuiltIn()
	if !s.BuiltIn || len(command) == 0 {
		return
	}
	s.BuiltIn = false
	s.Command, s.Args, s.PackageName = command[0], slices.Clone(command[1:]), ""
}

// baseEntry warns about keys that do nothing on the base skill.
func (r *reader) baseEntry(t *toml.Table, s *expert.Skill) {
	ignored := func(key, hint string) {
		if n := t.Node.Fields[key]; n != nil {
			r.Warn(n.KeyAt, n.Path(), "has no effect on the base skill", hint)
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

// baseToolNames checks pick and omit of the built-in base skill, whose tools are
// known without starting it. A name that is not among them is an error and no
// warning: with a typo in omit the Expert would keep what it was to lose.
func (r *reader) baseToolNames(t *toml.Table, s *expert.Skill) {
	entry, names := t.Node.Fields["skills"].Fields[s.Name], prompt.Names()
	check := func(key string, accepted []string) {
		list := entry.Fields[key]
		if list == nil || list.Kind != toml.KindArray {
			return
		}
		for _, item := range list.First(maxTools) {
			if r.Full() {
				return
			}
			if item.Kind != toml.KindString || !slices.Contains(accepted, item.Text) {
				continue // reported already
			}
			if !slices.Contains(names, item.Text) {
				r.Fault(item.At, item.Path(), "the base skill has no tool "+wording.Quote(item.Text), wording.DidYouMean(item.Text, names))
			}
		}
	}
	check("pick", s.Pick)
	check("omit", s.Omit)
}

// oneBase allows one entry for the base skill, under its own name: a second one
// would offer the same tools again. Nor can a skill have the name by which plans are shown.
func (r *reader) oneBase(t *toml.Table, skills []*expert.Skill) {
	declared := t.Node.Fields[expert.BaseSkill]
	for _, s := range skills {
		n := t.Node.Fields[s.Name]
		switch {
		case s.IsBase() && s.Type == expert.InteractiveSkill:
			r.Fault(n.KeyAt, n.Path(), "the base skill cannot be an interactiveSkill", "give this skill another name")
		case s.Name == event.PlanSkill:
			r.Fault(n.KeyAt, n.Path(), "is the name of a skill of perstack itself", "give this skill another name")
		case s.IsBase() || !s.NamesBase():
		case declared != nil:
			r.Fault(n.KeyAt, n.Path(), "is a second entry for the base skill",
				fmt.Sprintf("the first is on line %d", r.Line(declared.KeyAt)))
		default:
			r.Fault(n.KeyAt, n.Path(), "is the base skill under another name", "call it "+wording.Quote(expert.BaseSkill))
		}
	}
}
