package inspect

import (
	"cmp"
	"strings"

	"github.com/perstack-go/perstack/expert"
	"github.com/perstack-go/perstack/internal/lockfile"
	"github.com/perstack-go/perstack/internal/skills/base/prompt"
	"github.com/perstack-go/perstack/internal/skills/mcp"
	"github.com/perstack-go/perstack/skill"
)

func (b *builder) skill(e *expert.Expert, s *expert.Skill) Skill {
	card := Skill{
		Name: s.Name, Type: string(s.Type), BuiltIn: s.BuiltIn, Description: s.Description, Rule: s.Rule,
		AllowedDomains: s.AllowedDomains, ToolPrefix: s.ToolPrefix,
		Sandbox: b.sandbox(s),
	}
	b.findSandbox(e, s)
	if s.Implicit {
		card.Description = "" // it is not from the file
	}
	switch {
	case s.BuiltIn:
		b.builtIn(s, &card)
	case s.Type == expert.InteractiveSkill:
		card.ToolsKnown = true
		for _, t := range s.Tools {
			card.Tools = append(card.Tools, Tool{Name: t.Name, Description: t.Description})
			b.reveal(e, s, "the question "+t.Name, append(stringsIn(t.InputSchema), t.Description)...)
		}
	default:
		b.server(e, s, &card)
	}
	return card
}

func (b *builder) builtIn(s *expert.Skill, card *Skill) {
	card.ToolsKnown = true
	filter := skill.Filter{Pick: s.Pick, Omit: s.Omit}
	for _, name := range prompt.Names() {
		if filter.Allows(name) {
			card.Tools = append(card.Tools, Tool{Name: name})
		} else {
			card.Left++
		}
	}
}

// server fills in what an MCP server is started from or reached at, and what it offers.
func (b *builder) server(e *expert.Expert, s *expert.Skill, card *Skill) {
	card.Env = b.variables(s.RequiredEnv)
	card.Lazy = s.LazyInit
	card.StartTimeoutMS = cmp.Or(s.StartTimeout, mcp.DefaultStartTimeout).Milliseconds()
	card.CallTimeoutMS = cmp.Or(s.CallTimeout, mcp.DefaultCallTimeout).Milliseconds()
	card.Endpoint, card.AllowPrivateEndpoint = endpoint(s.Endpoint), s.AllowPrivateEndpoint
	for _, h := range s.Headers {
		card.Headers = append(card.Headers, h.Name)
	}
	pinned := b.pinned(e, s)
	if s.Type == expert.StdioSkill {
		card.Command = command(s)
		card.Package = packageOf(s, pinned)
		b.program(e, s, pinned, card)
	}
	if pinned != nil {
		card.ToolsKnown = true
		b.lockedTools(e, s, pinned, card)
	}
	b.findAbout(e, s, card)
}

// command is what the file says. A package is fetched and started by perstack itself, in
// the way that this command line describes.
func command(s *expert.Skill) []string {
	words := append([]string{s.Command}, s.Args...)
	if s.PackageName != "" {
		words = append(words, s.PackageName)
	}
	return words
}

func packageOf(s *expert.Skill, pinned *lockfile.Skill) *Package {
	wanted, ok := s.Package()
	if !ok {
		return nil
	}
	p := &Package{Manager: wanted.Manager, Wanted: wanted.Spec(), Version: wanted.Version}
	if pinned != nil && pinned.Package != nil {
		p.Version, p.Integrity = pinned.Package.Version, pinned.Package.Integrity
		p.Pinned = p.Version != "" && p.Integrity != ""
	}
	return p
}

func (b *builder) lockedTools(e *expert.Expert, s *expert.Skill, pinned *lockfile.Skill, card *Skill) {
	filter := skill.Filter{Pick: s.Pick, Omit: s.Omit}
	for _, t := range pinned.Tools {
		if !filter.Allows(t.Name) {
			card.Left++
			continue
		}
		card.Tools = append(card.Tools, Tool{Name: t.Name, Title: t.Title, Description: t.Description, Digest: t.Digest})
		b.reveal(e, s, "the tool "+t.Name, stringsIn(t.Definition)...)
	}
	for _, line := range pinned.UnknownTools(s) {
		message, hint, _ := strings.Cut(line, "; ")
		b.find(Finding{Severity: warning, Expert: e.Key, Skill: s.Name, Message: message, Hint: hint})
	}
}
