package original

import (
	"context"
	"crypto/sha256"
	"fmt"
	"strconv"

	"github.com/go-json-experiment/json"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/internal/secret"
	"github.com/perstack-go/perstack/store"
)

// Program is how a journal names the program that an imported job was recorded by.
const Program = "perstack (TypeScript)"

// Options are what a job is imported with.
type Options struct {
	Secrets *secret.Set   // removed from all texts; those of the job's settings are added
	NewID   func() string // makes ids of events
	Import  event.Import  // what the journal says about its import
}

// Events hands over the events of the job, in the form of the journal and in order. add returns
// the number of the record that an event became. The notes say which files were left out.
func (j *Job) Events(ctx context.Context, opts Options, add func(event.Event) (int64, error)) (notes []string, err error) {
	x, err := j.look(opts.Secrets)
	if err != nil {
		return nil, err
	}
	c := newConverter(j.ID, x, opts, add)
	for i, head := range x.checkpoints {
		if err := ctx.Err(); err != nil {
			return x.notes, err
		}
		whole, err := j.conversation(head, opts.Secrets)
		if err != nil {
			return x.notes, err
		}
		if err := c.checkpoint(i, head, whole); err != nil {
			return x.notes, fmt.Errorf("%s: %w", head.path, err)
		}
	}
	return x.notes, nil
}

// A converter makes the events of a job from its checkpoints, one after the other.
type converter struct {
	jobID string
	index *index
	opts  Options
	add   func(event.Event) (int64, error)

	runs     map[conversation]*run
	next     []string // the id of the checkpoint that follows in the same Run, for each checkpoint
	children map[call]child
	points   map[[sha256.Size]byte]*point // by the digest of their messages
	byID     map[string]*point
	imported bool // the journal says that it was imported
}

// A conversation is one Expert's part in a Run. Older releases gave a Run and its delegate one id.
type conversation struct{ runID, expert string }

type call struct{ checkpointID, callID string }

// A child is a Run that works on a call.
type child struct {
	runID  string
	expert event.ExpertRef
}

// A run is a Run in the journal.
type run struct {
	id   string
	last *point // nil if it has not started
}

// A point is a checkpoint in the journal.
type point struct {
	checkpoint *checkpoint
	run        *run
	seq        int64 // of its record
	messages   int
	usage      event.Usage
	stopped    bool
	open       []event.ToolCall // calls whose results are not in the conversation
	results    map[string]bool  // that are known for them
	delegates  map[string]event.ExpertRef
}

func newConverter(jobID string, x *index, opts Options, add func(event.Event) (int64, error)) *converter {
	c := &converter{
		jobID: jobID, index: x, opts: opts, add: add, runs: make(map[conversation]*run), next: make([]string, len(x.checkpoints)),
		children: make(map[call]child), points: make(map[[sha256.Size]byte]*point), byID: make(map[string]*point),
	}
	taken := make(map[string]bool)
	for _, h := range x.checkpoints {
		taken[h.RunID] = true
	}
	first := make(map[string]bool)
	latest := make(map[conversation]int)
	for i, h := range x.checkpoints {
		k := conversation{h.RunID, h.Expert.Key}
		if c.runs[k] == nil {
			id := h.RunID
			for n := 2; first[h.RunID] && taken[id]; n++ {
				id = fmt.Sprintf("%.120s-%d", h.RunID, n)
			}
			first[h.RunID], taken[id] = true, true
			c.runs[k] = &run{id: id}
			if by := h.DelegatedBy; by != nil {
				c.children[call{by.CheckpointID, by.ToolCallID}] = child{id, h.Expert}
			}
		} else {
			c.next[latest[k]] = h.ID
		}
		latest[k] = i
	}
	return c
}

// A turn is a checkpoint while its events are made.
type turn struct {
	converter *converter
	head      *checkpoint
	cp        *event.Checkpoint
	run       *run
	point     *point
	began     int64 // when the step began
	usage     event.Usage
	seq       int64
	asked     bool // a generation was recorded
	ended     bool // so was the answer
}

