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
	rows    []*row
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
	rows := make([]*row, 0, len(tools))
	for _, t := range tools {
		if !s.Filter.Allows(t.Name) {
			continue
		}
		if t.Name == "" {
			log.Warn("a tool without a name is left out")
			continue
		}
		shown, err := t, error(nil)
		if !t.Ours {
			shown, err = revealed(t)
		}
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
			if !slices.ContainsFunc(tools, func(t Tool) bool { return t.Name == name }) {
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
	isBase := name == event.BaseSkill
	t.rows = slices.Grow(t.rows, len(s.rows))
	for _, r := range s.rows {
		offered := r.tool.Name
		if isBase && r.delegates() { // the journal could not tell the two apart
			return fmt.Errorf("delegate %q has the name of the base skill; give the Expert another name", name)
		}
		// The model trusts these names, and the engine one of them: nobody else may take
		// them, whether the base skill offers them to this Expert or not.
		if !isBase && slices.Contains(expert.BaseTools(), offered) {
			return fmt.Errorf("%s offers a tool named %q, which is a name of the base skill %q; %s", r.owner(), offered, event.BaseSkill, remedy(r))
		}
		if other, taken := t.byName[offered]; taken {
			return collision(other, r)
		}
		completes = completes || offered == event.CompletionTool
		t.byName[offered] = r
		t.rows = append(t.rows, r)
	}
	if isBase && !completes && !s.Served {
		return fmt.Errorf("skill %q is left without the tool %q, by which an Expert says that it is done; let pick and omit keep it", name, event.CompletionTool)
	}
	return nil
}

// delegates reports whether the tool is another Expert.
func (r *row) delegates() bool { return r.tool.Kind == Delegate }

// owner says, in words for an error, who offers the tool.
func (r *row) owner() string {
	if r.delegates() {
		return fmt.Sprintf("delegate %q", r.skill.Name())
	}
	return fmt.Sprintf("skill %q", r.skill.Name())
}

func collision(a, b *row) error {
	first, second, name := a.skill.Name(), b.skill.Name(), b.tool.Name
	switch {
	case a.delegates() && b.delegates() && first == second:
		return fmt.Errorf("delegate %q is there twice; name it once in delegates", first)
	case a.delegates() && b.delegates():
		return fmt.Errorf("delegates %q and %q would both be called as the tool %q; %s", first, second, name, remedy(b))
	case a.delegates() || b.delegates():
		return fmt.Errorf("%s and %s both offer a tool named %q; %s", a.owner(), b.owner(), name, remedy(a, b))
	case first != second:
		return fmt.Errorf("skills %q and %q both offer a tool named %q; %s", first, second, name, remedy(b))
	case a.original == b.original:
		return fmt.Errorf("skill %q offers the tool %q twice; leave it out with omit", first, a.original)
	}
	return fmt.Errorf("skill %q offers the tools %q and %q, which are both called %q here; leave one out with omit", first, a.original, b.original, name)
}

// remedy says what the user can do about a name that is taken: one thing for each row.
func remedy(rows ...*row) string {
	var ways []string
	for _, r := range rows {
		switch r.tool.Kind {
		case Interactive:
			ways = append(ways, "give the question another name")
		case Delegate:
			ways = append(ways, "give the Expert another name, since the last part of it is the name of the tool")
		default:
			ways = append(ways, "leave it out with omit, or set toolPrefix = true for the skill")
		}
	}
	return strings.Join(ways, "; or ")
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
