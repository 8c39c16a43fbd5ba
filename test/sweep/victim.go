package sweep

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"github.com/go-json-experiment/json"

	"github.com/perstack-go/perstack/engine"
	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/expert"
	baseskill "github.com/perstack-go/perstack/internal/skills/base"
	"github.com/perstack-go/perstack/internal/skills/delegate"
	"github.com/perstack-go/perstack/internal/skills/interactive"
	"github.com/perstack-go/perstack/internal/skills/proposal"
	"github.com/perstack-go/perstack/internal/workspace"
	"github.com/perstack-go/perstack/job"
	"github.com/perstack-go/perstack/model"
	"github.com/perstack-go/perstack/rawjson"
	"github.com/perstack-go/perstack/skill"
	"github.com/perstack-go/perstack/store"
	"github.com/perstack-go/perstack/store/file"
)

const (
	victimWord = "sweep-victim"
	jobID      = "job"
)

func victimArgs(dir, job string, killAt int, sabotage string) []string {
	return []string{victimWord, dir, job, strconv.Itoa(killAt), sabotage}
}

// VictimIfAsked makes this process a victim if its arguments say so, and then does not
// return.
func VictimIfAsked() {
	if len(os.Args) != 6 || os.Args[1] != victimWord {
		return
	}
	if err := runVictim(os.Args[2], os.Args[3], os.Args[4], os.Args[5]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

func runVictim(dir, jobName, killAt, sabotage string) error {
	jobs := Jobs()
	i := slices.IndexFunc(jobs, func(j Job) bool { return j.Name == jobName })
	if i < 0 {
		return fmt.Errorf("there is no job %q", jobName)
	}
	n, err := strconv.Atoi(killAt)
	if err != nil {
		return err
	}
	v := &victim{job: jobs[i], points: &points{dir: dir, killAt: n}}
	v.history = file.New(filepath.Join(dir, storageName), &file.Options{Disk: watchedDisk{v.points}}).WithSeal(sealer)
	for name, to := range map[string]**evidenceFile{ranName: &v.ran, paidName: &v.paid, shownName: &v.shown} {
		if *to, err = openEvidence(dir, name); err != nil {
			return err
		}
	}
	if v.files, err = workspace.Open(filepath.Join(dir, workspaceName), workspace.Options{}); err != nil {
		return err
	}
	if err := v.spoil(dir, sabotage); err != nil {
		return err
	}
	ctx, cancel := context.WithCancelCause(context.Background())
	v.points.interrupt = func() { cancel(errors.New("interrupted")) }
	if err := v.work(ctx); err != nil {
		return err
	}
	return v.points.save()
}

// A victim is a process that works on a job until there is nothing left to do.
type victim struct {
	job     Job
	points  *points
	history store.Store
	files   *workspace.Workspace

	ran, paid, shown *evidenceFile

	careless bool   // all tools are said to be repeatable
	lazy     bool   // nothing is flushed
	overtake string // a new query, instead of resuming
	branch   string // stands behind the tasks of Runs on a new branch
}

// work starts or resumes the job, as a user would, and answers questions. It ends
// when there is nothing left to do, or with the first interrupt.
func (v *victim) work(ctx context.Context) error {
	for ctx.Err() == nil {
		input, done, err := v.next(ctx)
		if err != nil || done {
			return err
		}
		spec, parts := v.spec(input), v.parts()
		v.storeFiles(spec, &parts)
		_, err = engine.Execute(ctx, spec, parts, v.skills)
		if errors.Is(err, context.Canceled) {
			return nil // it was told to stop before it had begun
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// next looks at the history and says what a user would do now.
func (v *victim) next(ctx context.Context) (input job.Input, done bool, err error) {
	past, err := v.past(ctx)
	if err != nil {
		return input, false, err
	}
	v.points.pause(v.job.Fork != "" && past.coordinators <= 1)
	if past.coordinators > 1 {
		v.branch = branched
	}
	switch past.status {
	case "":
		return job.Input{Query: v.job.Query}, false, nil
	case event.StatusCompleted, event.StatusStoppedByError, event.StatusStoppedByExceededMaxSteps, event.StatusStoppedByLimit:
		if v.job.Fork == "" || past.coordinators > 1 {
			return input, true, nil
		}
		v.points.pause(false)
		v.branch = branched
		return job.Input{Continue: true, From: past.fork}, false, nil
	case event.StatusStoppedByApproval:
		return job.Input{Continue: true}, false, v.allow(ctx)
	case event.StatusStoppedByInteractiveTool:
		return job.Input{Continue: true, Answer: &event.ToolAnswer{Text: v.job.Answer}}, false, nil
	}
	return job.Input{Continue: true, Query: v.overtake}, false, nil
}

// allow allows the calls that wait, as another process does.
func (v *victim) allow(ctx context.Context) error {
	ctx = context.WithoutCancel(ctx) // the signal is for the process that runs the job
	h, err := engine.Load(ctx, v.history, jobID)
	if err != nil {
		return err
	}
	var answers []engine.RunAnswer
	for _, w := range h.Waiting() {
		answers = append(answers, engine.RunAnswer{RunID: w.RunID, ApprovalAnswered: event.ApprovalAnswered{
			ToolCallID: w.Call.ID, Digest: w.Request.Digest, Allow: true, By: event.ByUser,
		}})
	}
	if len(answers) == 0 {
		return nil
	}
	return engine.RecordAnswers(ctx, &watchedStore{v.history, v.points, v.lazy}, engine.SystemSource(), jobID, answers)
}

// asksForEffects asks about calls that have effects.
type asksForEffects struct{}

func (asksForEffects) Decide(_ context.Context, q engine.CallRequest) engine.Decision {
	if hasEffect(q.Call.ToolName) {
		return engine.Decision{Do: job.Ask, By: "a rule", Digest: q.Call.ID + string(q.Call.Args)}
	}
	return engine.Decision{Do: job.Allow}
}

// A past is what a user knows about a job.
type past struct {
	status       event.Status // of the coordinator; "" if nothing was recorded
	coordinators int          // Runs of it: one for each branch
	fork         string       // the checkpoint to go back to
}

func (v *victim) past(ctx context.Context) (p past, err error) {
	coordinator := ""
	for r, err := range v.history.Read(context.WithoutCancel(ctx), jobID, 0) {
		if errors.Is(err, store.ErrNotFound) {
			return p, nil
		}
		if damage := (*store.DamageError)(nil); errors.As(err, &damage) && damage.Torn && damage.Seq == 1 {
			return p, nil // nothing of it is left
		}
		if err != nil {
			return p, err
		}
		b, starts := r.Event.Body.(event.StartRun)
		if starts && b.DelegatedBy == nil {
			if coordinator != r.Event.RunID {
				p.coordinators++
			}
			coordinator, p.status = r.Event.RunID, event.StatusProceeding
		}
		if starts && r.Event.ExpertKey == v.job.Fork && p.fork == "" {
			p.fork = b.CheckpointID
		}
		if s, ok := r.Event.EndStatus(); ok && r.Event.RunID == coordinator {
			p.status = s
		}
	}
	return p, nil
}

func (v *victim) spec(input job.Input) job.Spec {
	s := job.Spec{
		JobID: jobID, Expert: v.job.Coordinator, Experts: v.job.experts(), Input: input,
		Workspace: job.Workspace{Dir: v.files.Path()},
	}
	s.Limits = job.Limits{MaxParallel: v.job.MaxParallel, MaxDepth: v.job.MaxDepth, MaxRetries: 5}
	s.Approvals.Plan = v.job.Plan
	s.Limits.MaxSteps = cmp.Or(v.job.MaxSteps, 1000)
	return s
}

func (v *victim) parts() engine.Parts {
	parts := engine.Parts{
		Model: v,
		Store: &watchedStore{v.history, v.points, v.lazy},
		Emit:  v.emit,
	}
	if v.job.Approvals {
		parts.Approvals = asksForEffects{}
	}
	return parts
}

// emit is the listener: what it was told cannot be taken back.
func (v *victim) emit(e event.Event) error {
	if e.IsKept() {
		if err := v.shown.note("%s\t%t", e.ID, e.IsTerminal()); err != nil {
			return err
		}
	}
	v.points.reach("emit " + string(e.Type()))
	return nil
}

func (v *victim) skills(ctx context.Context, req engine.SkillRequest) (*skill.Toolbox, error) {
	all := []skill.Skill{baseskill.New(baseskill.Options{Workspace: v.files}), &evidenceSkill{v.ran, v.branch, v.careless}}
	for _, e := range req.Delegates {
		all = append(all, delegate.All(e)[0])
	}
	if req.Plan {
		all = append(all, proposal.New())
	}
	if !req.Delegated {
		all = append(all, interactive.New(&expert.Skill{Name: "user", Tools: []expert.InteractiveTool{
			{Name: question.tool, InputSchema: rawjson.Value(`{"type":"object"}`)},
		}}))
	}
	var sources []skill.Source
	for _, s := range all {
		sources = append(sources, skill.Source{Skill: &watchedSkill{s, v.points}})
	}
	return skill.NewToolbox(ctx, sources, slog.New(slog.DiscardHandler))
}

// Generate answers by the plan of the Expert. Like a provider it knows nothing but the
// request, so another process gets the same answer.
func (v *victim) Generate(_ context.Context, req *model.Request) iter.Seq2[model.Chunk, error] {
	return func(yield func(model.Chunk, error) bool) {
		v.points.reach("ask model")
		answer, err := v.answer(req)
		if err != nil {
			v.points.reach("refused by model")
			yield(model.Chunk{}, err)
			return
		}
		v.points.reach("answered by model")
		if text := answer.Text(); text != "" && !yield(model.Chunk{Text: text}, nil) {
			return
		}
		yield(model.Chunk{Answer: answer}, nil)
		v.points.reach("heard model")
	}
}

func (v *victim) answer(req *model.Request) (*model.Answer, error) {
	if err := answered(req.Messages); err != nil {
		return nil, err
	}
	if slices.ContainsFunc(req.Messages, func(m *event.Message) bool { return m.Text() == somethingElse }) {
		return &model.Answer{Parts: []event.Part{{Type: event.TextPart, Text: "That is done."}}, Finish: model.FinishStop}, nil
	}
	task := taskOf(req.Messages)
	plan := v.job.Plans[req.Expert]
	if req.Turn >= len(plan) {
		return nil, fmt.Errorf("the plan of %s has no turn %d", req.Expert, req.Turn)
	}
	t := plan[req.Turn]
	switch {
	case t.fails != nil:
		return nil, t.fails
	case t.busy && req.Attempt == 0:
		return nil, busy
	}
	asked, err := json.Marshal(req.Messages, json.Deterministic(true))
	if err != nil {
		return nil, err
	}
	// Another process must send exactly the same request.
	digest := sha256.Sum256([]byte(normal(string(asked), v.files.Path())))
	if err := v.paid.note("%s\t%x", turnKey(req.Expert, task+v.branch, req.Turn), digest[:8]); err != nil {
		return nil, err
	}
	return t.answer(req.Expert, task, req.Turn)
}

// answered refuses what a provider refuses: every call has its result in the message
// after it, once and in order.
func answered(messages []*event.Message) error {
	var open []string
	for i, m := range messages {
		var results []string
		for _, p := range m.Contents {
			if p.Type == event.ToolResultPart {
				results = append(results, p.ToolCallID)
			}
		}
		if !slices.Equal(open, results) {
			return fmt.Errorf("message %d answers %q, and %q were called", i, results, open)
		}
		open = nil
		for _, p := range m.Contents {
			if p.Type == event.ToolCallPart {
				open = append(open, p.ToolCallID)
			}
		}
	}
	if len(open) > 0 {
		return fmt.Errorf("%q were called, and not answered", open)
	}
	return nil
}

// taskOf returns what the conversation began with.
func taskOf(messages []*event.Message) string {
	for _, m := range messages {
		if m.Type == event.UserMessage {
			return m.Text()
		}
	}
	return ""
}