// checkpoint adds the events of a step, which end with its checkpoint.
func (c *converter) checkpoint(i int, head *checkpoint, cp *event.Checkpoint) error {
	t := &turn{converter: c, head: head, cp: cp, run: c.runs[conversation{head.RunID, head.Expert.Key}], began: head.at}
	if head.step != nil && head.step.StartedAt > 0 && head.step.StartedAt < head.at {
		t.began = head.step.StartedAt
	}
	base, digest := c.longest(t.run, cp)
	from := 0
	if base != nil {
		from = base.messages
	}
	t.usage = t.stepUsage(base)
	t.point = &point{checkpoint: head, run: t.run, messages: len(cp.Messages), usage: cp.Usage, results: map[string]bool{}, delegates: map[string]event.ExpertRef{}}
	fresh := cp.Messages[from:]
	if last := t.run.last; last == nil || last.stopped || last != base {
		var err error
		if fresh, err = t.start(base, fresh); err != nil {
			return err
		}
	} else {
		t.keepOpen(base)
	}
	if err := t.say(fresh); err != nil {
		return err
	}
	if err := t.end(c.next[i]); err != nil {
		return err
	}
	t.point.seq = t.seq
	t.run.last, c.points[digest], c.byID[head.ID] = t.point, t.point, t.point
	return nil
}

// longest finds the checkpoint with the most messages that cp has, too, and returns the digest of
// all messages of cp. The newest one counts, and among equals that of the same Run.
func (c *converter) longest(r *run, cp *event.Checkpoint) (*point, [sha256.Size]byte) {
	digest := sha256.Sum256([]byte(cp.Expert.Key))
	var found *point
	for i := range cp.Messages {
		text, err := json.Marshal(cp.Messages[i], json.Deterministic(true))
		if err != nil { // it was just decoded
			text = []byte(strconv.Itoa(i))
		}
		digest = sha256.Sum256(append(digest[:], text...))
		if p := c.points[digest]; p != nil {
			found = p
		}
		if last := r.last; last != nil && found != nil && last.messages == i+1 && found.messages == i+1 {
			found = last // it has the same messages
		}
	}
	return found, digest
}

// stepUsage is what the step used: an event says it, else the checkpoint before does. A single
// delegate counts on from its parent.
func (t *turn) stepUsage(base *point) event.Usage {
	if t.head.step != nil {
		return event.Usage{}.Add(t.head.step.Usage)
	}
	before := event.Usage{}
	if base != nil {
		before = base.usage
	} else if by := t.cp.DelegatedBy; by != nil {
		if parent := t.converter.byID[by.CheckpointID]; parent != nil && len(parent.delegates) == 1 {
			before = parent.usage
		}
	}
	u := t.cp.Usage
	return event.Usage{
		InputTokens: max(u.InputTokens-before.InputTokens, 0), OutputTokens: max(u.OutputTokens-before.OutputTokens, 0),
		ReasoningTokens: max(u.ReasoningTokens-before.ReasoningTokens, 0), TotalTokens: max(u.TotalTokens-before.TotalTokens, 0),
		CachedInputTokens: max(u.CachedInputTokens-before.CachedInputTokens, 0),
	}
}

// spend returns the usage of the step, once.
func (t *turn) spend() event.Usage {
	u := t.usage
	t.usage = event.Usage{}
	return u
}

// record adds an event at a time.
func (t *turn) record(at int64, body event.Body) error {
	seq, err := t.converter.add(event.Event{
		ID: t.converter.opts.NewID(), Timestamp: at, JobID: t.converter.jobID, RunID: t.run.id,
		ExpertKey: t.cp.Expert.Key, StepNumber: t.cp.StepNumber, Body: body,
	})
	t.seq = seq
	return err
}

// all adds events at the end of the step.
func (t *turn) all(bodies ...event.Body) error {
	for _, b := range bodies {
		if err := t.record(t.head.at, b); err != nil {
			return err
		}
	}
	return nil
}

// generate says that the model was asked.
func (t *turn) generate() error {
	t.asked = true
	return t.record(t.began, event.StartGeneration{})
}

// parent returns the link to the Run that delegated, in the ids of the journal.
func (t *turn) parent() *event.Parent {
	by := t.cp.DelegatedBy
	if by == nil {
		return nil
	}
	link := *by
	link.Unknown = nil
	if p := t.converter.byID[by.CheckpointID]; p != nil {
		link.RunID = p.run.id
	}
	if store.CheckID(link.RunID) != nil {
		link.RunID = "" // an unknown Run, as in older data
	}
	return &link
}
