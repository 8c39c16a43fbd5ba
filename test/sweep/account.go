package sweep

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/go-json-experiment/json"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/store"
	"github.com/perstack-go/perstack/store/file"
)

// An account is what a trial has left at one moment: the journal, Run by Run, and the
// evidence of what was really done.
type account struct {
	journal []byte // whole lines
	ids     map[string]bool
	stories map[string]*story // by path
	ran     []string
	paid    []string
	shown   []string
	invalid []string // what no journal may have

	job  event.Job     // the fold of the journal
	info store.JobInfo // what a list of jobs says
}

// A story is what the journal says about one Run.
type story struct {
	path  string // of delegation: Experts and the calls that lead to them
	key   string // of its Expert
	task  string
	items []item
}

// An item is one record in a form that two runs of a job share: without ids, times and
// numbers of steps.
type item struct {
	event.Type
	body    string
	answers []string // of a startRun; they may come one by one
	raw     event.Event
}

// look takes the account of a trial.
func (t trial) look(ctx context.Context) (*account, error) {
	a := &account{ids: map[string]bool{}, stories: map[string]*story{}}
	var err error
	for name, to := range map[string]*[]string{ranName: &a.ran, paidName: &a.paid, shownName: &a.shown} {
		if *to, err = lines(t.dir, name); err != nil {
			return nil, err
		}
	}
	data, err := os.ReadFile(journalPath(t.dir))
	if os.IsNotExist(err) {
		return a, nil
	}
	if err != nil {
		return nil, err
	}
	a.journal = data[:bytes.LastIndexByte(data, '\n')+1] // what stands behind is no record
	if len(a.journal) == 0 {
		return a, nil
	}
	history := file.New(filepath.Join(t.dir, storageName), nil)
	if _, err := store.VerifySeals(ctx, history, jobID, sealer); err != nil {
		return nil, err
	}
	if a.info, err = store.FindJob(ctx, history, jobID); err != nil {
		return nil, err
	}
	sorter := sorter{account: a, workspace: filepath.Join(t.dir, workspaceName), runs: map[string]*story{}, steps: map[string]int{}, children: map[string]string{}}
	var events []event.Event
	for r, err := range history.Read(ctx, jobID, 0) {
		if err != nil {
			return nil, err
		}
		if err := sorter.tell(r.Event); err != nil {
			return nil, err
		}
		events = append(events, r.Event)
	}
	if t.job.Files {
		err = t.checkFiles(ctx, a, events)
	}
	return a, err
}

// A sorter sorts records into stories.
type sorter struct {
	*account
	workspace string
	runs      map[string]*story // by id
	steps     map[string]int    // the newest, by Run
	children  map[string]string // ids of Runs, by parent and call
	spec      string            // as it was recorded first
}

func (t *sorter) tell(e event.Event) error {
	t.ids[e.ID] = true
	t.job = t.job.Apply(e)
	if e.IsRuntime() {
		return nil
	}
	s, ok := t.runs[e.RunID]
	if b, starts := e.Body.(event.StartRun); starts && !ok {
		s = t.open(e, b)
	} else if !ok {
		return fmt.Errorf("%s of a Run that never started", e.Type())
	}
	if e.StepNumber < t.steps[s.path] {
		t.invalid = append(t.invalid, fmt.Sprintf("%s: step %d comes after step %d", s.path, e.StepNumber, t.steps[s.path]))
	}
	t.steps[s.path] = e.StepNumber
	if b, ok := e.Body.(event.CallDelegate); ok {
		t.check(s, b)
	}
	it := item{Type: e.Type(), raw: e}
	if b, ok := e.Body.(event.StartRun); ok {
		for _, answer := range b.Answers {
			text, err := json.Marshal(answer, json.Deterministic(true))
			if err != nil {
				return err
			}
			it.answers = append(it.answers, normal(string(text), t.workspace))
		}
		t.checkSpec(s, b)
		b.Answers, b.Spec = nil, nil
		e.Body = b
	}
	var err error
	it.body, err = t.normal(e)
	s.items = append(s.items, it)
	return err
}

