package skill

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/perstack-go/perstack/event"
)

// A Filter narrows what a skill offers. Omit is applied before Pick; an empty list
// does not narrow.
type Filter struct {
	Pick, Omit []string
}

// Allows reports whether the filter lets a tool through.
func (f Filter) Allows(tool string) bool {
	if slices.Contains(f.Omit, tool) {
		return false
	}
	return len(f.Pick) == 0 || slices.Contains(f.Pick, tool)
}

// A Toolbox is the one table of an Expert's tools. What the model is shown, what a
// call is matched against and what runs is the same row, so a tool that was filtered
// out cannot be called either.
type Toolbox struct {
	skills []Skill
	rows   []row
	byName map[string]int
}

type row struct {
	tool  Tool
	skill Skill
}

// ErrUnknownTool is wrapped by [Toolbox.Call] for a name that is not in the table.
var ErrUnknownTool = errors.New("unknown tool")

// NewToolbox lists the tools of skills, in order, each narrowed by its filter. Two
// tools of one name are an error, since a call could not be told apart.
// The box owns the skills from then on: it closes them, also when it cannot be made.
func NewToolbox(ctx context.Context, skills []Skill, filters map[string]Filter) (*Toolbox, error) {
	box := &Toolbox{skills: skills, byName: make(map[string]int)}
	if err := box.fill(ctx, filters); err != nil {
		return nil, errors.Join(err, box.Close())
	}
	return box, nil
}

func (b *Toolbox) fill(ctx context.Context, filters map[string]Filter) error {
	for _, s := range b.skills {
		tools, err := s.Tools(ctx)
		if err != nil {
			return fmt.Errorf("skill %q: list tools: %w", s.Name(), err)
		}
		for _, t := range tools {
			if !filters[s.Name()].Allows(t.Name) {
				continue
			}
			if i, taken := b.byName[t.Name]; taken {
				return fmt.Errorf("skills %q and %q both offer a tool named %q; leave one out with omit",
					b.rows[i].skill.Name(), s.Name(), t.Name)
			}
			b.byName[t.Name] = len(b.rows)
			b.rows = append(b.rows, row{t, s})
		}
	}
	return nil
}

// Tools returns the tools in the order of the table.
func (b *Toolbox) Tools() []Tool {
	tools := make([]Tool, len(b.rows))
	for i, r := range b.rows {
		tools[i] = r.tool
	}
	return tools
}

// Lookup finds a tool and the name of its skill.
func (b *Toolbox) Lookup(name string) (tool Tool, skillName string, ok bool) {
	i, ok := b.byName[name]
	if !ok {
		return Tool{}, "", false
	}
	return b.rows[i].tool, b.rows[i].skill.Name(), true
}

// Call runs the tool that call names. The skill name of the call is not trusted.
func (b *Toolbox) Call(ctx context.Context, call event.ToolCall) (event.ToolResult, error) {
	i, ok := b.byName[call.ToolName]
	if !ok {
		return event.ToolResult{}, fmt.Errorf("%w %q", ErrUnknownTool, call.ToolName)
	}
	call.SkillName = b.rows[i].skill.Name()
	return b.rows[i].skill.Call(ctx, call)
}

// Memory returns what a skill keeps now, or nil.
func (b *Toolbox) Memory(skillName string) jsontext.Value {
	for _, s := range b.skills {
		if r, ok := s.(Rememberer); ok && s.Name() == skillName {
			return r.Memory()
		}
	}
	return nil
}

// Recall hands each skill what it remembered in this conversation.
func (b *Toolbox) Recall(memory map[string]jsontext.Value) error {
	for _, s := range b.skills {
		r, ok := s.(Rememberer)
		if !ok || memory[s.Name()] == nil {
			continue
		}
		if err := r.Recall(memory[s.Name()]); err != nil {
			return fmt.Errorf("skill %q: restore its memory: %w", s.Name(), err)
		}
	}
	return nil
}

// Close closes all skills and reports every failure.
func (b *Toolbox) Close() error {
	var errs []error
	for _, s := range b.skills {
		if err := s.Close(); err != nil {
			errs = append(errs, fmt.Errorf("skill %q: close: %w", s.Name(), err))
		}
	}
	return errors.Join(errs...)
}
