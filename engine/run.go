package engine

import (
	"context"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/expert"
	"github.com/perstack-go/perstack/model"
	"github.com/perstack-go/perstack/skill"
)

// A run drives one Run of a job.
type run struct {
	*tree
	expert *expert.Expert
	parent *run            // who delegated; nil for the coordinator
	above  context.Context // of whoever started it
	depth  int             // 1 for the coordinator
	task   string          // what it was asked in the beginning
	purse  *purse
	price  expert.Price

	runID   string
	state   State
	toolbox *skill.Toolbox
	flight  flight      // tool calls under way
	limit   *LimitError // that was reached and recorded
	refused *LimitError // that was reached by this Run itself
	given   event.Usage // of an answer that was given up, and is not recorded yet
	origin  string      // the Run whose conversation it goes on with

	team []*expert.Expert // whom it can delegate to

	reports   reports  // of skills, not yet published
	connected []string // names of the skills that were announced

	offered        []model.Tool // as the model is shown them
	offeredVersion int          // of the toolbox that they were made of

	measuredVersion int // of the tools that a request was last estimated with, and 1; 0 for none
}

// execute runs from the first event to the end, delegates included.
func (r *run) execute(ctx context.Context, st start) (Result, error) {
	r.runID, r.state.StepNumber, r.above = st.runID, st.step, ctx
	r.purse.add(r.past[r.runID], r.price)
	ctx, cancel := r.limitTime(ctx, r.expert.MaxDuration)
	defer cancel(nil)
	defer r.closeSkills()

	if st.from != nil {
		r.origin = st.from.State.RunID
	}
	first := r.begin(st)
	r.setStep(st, first)
	if r.refused = r.refuse(); r.refused != nil {
		if err := r.keep(first); err != nil {
			return r.abandon(err)
		}
		return r.loop(ctx, nil)
	}
	r.show(r.announcement(st))
	startErr := asStop(r.beside(func() (err error) {
		r.toolbox, err = r.Skills(ctx, SkillRequest{
			Expert:    r.expert,
			Delegates: r.team,
			Delegated: first.DelegatedBy != nil,
			Report:    r.reports.add,
			Stop:      func(err error) { cancel(asStop(err)) },
		})
		return err
	}))
	if err := r.keep(first); err != nil {
		return r.abandon(err)
	}
	if changed, ok := changedDefinition(st, first); ok {
		if err := r.keep(changed); err != nil {
			return r.abandon(err)
		}
	}
	if startErr == nil {
		startErr = r.toolbox.Recall(r.state.Memory)
	}
	return r.live(ctx, startErr)
}

// live goes round until the Run has ended. What it hands to other Experts is done between
// two stretches of it; its skills stay meanwhile.
func (r *run) live(ctx context.Context, startErr error) (Result, error) {
	for {
		result, err := r.loop(ctx, startErr)
		if err != nil || r.state.Status != event.StatusStoppedByDelegate {
			return result, err
		}
		if err := r.delegate(ctx); err != nil {
			return r.abandon(err)
		}
		_, halted := r.halted(ctx)
		if !halted && r.unfinished() {
			// Who cannot go on need not be told that others could not: what they began goes
			// on when more is allowed.
			r.refused = r.exhausted(r.purse, 1, r.state.estimate(), r.price)
			halted = r.refused != nil
		}
		st := start{runID: r.runID, parent: r.state.DelegatedBy, ended: !halted}
		r.look(func(h *History) {
			point := h.points[r.state.CheckpointID]
			st.from = &point
		})
		next := r.begin(st)
		st.step = r.state.StepNumber + 1
		r.setStep(st, next)
		if err := r.keep(next); err != nil {
			return r.abandon(err)
		}
	}
}

// setStep numbers the first step of a stretch. Steps count along the path of the job, so
// one that waited for delegates goes on behind the last of theirs.
func (r *run) setStep(st start, b event.StartRun) {
	r.state.StepNumber = st.step
	if st.from == nil {
		return
	}
	answered := make(map[string]bool, len(b.Answers))
	for _, a := range b.Answers {
		answered[a.ID] = true
	}
	for _, c := range handed(st.from.State.open()) {
		if s, ok := r.child(c); ok && answered[c.ID] {
			r.state.StepNumber = max(r.state.StepNumber, s.StepNumber+1)
		}
	}
}

// loop goes round until the Run has stopped. A failure that nothing else caught, err
// included, ends in a terminal event like everything else.
func (r *run) loop(ctx context.Context, err error) (Result, error) {
	for r.state.Phase != Stopped {
		var body event.Body
		r.tell()
		if err == nil {
			body, err = r.decide(ctx)
		}
		if err != nil {
			body, err = r.giveUp(ctx, err), nil
		}
		r.tell() // what led to an event stands before it
		if err := r.keep(body); err != nil {
			return r.abandon(err)
		}
	}
	return r.result(), nil
}

// keep records an event of this Run.
func (r *run) keep(body event.Body) error {
	state, err := r.record(r.stamp(body), keeping)
	if err == nil {
		r.state = state
	}
	return err
}

// show publishes an event of this Run that is not kept.
func (r *run) show(body event.Body) { r.publish(r.stamp(body)) }

func (r *run) stamp(body event.Body) event.Event {
	e := event.Event{
		ID:        r.Source.NewID(),
		Timestamp: r.Source.Now().UnixMilli(),
		JobID:     r.job.ID,
		RunID:     r.runID,
		Body:      r.redacted(body),
	}
	if !e.IsRuntime() {
		e.ExpertKey, e.StepNumber = r.expert.Key, r.state.StepNumber
	}
	return e
}

// announcement is the event with which this process takes up a Run, before its skills start.
func (r *run) announcement(st start) event.InitializeRuntime {
	return event.InitializeRuntime{
		RuntimeVersion:      r.job.Version,
		Runtime:             r.job.Runtime,
		ExpertName:          r.expert.Name,
		Experts:             append([]string{}, r.job.Experts...),
		Model:               r.job.ModelName,
		MaxSteps:            r.job.Limits.MaxSteps,
		MaxRetries:          r.job.MaxRetries,
		Timeout:             r.job.Timeout.Milliseconds(),
		Query:               st.query,
		InteractiveToolCall: st.answer,
	}
}
