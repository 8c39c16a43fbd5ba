package engine

import (
	"context"
	"errors"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/expert"
	"github.com/perstack-go/perstack/job"
	"github.com/perstack-go/perstack/model"
	"github.com/perstack-go/perstack/skill"
)

// A run drives one Run of a job.
type run struct {
	exec     *execution
	spec     *job.Spec // of exec
	parts    *Parts    // of exec
	recorder *recorder // of exec

	expert    *expert.Expert
	model     job.ModelChoice
	delegates []*expert.Expert // Experts that it can delegate to
	parent    *run             // nil for the coordinator
	parentCtx context.Context  // what execute was called with
	life      context.Context  // of this Run
	stop      func(error)      // ends it with an error
	depth     int              // 1 for the coordinator
	task      string           // its first query
	budget    *budget
	price     expert.Price

	runID     string
	originRun string // the Run whose conversation it continues
	state     State

	limit         *LimitError // a limit that ends this Run
	recordedLimit *LimitError // the same, once its numbers are recorded
	approverErr   error       // the error of the Approver that ends this Run
	delegatesWait bool        // for the permission of the user, so this Run stops, too
	lostUsage     event.Usage // of a generation that was cancelled; recorded with the end of the Run

	toolbox      *skill.Toolbox
	planTools    bool     // the skills were started for a Run that only plans
	inFlight     inFlight // tool calls that are running
	byRules      pathSet  // outside of the sandbox
	reports      reportQueue
	changesFiles bool          // a call of this step can change files
	early        []event.Event // reports that were published before the first record
	keptReports  int           // recorded, or to be
	reportErr    error         // of a report that could not be recorded
	connected    []string      // names of the skills that reported a connection
	tools        []model.Tool  // as the model is shown them
	toolsVersion int           // of the toolbox that tools was made from

	noted        bool // the model was told what the Spec notes
	remindOfText bool // the model called tools where the final answer was requested

	estimatedVersion int // toolsVersion+1 when a request was last estimated; 0 for never
}

// execute runs the Run from its first event to its end, including its delegates.
func (r *run) execute(ctx context.Context, st start) (Result, error) {
	r.runID, r.state.StepNumber, r.parentCtx = st.runID, st.step, ctx
	r.budget.add(r.exec.spentBefore[r.runID])
	ctx, limit, cancel := withTimeLimit(ctx, r.expert.MaxDuration)
	defer cancel(nil)
	r.budget.time = limit
	r.life, r.stop = ctx, func(err error) { cancel(asStop(err)) }
	defer r.closeSkills()

	if st.from != nil {
		r.originRun = st.from.State.RunID
	}
	first := r.startRun(st)
	r.numberStep(st, first)
	if r.limit = r.checkPath(); r.limit != nil {
		if err := r.record(first); err != nil {
			return r.abandon(err)
		}
		return r.loop(ctx, nil)
	}
	r.publish(r.initializeRuntime(st))
	skillErr := r.openSkills(ctx, first.Plan)
	if err := r.record(first); err != nil {
		return r.abandon(err)
	}
	if err := r.recordEarly(); err != nil {
		return r.abandon(err)
	}
	if changed, ok := definitionChanged(st, first); ok {
		if err := r.record(changed); err != nil {
			return r.abandon(err)
		}
	}
	if skillErr == nil {
		skillErr = r.toolbox.Recall(r.state.Memory)
	}
	return r.loopWithDelegates(ctx, skillErr)
}

// openSkills starts the skills of the Expert.
func (r *run) openSkills(ctx context.Context, plan bool) error {
	r.planTools = plan
	return asStop(r.publishDuring(func() (err error) {
		r.toolbox, err = r.exec.open(ctx, SkillRequest{
			Expert:    r.expert,
			Delegates: r.delegates,
			Delegated: r.parent != nil,
			Plan:      plan,
			Report:    r.reports.add,
			Stop:      r.stop,
			Leave:     r.leave,
			Opened:    r.opened,
		})
		return err
	}))
}

// loopWithDelegates runs the loop, and the delegates each time that the Run stops for them.
// The Run's skills keep running meanwhile.
func (r *run) loopWithDelegates(ctx context.Context, skillErr error) (Result, error) {
	for {
		result, err := r.loop(ctx, skillErr)
		if err != nil || r.state.Status != event.StatusStoppedByDelegate {
			return result, err
		}
		if err := r.publishDuring(func() error { return r.runDelegates(ctx) }); err != nil {
			return r.abandon(err)
		}
		stopping := r.stopRequested(ctx) != nil
		if !stopping && r.hasUnfinishedDelegates() {
			// If this Run is out of budget itself, it does not take its delegates for failed:
			// they resume with it once more is allowed.
			r.limit = r.budget.exhausted(1, r.state.estimate(), r.price)
			stopping = r.limit != nil
			r.delegatesWait = !stopping && r.hasWaitingDelegates()
		}
		st := start{runID: r.runID, from: r.recorder.point(r.state.CheckpointID), step: r.state.StepNumber + 1, parent: r.state.DelegatedBy, acceptUnfinished: !stopping && !r.resumesDelegates()}
		next := r.startRun(st)
		r.numberStep(st, next)
		if err := r.record(next); err != nil {
			return r.abandon(err)
		}
	}
}

// loop decides and records until the Run has stopped. Every failure, including err, ends in
// a terminal event.
func (r *run) loop(ctx context.Context, err error) (Result, error) {
	for r.state.phase != stopped {
		var body event.Body
		r.publishReports()
		r.budget.enforceTime()
		if err == nil {
			body, err = r.decide(ctx)
		}
		if err != nil {
			body, err = r.stopByError(ctx, err), nil
		}
		r.publishReports() // reports that led to the event come before it
		if err := r.snapshotAfter(ctx, body); err != nil {
			limit, isLimit := errors.AsType[*LimitError](err)
			switch {
			case !isLimit:
				return r.abandon(err)
			case (event.Event{Body: body}).IsTerminal(): // the Run ends in any case
				r.parts.Log.Warn("the last changes of this job cannot be undone", "why", limit.Why)
			default:
				body = r.stopByLimit(limit)
			}
		}
		if err := r.record(body); err != nil {
			return r.abandon(err)
		}
	}
	return r.result(), nil
}

// record records an event of this Run and moves its state forward. A report that could not be
// recorded before is an error, too.
func (r *run) record(body event.Body) error {
	if err := r.reportErr; err != nil {
		r.reportErr = nil
		return err
	}
	state, err := r.recorder.record(r.newEvent(body), recordAndPublish)
	if err == nil {
		r.state = state
	}
	return err
}

// publish publishes an event of this Run that is not recorded.
func (r *run) publish(body event.Body) { r.recorder.publish(r.newEvent(body)) }

func (r *run) newEvent(body event.Body) event.Event {
	e := event.Event{
		ID:        r.newID(),
		Timestamp: r.parts.Source.Now().UnixMilli(),
		JobID:     r.spec.JobID,
		RunID:     r.runID,
		Body:      r.redactBody(body),
	}
	if !e.IsRuntime() {
		e.ExpertKey, e.StepNumber = r.expert.Key, r.state.StepNumber
	}
	return e
}

func (r *run) newID() string { return r.parts.Source.NewID() }
