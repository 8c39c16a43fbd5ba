package skill

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/expert"
)

// A table is what a [Toolbox] offers at one time. It is replaced, never changed.
type table struct {
	tools   []Tool
	byName  map[string]*row
	version int
}

// A row is one tool as it is offered, and what it stands for.
type row struct {
	tool     Tool // with the name by which it is called, and nothing hidden
	original string
	skill    Skill
	schema   func() *schema // of the arguments, compiled when it is first needed; nil if it is not checked
}

// rowsOf makes the rows of a list. What does not pass the filter gets none.
func (s *source) rowsOf(tools []Tool, log *slog.Logger) []*row {
	log = log.With("skill", s.Skill.Name())
	var rows []*row
	names := make(map[string]bool)
	for _, t := range tools {
		names[t.Name] = true
		if !s.Filter.Allows(t.Name) {
			continue
		}
		if t.Name == "" {
			log.Warn("a tool without a name is left out")
			continue
		}
		shown, err := revealed(t)
		if err != nil {
			log.Warn("a tool is left out", "tool", t.Name, "error", err)
			continue
		}
		r := &row{tool: shown, original: t.Name, skill: s.Skill}
		r.tool.Name = s.offer(t.Name)
		if !t.Checked {
			r.schema = sync.OnceValue(func() *schema { return compileSchema(t.InputSchema) })
		}
		rows = append(rows, r)
	}
	// A wrong name in pick loses a tool; one in omit leaves a tool that was to go.
	for _, list := range []struct {
		key   string
		names []string
	}{{"pick", s.Filter.Pick}, {"omit", s.Filter.Omit}} {
		for _, name := range list.names {
			if !names[name] {
				log.Warn("the skill has no tool of this name", "tool", name, "in", list.key)
			}
		}
	}
	return rows
}

// A Listed is a skill whose tools are known without asking it.
type Listed struct {
	Name   string
	Tools  []Tool
	Filter Filter
	Prefix bool
}

// Collisions says what would keep a [Toolbox] of these skills, in this order, from being
// made: for each skill that offers a name which it cannot have, the first of them.
func Collisions(skills []Listed) (errs []error) {
	t := &table{byName: make(map[string]*row)}
	for _, l := range skills {
		s := &source{Source: Source{Skill: nameOnly{name: l.Name}, Filter: l.Filter, Prefix: l.Prefix}}
		s.rows = s.rowsOf(l.Tools, slog.New(slog.DiscardHandler))
		if err := t.add(s); err != nil {
			errs = append(errs, err)
		}
	}
	return errs
}

// nameOnly is a skill that is never asked or called.
type nameOnly struct {
	Skill
	name string
}

func (n nameOnly) Name() string { return n.name }

// add puts the rows of a source into the table.
func (t *table) add(s *source) error {
	name, completes := s.Skill.Name(), false
	for _, r := range s.rows {
		offered := r.tool.Name
		// The model trusts these names, and the engine one of them: no other skill may
		// take them, whether the base skill offers them to this Expert or not.
		if name != event.BaseSkill && slices.Contains(expert.BaseTools(), offered) {
			return fmt.Errorf("skill %q offers a tool named %q, which is a name of the base skill %q; %s", name, offered, event.BaseSkill, remedy(r.tool))
		}
		if other, taken := t.byName[offered]; taken {
			return collision(other, r)
		}
		completes = completes || offered == event.CompletionTool
		t.byName[offered] = r
		t.tools = append(t.tools, r.tool)
	}
	if name == event.BaseSkill && !completes && !s.Served {
		return fmt.Errorf("skill %q is left without the tool %q, by which an Expert says that it is done; let pick and omit keep it", name, event.CompletionTool)
	}
	return nil
}

func collision(a, b *row) error {
	first, second := a.skill.Name(), b.skill.Name()
	switch {
	case first != second:
		return fmt.Errorf("skills %q and %q both offer a tool named %q; %s", first, second, b.tool.Name, remedy(b.tool))
	case a.original == b.original:
		return fmt.Errorf("skill %q offers the tool %q twice; leave it out with omit", first, a.original)
	}
	return fmt.Errorf("skill %q offers the tools %q and %q, which are both called %q here; leave one out with omit", first, a.original, b.original, b.tool.Name)
}

// remedy says what the user can do about a name that is taken.
func remedy(t Tool) string {
	if t.Kind == Interactive {
		return "give the question another name"
	}
	return "leave it out with omit, or set toolPrefix = true for the skill"
}

// offer returns the name by which a tool of the source is called.
func (s *source) offer(tool string) string {
	if s.Prefix && s.Skill.Name() != event.BaseSkill {
		tool = s.Skill.Name() + "__" + tool
	}
	return providerName(tool)
}

// maxName is how long a name may be for every provider.
const maxName = 64

// providerName makes a name that every provider accepts: letters, digits, _ and -. One
// that is too long keeps its beginning and gets a mark of the whole, so that two long
// names stay two.
func providerName(name string) string {
	clean := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '_' || r == '-' {
			return r
		}
		return '_'
	}, name)
	if len(clean) <= maxName {
		return clean
	}
	sum := sha256.Sum256([]byte(name))
	mark := "_" + hex.EncodeToString(sum[:4])
	return clean[:maxName-len(mark)] + mark
}
