package skill

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/internal/terminal"
)

// A Filter narrows what a skill offers. Omit is applied before Pick; an empty list
// does not narrow. Both hold the names that the skill itself uses.
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

// A Source is a skill and what of it an Expert may use.
type Source struct {
	Skill  Skill
	Filter Filter
	// Prefix offers the tools as <skill>__<tool>, so that two skills can have tools of
	// one name. The base skill is never prefixed: its names are reserved for it.
	Prefix bool
	// Background does not wait for the list when the box is made, but in
	// [Toolbox.Ready]. If it cannot be had, the skill offers nothing and the run goes on.
	Background bool
	// Served says that the tools are for a client and not for an Expert: the base skill
	// may then lack the tool that ends a run.
	Served bool
}

// A Toolbox is the one table of an Expert's tools. What the model is shown, what a
// call is matched against and what runs is the same row, so a tool that was filtered
// out cannot be called either. Its methods may be called from several goroutines.
type Toolbox struct {
	sources []*source
	log     *slog.Logger
	stop    context.CancelFunc // of what lists in the background
	listing sync.Mutex         // held by Ready
	coming  sync.WaitGroup     // of what lists in the background
	behind  bool               // the table is not made of the newest lists; for Ready
	table   atomic.Pointer[table]
}

// A source is a [Source] with its newest list.
type source struct {
	Source
	rows   []*row
	failed error         // why there is no list
	stale  atomic.Bool   // the list is another now
	anew   bool          // the list is not the one that the table was made of, but a later one
	coming chan struct{} // closed when a list that was begun in the background is there; nil for none
}

// ErrUnknownTool is wrapped by [Toolbox.Call] for a name that is not in the table.
var ErrUnknownTool = errors.New("unknown tool")

// NewToolbox lists the tools of sources, side by side, each narrowed by its filter. The
// order of the table is that of sources. Two tools of one name are an error, since a
// call could not be told apart.
// The box owns the skills from then on: it closes them, also when it cannot be made.
func NewToolbox(ctx context.Context, sources []Source, log *slog.Logger) (*Toolbox, error) {
	// A list that comes later must not depend on how long its caller waits for the box.
	background, stop := context.WithCancel(context.WithoutCancel(ctx))
	b := &Toolbox{log: log, stop: stop}
	for _, s := range sources {
		b.sources = append(b.sources, &source{Source: s})
	}
	if err := b.start(ctx, background); err != nil {
		return nil, errors.Join(err, b.Close())
	}
	return b, nil
}

// start lists what need not be waited for and builds the first table.
func (b *Toolbox) start(ctx, background context.Context) error {
	ctx, giveUp := context.WithCancelCause(ctx)
	defer giveUp(nil)
	var all sync.WaitGroup
	for _, s := range b.sources {
		if s.Background {
			coming := make(chan struct{})
			s.coming = coming
			b.coming.Go(func() {
				defer close(coming)
				s.rows, s.failed = s.list(background, b.log)
			})
			continue
		}
		all.Go(func() {
			rows, err := s.list(ctx, b.log)
			if err != nil {
				giveUp(err) // the first failure is the one that is told
			}
			s.rows = rows
		})
	}
	all.Wait()
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return b.build()
}

// list asks a skill for its tools and makes rows of those that an Expert may use.
func (s *source) list(ctx context.Context, log *slog.Logger) (rows []*row, err error) {
	defer func() {
		if p := recover(); p != nil {
			log.Error("panic in a skill", "skill", s.Skill.Name(), "value", p, "stack", string(debug.Stack()))
			err = fmt.Errorf("skill %q: list tools: it failed inside: %v; please report it", s.Skill.Name(), p)
		}
	}()
	tools, err := s.Skill.Tools(ctx)
	if err != nil {
		return nil, fmt.Errorf("skill %q: list tools: %w", s.Skill.Name(), err)
	}
	return s.rowsOf(tools, log), nil
}

// build makes the table of the lists that are there.
func (b *Toolbox) build() error {
	t := &table{byName: make(map[string]*row)}
	if earlier := b.table.Load(); earlier != nil {
		t.version = earlier.version + 1
	}
	for _, s := range b.sources {
		if s.coming != nil {
			continue
		}
		if err := t.add(s); err != nil {
			return b.blame(err)
		}
	}
	for _, s := range b.sources {
		s.anew = false
	}
	b.behind = false
	b.table.Store(t)
	return nil
}

// blame says which skills changed their lists in the middle of a run if the table cannot
// be made of them: whoever configured the Expert has seen it work before.
func (b *Toolbox) blame(err error) error {
	var names []string
	for _, s := range b.sources {
		if s.anew {
			names = append(names, strconv.Quote(s.Skill.Name()))
		}
	}
	if names == nil {
		return err
	}
	return fmt.Errorf("skill %s changed its list of tools in the middle of the run, and the new one cannot be used: %w", strings.Join(names, ", "), err)
}