// open begins the story of a Run. Experts and calls identify it: ids of Runs and
// checkpoints differ in every run of a job.
func (t *sorter) open(e event.Event, b event.StartRun) *story {
	s := &story{path: e.ExpertKey, key: e.ExpertKey, task: taskOf(b.InputMessages)}
	if by := b.DelegatedBy; by != nil {
		parent := "nobody"
		if p, ok := t.runs[by.RunID]; ok {
			parent = p.path
		}
		s.path = parent + " > " + by.ToolCallID + " > " + e.ExpertKey
	} else if s.task == somethingElse {
		s.path += ", then"
	}
	if b.From != nil && b.From.RunID != e.RunID && s.task != somethingElse {
		s.path += branched
	}
	if origin, ok := t.runs[originOf(b)]; ok && s.task == "" {
		s.task = origin.task
	}
	if strings.Contains(s.path, branched) {
		s.task = strings.TrimSuffix(s.task, branched) + branched
	}
	if _, twice := t.stories[s.path]; twice {
		t.invalid = append(t.invalid, s.path+": there are two Runs of it")
	}
	t.stories[s.path], t.runs[e.RunID] = s, s
	return s
}

// originOf is the Run that another one continues; "" for none.
func originOf(b event.StartRun) string {
	if b.From == nil {
		return ""
	}
	return b.From.RunID
}

// checkSpec compares every start with the Spec that was recorded first. Each process records it
// once, with the coordinator: how often depends on the cuts.
func (t *sorter) checkSpec(s *story, b event.StartRun) {
	spec := normal(string(b.Spec), t.workspace)
	switch {
	case t.spec == "" && spec == "":
		t.invalid = append(t.invalid, s.path+": the job starts without a Spec")
	case b.DelegatedBy != nil && spec != "":
		t.invalid = append(t.invalid, s.path+": a delegate records a Spec")
	case t.spec == "":
		t.spec = spec
	case spec != "" && spec != t.spec:
		t.invalid = append(t.invalid, s.path+": it starts with another Spec: "+spec)
	}
}

// check compares the Runs that a parent names with those that it named first.
func (t *sorter) check(s *story, b event.CallDelegate) {
	for _, d := range b.Delegates {
		key := callKey(s.path, d.ToolCallID)
		if first, ok := t.children[key]; ok && first != d.RunID {
			t.invalid = append(t.invalid, key+": it was given to another Run")
		}
		t.children[key] = d.RunID
	}
}

var (
	idPattern   = regexp.MustCompile(`"[a-z][a-z0-9]{23}"`)
	timePattern = regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z`)
)

// normal writes an event without what differs between two runs of a job.
func (t *sorter) normal(e event.Event) (string, error) {
	data, err := event.Marshal(e)
	if err != nil {
		return "", err
	}
	var members map[string]any
	if err := json.Unmarshal(data, &members); err != nil {
		return "", err
	}
	for _, name := range []string{"id", "timestamp", "jobId", "runId", "stepNumber"} {
		delete(members, name)
	}
	if from, ok := members["from"].(map[string]any); ok {
		delete(from, "seq")
	}
	data, err = json.Marshal(members, json.Deterministic(true))
	if err != nil {
		return "", err
	}
	return normal(string(data), t.workspace), nil
}

// normal takes ids, times and the directory out of JSON text.
func normal(text, workspace string) string {
	text = idPattern.ReplaceAllString(text, `"ID"`)
	text = timePattern.ReplaceAllString(text, "TIME")
	return strings.ReplaceAll(text, workspace, "WORKSPACE")
}

// generations are the answers that a Run has recorded, by turn.
func (s *story) generations() []string {
	var all []string
	for _, it := range s.items {
		recorded := false
		switch b := it.raw.Body.(type) {
		case event.CallTools:
			recorded = true
		case event.Retry:
			recorded = !b.Transport
		case event.CompleteRun:
			recorded = b.Usage.TotalTokens > 0
		case event.StopRunByError:
			recorded = b.Usage.TotalTokens > 0
		}
		if recorded {
			all = append(all, turnKey(s.key, s.task, len(all)))
		}
	}
	return all
}

// A fate is how far a call came, according to the journal.
type fate struct {
	skill, tool    string
	started, ended bool
	text           string // of the result
}

// calls are the fates of a Run's calls, by id.
func (s *story) calls() map[string]fate {
	all := map[string]fate{}
	for _, it := range s.items {
		switch b := it.raw.Body.(type) {
		case event.CallTools:
			for _, c := range b.ToolCalls {
				all[c.ID] = fate{skill: c.SkillName, tool: c.ToolName}
			}
		case event.StartToolCall:
			f := all[b.ToolCallID]
			f.started = true
			all[b.ToolCallID] = f
		case event.EndToolCall:
			f := all[b.ToolResult.ID]
			f.ended, f.text = true, event.FirstText(b.ToolResult.Result)
			all[b.ToolResult.ID] = f
		}
	}
	return all
}

// hasEffect reports whether a tool must not run twice.
func hasEffect(tool string) bool {
	return tool == actTool || tool == slowTool || tool == "writeTextFile"
}
