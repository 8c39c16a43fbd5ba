package skill

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/internal/terminal"
	"github.com/perstack-go/perstack/internal/wording"
	"github.com/perstack-go/perstack/rawjson"
)

// A Source is a skill and what of it an Expert may use.
type Source struct {
	Skill  Skill
	Filter Filter
	// Prefix offers the tools as <skill>__<tool>, so that two skills can have tools of
	// one name. The base skill is never prefixed: its names are reserved for it.
	Prefix bool
	// Background lists the tools in the background: [NewToolbox] does not wait for them, but
	// [Toolbox.Ready] does. If that fails, the skill offers nothing and the run continues.
	Background bool
	// Served says that the tools are for an MCP client and not for an Expert. The base skill
	// may then lack the tool that ends a run.
	Served bool
}

// A Toolbox is the one table of an Expert's tools. What the model is shown, what a
// call is matched against and what runs is the same row, so a tool that was filtered
// out cannot be called either. Its methods may be called from several goroutines.
type Toolbox struct {
	sources  []*source
	log      *slog.Logger
	stop     context.CancelFunc // stops listing in the background
	listing  sync.Mutex         // held by Ready
	pending  sync.WaitGroup     // of skills that are listed in the background
	outdated bool               // there are lists that the table was not built from; protected by listing
	table    atomic.Pointer[table]
}

// A source is a [Source] with its newest list.
type source struct {
	Source
	rows     []*row
	failed   error         // why there is no list
	stale    atomic.Bool   // the skill said that its list changed
	relisted bool          // the list replaced one that the table was built from
	pending  chan struct{} // closed when listing in the background is done; nil afterwards, and for others
}

// ErrUnknownTool is wrapped by [Toolbox.Call] for a name that is not in the table.
var ErrUnknownTool = errors.New("unknown tool")

// NewToolbox lists the tools of all sources at the same time, each narrowed by its filter.
// The table has the order of sources. Two tools of one name are an error: a call could mean
// either. From then on the box owns the skills and closes them, even when NewToolbox fails.
func NewToolbox(ctx context.Context, sources []Source, log *slog.Logger) (*Toolbox, error) {
	// Listing in the background continues when the caller's context ends.
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

// start lists the tools, waits for those that are not listed in the background, and builds
// the first table.
func (b *Toolbox) start(ctx, background context.Context) error {
	ctx, giveUp := context.WithCancelCause(ctx)
	defer giveUp(nil)
	var all sync.WaitGroup
	for _, s := range b.sources {
		if s.Background {
			pending := make(chan struct{})
			s.pending = pending
			b.pending.Go(func() {
				defer close(pending)
				s.rows, s.failed = s.list(background, b.log)
			})
			continue
		}
		all.Go(func() {
			rows, err := s.list(ctx, b.log)
			if err != nil {
				giveUp(err) // only the first failure is reported
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

// list asks a skill for its tools and returns a row for each that the Expert may use.
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

// build builds the table from the lists that are not pending.
func (b *Toolbox) build() error {
	t := &table{byName: make(map[string]*row)}
	if earlier := b.table.Load(); earlier != nil {
		t.version = earlier.version + 1
	}
	for _, s := range b.sources {
		if s.pending != nil {
			continue
		}
		if err := t.add(s); err != nil {
			return b.blame(err)
		}
	}
	for _, s := range b.sources {
		s.relisted = false
	}
	b.outdated = false
	b.table.Store(t)
	return nil
}

// blame adds which skills changed their lists in the middle of the run, if any did: the
// configuration of the Expert worked until then.
func (b *Toolbox) blame(err error) error {
	var names []string
	for _, s := range b.sources {
		if s.relisted {
			names = append(names, strconv.Quote(s.Skill.Name()))
		}
	}
	if names == nil {
		return err
	}
	return fmt.Errorf("skill %s changed its list of tools in the middle of the run, and the new one cannot be used: %w", strings.Join(names, ", "), err)
}

// Ready waits for skills that are listed in the background, and lists the tools of skills
// again that said they changed. The engine calls it before it asks the model. A skill that
// cannot be listed offers nothing. An error means that no table can be built; it ends the run.
//
// A list that changed in the middle of the run and now has the name of another skill's tool,
// or a reserved one, is such an error: otherwise the order in which servers report changes
// would decide whose tool the model calls. The earlier table stays as it is.
func (b *Toolbox) Ready(ctx context.Context) error {
	b.listing.Lock()
	defer b.listing.Unlock()
	for _, s := range b.sources {
		inTable := s.pending == nil
		if s.pending != nil {
			select {
			case <-s.pending:
			case <-ctx.Done():
				return context.Cause(ctx)
			}
			s.pending, b.outdated = nil, true
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
		s.rows, s.failed, s.relisted, b.outdated = rows, err, inTable, true
		if err != nil {
			b.log.Warn("a skill's new list of tools cannot be had; its tools are missing", "skill", s.Skill.Name(), "error", err)
		}
	}
	if !b.outdated {
		return nil
	}
	return b.build()
}

// Changed says that a skill's list of tools changed. The next [Toolbox.Ready] fetches it.
func (b *Toolbox) Changed(skillName string) {
	for _, s := range b.sources {
		if s.Skill.Name() == skillName {
			s.stale.Store(true)
		}
	}
}

// Version changes with the table, so that a caller can keep what it derived from
// [Toolbox.Tools].
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
	return r.skill.Call(WithCall(ctx, call.ID), call)
}

// Missing says, in words for a model, which skills offer nothing because they could not be
// listed, and why. It is empty when there are none.
func (b *Toolbox) Missing() string {
	b.listing.Lock()
	defer b.listing.Unlock()
	var missing []string
	for _, s := range b.sources {
		if s.pending == nil && s.failed != nil {
			missing = append(missing, terminal.RevealLine(wording.Cut(s.failed.Error(), maxReason)))
		}
	}
	if missing == nil {
		return ""
	}
	return "Some skills did not start, so their tools are missing: " + strings.Join(missing, "; ")
}

// maxReason bounds what Missing says about each skill, in bytes.
const maxReason = 1000

// rememberer returns the skill itself, or the one that it wraps, if that remembers.
func rememberer(s Skill) (Rememberer, bool) {
	for {
		if r, ok := s.(Rememberer); ok {
			return r, true
		}
		wrapper, ok := s.(interface{ Unwrap() Skill })
		if !ok {
			return nil, false
		}
		s = wrapper.Unwrap()
	}
}

// Memory returns what a skill wants to be recorded, or nil.
func (b *Toolbox) Memory(skillName string) rawjson.Value {
	for _, s := range b.sources {
		if r, ok := rememberer(s.Skill); ok && s.Skill.Name() == skillName {
			return r.Memory()
		}
	}
	return nil
}

// Recall gives each skill back what was recorded for it in this conversation.
func (b *Toolbox) Recall(memory map[string]rawjson.Value) error {
	for _, s := range b.sources {
		r, ok := rememberer(s.Skill)
		if !ok || memory[s.Skill.Name()] == nil {
			continue
		}
		if err := r.Recall(memory[s.Skill.Name()]); err != nil {
			return fmt.Errorf("skill %q: restore its memory: %w", s.Skill.Name(), err)
		}
	}
	return nil
}

// Close closes all skills at the same time and reports every failure.
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
	b.pending.Wait()
	return errors.Join(errs...)
}
