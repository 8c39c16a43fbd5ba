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
	"github.com/perstack-go/perstack/internal/schema"
	"github.com/perstack-go/perstack/internal/skills/base/prompt"
	"github.com/perstack-go/perstack/internal/terminal"
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
	schema   func() *schema.Schema // of the arguments, compiled when it is first needed; nil if it is not checked
}

// rowsOf returns a row for each tool of a list that passes the filter.
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
			r.schema = sync.OnceValue(func() *schema.Schema { return schema.Compile(t.InputSchema) })
		}
		rows = append(rows, r)
	}
	// A wrong name in pick loses a tool; a wrong name in omit keeps one that should be left out.
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

// Collisions returns what would make [NewToolbox] fail for these skills in this order: for
// each skill that offers a name it cannot have, the first such name.
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

// nameOnly is a skill of which only the name is used.
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
		// The model trusts these names, and the engine one of them. No other skill can have
		// them, whether the base skill offers them to this Expert or not.
		if !isBase && slices.Contains(prompt.Names(), offered) {
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

// owner names the skill or delegate that offers the tool, for an error.
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

// remedy says what the user can do about a name that is taken, one thing for each row.
func remedy(rows ...*row) string {
	var ways []string
	for _, r := range rows {
		switch r.tool.Kind {
		case Interactive:
			ways = append(ways, "give the question another name")
		case Proposal:
			ways = append(ways, "leave that of the other skill out with omit, or set toolPrefix = true for it")
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

// maxProblemText bounds what a model is told about one call, in bytes.
const maxProblemText = 2048

// An ArgumentError says what is wrong with the arguments of a call, in words for the
// model that wrote them.
type ArgumentError struct {
	Tool     string
	Problems []string
}

func (e *ArgumentError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "the arguments do not fit the input schema of the tool %s, so it was not called.", e.Tool)
	for i, p := range e.Problems {
		line := "\n- " + p
		if i == schema.MaxProblems || b.Len()+len(line) > maxProblemText {
			b.WriteString("\n- and more")
			break
		}
		b.WriteString(line)
	}
	return b.String()
}

// Check reports what is wrong with the arguments of a call, as an [ArgumentError]. It
// reports nothing for unknown tools, for tools whose schema cannot be used, and for those
// that check their arguments themselves.
func (b *Toolbox) Check(call event.ToolCall) error {
	r, ok := b.table.Load().byName[call.ToolName]
	if !ok || r.schema == nil {
		return nil
	}
	s := r.schema()
	if s == nil {
		return nil
	}
	problems := s.Problems(call.Args)
	if len(problems) == 0 {
		return nil
	}
	for i, p := range problems {
		problems[i] = terminal.RevealLine(p) // it can quote the schema, which the server wrote
	}
	return &ArgumentError{r.tool.Name, problems}
}