// Ready waits for skills that start in the background, and lists again what changed.
// The engine calls it before it asks the model. A skill that has no list offers nothing;
// an error means that the table cannot be made, and ends the run.
//
// So does a list that changed in the middle of the run and now has a name that another
// skill has, or a reserved one: else the order in which servers speak up would decide
// whose tool the model calls. No tool that is there is displaced: the earlier table stays.
func (b *Toolbox) Ready(ctx context.Context) error {
	b.listing.Lock()
	defer b.listing.Unlock()
	for _, s := range b.sources {
		inTable := s.coming == nil
		if s.coming != nil {
			select {
			case <-s.coming:
			case <-ctx.Done():
				return context.Cause(ctx)
			}
			s.coming, b.behind = nil, true
			if s.failed != nil {
				b.log.Warn("a skill did not start; its tools are missing", "skill", s.Skill.Name(), "error", s.failed)
			}
		}
		if !s.stale.Swap(false) {
			continue
		}
		rows, err := s.list(ctx, b.log)
		if ctx.Err() != nil {
			s.stale.Store(true)
			return context.Cause(ctx)
		}
		s.rows, s.failed, s.anew, b.behind = rows, err, inTable, true
		if err != nil {
			b.log.Warn("a skill's new list of tools cannot be had; its tools are missing", "skill", s.Skill.Name(), "error", err)
		}
	}
	if !b.behind {
		return nil
	}
	return b.build()
}

// Changed says that a skill's list is another now; [Toolbox.Ready] fetches it.
func (b *Toolbox) Changed(skillName string) {
	for _, s := range b.sources {
		if s.Skill.Name() == skillName {
			s.stale.Store(true)
		}
	}
}

// Version is another after each change of the table, so that what was made of
// [Toolbox.Tools] can be kept.
func (b *Toolbox) Version() int { return b.table.Load().version }

// Tools returns the tools in the order of the table, under the names by which they are
// called and with nothing hidden in their texts.
func (b *Toolbox) Tools() []Tool {
	rows := b.table.Load().rows
	tools := make([]Tool, len(rows))
	for i, r := range rows {
		tools[i] = r.tool
	}
	return tools
}

// Lookup finds a tool and the name of its skill.
func (b *Toolbox) Lookup(name string) (tool Tool, skillName string, ok bool) {
	r, ok := b.table.Load().byName[name]
	if !ok {
		return Tool{}, "", false
	}
	return r.tool, r.skill.Name(), true
}

// Call runs the tool that call names. The skill name of the call is not trusted.
func (b *Toolbox) Call(ctx context.Context, call event.ToolCall) (event.ToolResult, error) {
	r, ok := b.table.Load().byName[call.ToolName]
	if !ok {
		return event.ToolResult{}, fmt.Errorf("%w %q", ErrUnknownTool, call.ToolName)
	}
	call.SkillName, call.ToolName = r.skill.Name(), r.original
	return r.skill.Call(ctx, call)
}

// Missing says, in words for a model, which skills offer nothing because they have no
// list, and why. It is empty when there are none.
func (b *Toolbox) Missing() string {
	b.listing.Lock()
	defer b.listing.Unlock()
	var missing []string
	for _, s := range b.sources {
		if s.coming == nil && s.failed != nil {
			missing = append(missing, terminal.RevealLine(cut(s.failed.Error(), maxReason)))
		}
	}
	if missing == nil {
		return ""
	}
	return "Some skills did not start, so their tools are missing: " + strings.Join(missing, "; ")
}

// maxReason bounds what is told of each skill that has no list.
const maxReason = 1000

// Memory returns what a skill keeps now, or nil.
func (b *Toolbox) Memory(skillName string) jsontext.Value {
	for _, s := range b.sources {
		if r, ok := s.Skill.(Rememberer); ok && s.Skill.Name() == skillName {
			return r.Memory()
		}
	}
	return nil
}

// Recall hands each skill what it remembered in this conversation.
func (b *Toolbox) Recall(memory map[string]jsontext.Value) error {
	for _, s := range b.sources {
		r, ok := s.Skill.(Rememberer)
		if !ok || memory[s.Skill.Name()] == nil {
			continue
		}
		if err := r.Recall(memory[s.Skill.Name()]); err != nil {
			return fmt.Errorf("skill %q: restore its memory: %w", s.Skill.Name(), err)
		}
	}
	return nil
}

// Close closes all skills, side by side, and reports every failure.
func (b *Toolbox) Close() error {
	b.stop()
	errs := make([]error, len(b.sources))
	var all sync.WaitGroup
	for i, s := range b.sources {
		all.Go(func() {
			if err := s.Skill.Close(); err != nil {
				errs[i] = fmt.Errorf("skill %q: close: %w", s.Skill.Name(), err)
			}
		})
	}
	all.Wait()
	b.coming.Wait()
	return errors.Join(errs...)
}
