package engine

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/model"
	"github.com/perstack-go/perstack/rawjson"
	"github.com/perstack-go/perstack/skill"
)

// unknownSkill is recorded as the skill of a call whose tool does not exist.
const unknownSkill = "unknown"

// callToolsEvent turns the model's tool calls into the event that records them. They keep
// the order in which the model wrote them, because some providers match a thought to the
// call that follows it. They are carried out in the order plain, delegate, interactive. Plans are
// asked about before all of them.
func (r *run) callToolsEvent(answer *model.Answer) event.CallTools {
	parts := slices.Clone(answer.Parts)
	var calls []event.ToolCall
	ids := make(callIDs)
	for i := range parts {
		p := &parts[i]
		if p.Type != event.ToolCallPart {
			continue
		}
		if p.ToolCallID == "" { // some providers give none
			p.ToolCallID = r.newID()
		}
		p.ToolCallID, p.ToolName, p.Args = ids.unique(validText(p.ToolCallID)), validText(p.ToolName), arguments(p.Args)
		_, skillName, ok := r.toolbox.Lookup(p.ToolName)
		if !ok {
			skillName = unknownSkill
		}
		calls = append(calls, event.ToolCall{ID: p.ToolCallID, SkillName: skillName, ToolName: p.ToolName})
	}
	return event.CallTools{NewMessage: r.message(parts), ToolCalls: calls, Usage: answer.Usage}
}

func (r *run) toolKind(tool string) skill.Kind {
	t, _, _ := r.toolbox.Lookup(tool)
	return t.Kind
}

// callTools moves the calls of the turn forward by one event.
func (r *run) callTools(ctx context.Context) (event.Body, error) {
	calls := r.state.Step.Calls
	for _, c := range calls {
		if result, ok := r.rejectCall(c); ok {
			return event.EndToolCall{ToolResult: result}, nil
		}
	}
	if body, err := r.approveCalls(ctx); body != nil || err != nil {
		return body, err
	}
	if next := r.callsToStart(calls); len(next) > 0 {
		if err := r.snapshotBefore(ctx, next); err != nil {
			if limit, ok := errors.AsType[*LimitError](err); ok {
				return r.stopByLimit(limit), nil
			}
			return nil, err
		}
		if reason := r.stopRequested(ctx); reason != nil { // there may be no snapshot then
			return r.stopRun(reason), nil
		}
		if body := r.decideAgain(ctx, next); body != nil {
			return body, nil
		}
		for _, c := range next {
			if !c.Started {
				return event.StartToolCall{ToolCallID: c.ID, AllowedBy: r.inFlight.decisions[c.ID].By}, nil
			}
		}
		if err := r.startCalls(ctx, next); err != nil {
			return nil, err
		}
	}
	if r.inFlight.running > 0 {
		return r.awaitResult(ctx), nil
	}
	return r.afterCalls(calls), nil
}

// maxParallelCalls is how many tool calls of one turn run at the same time.
const maxParallelCalls = 16

// rejectCall returns the result of a call that must not or cannot be carried out.
func (r *run) rejectCall(c Call) (event.ToolResult, bool) {
	if c.Result != nil || r.inFlight.stages[c.ID] >= stageChecked {
		return event.ToolResult{}, false
	}
	tool, owner, ok := r.toolbox.Lookup(c.ToolName)
	switch {
	case c.Child != nil && r.delegate(c.SkillName) == nil:
		return r.errorResult(c.ToolCall, fmt.Sprintf("Error: you can no longer delegate to the Expert %q, so this call has no answer.", c.SkillName)), true
	case c.Child != nil && r.isForged(c):
		return r.errorResult(c.ToolCall, "Error: the journal assigns a Run to this call that belongs to another one. Nothing was carried out."), true
	case c.Started && !(ok && owner == c.SkillName && tool.Repeatable):
		return r.errorResult(c.ToolCall, event.UnknownOutcome), true
	case !ok && c.isAcceptedPlan():
		return r.textResult(c.ToolCall, planAcceptedText), true
	case ok && owner != c.SkillName:
		return r.errorResult(c.ToolCall, fmt.Sprintf("Error: the tool %q belongs to another skill now than when you called it. Nothing was carried out.", c.ToolName)), true
	case !ok:
		return r.errorResult(c.ToolCall, strings.TrimSpace(fmt.Sprintf("Error: there is no tool named %q. %s", c.ToolName, r.toolbox.Missing()))), true
	case hasInvalidArgs(c.Args):
		return r.errorResult(c.ToolCall, "Error: the arguments are not a valid JSON object."), true
	case isCompletion(c.ToolCall) && r.waitsForOthers():
		return r.errorResult(c.ToolCall, "Error: not yet. Other calls of this turn are still open; complete when you have their results."), true
	case tool.Kind == skill.Delegate && strings.TrimSpace(query(c.Args)) == "":
		return r.errorResult(c.ToolCall, "Error: the query is empty. Put everything that the Expert needs to know into it."), true
	}
	if tool.Kind == skill.Proposal && strings.TrimSpace(planText(c.Args)) == "" {
		return r.errorResult(c.ToolCall, "Error: the plan is empty."), true
	}
	if err := r.toolbox.Check(c.ToolCall); err != nil {
		return r.errorResult(c.ToolCall, "Error: "+err.Error()), true
	}
	r.inFlight.stages[c.ID] = stageChecked
	return event.ToolResult{}, false
}

// waitsForOthers reports whether the turn has calls that the user or a delegate answers.
func (r *run) waitsForOthers() bool {
	return slices.ContainsFunc(r.state.Step.Calls, func(c Call) bool { return r.toolKind(c.ToolName) != skill.Plain })
}

// callsToStart returns the calls to start next, as many as can run at the same time.
// Completion comes last, when every other call has its result.
func (r *run) callsToStart(calls []Call) []Call {
	var next []Call
	free := maxParallelCalls - r.inFlight.running
	if r.spec.Sequential {
		free = 1 - r.inFlight.running
	}
	for _, c := range calls {
		if r.isAllowed(c) && !isCompletion(c.ToolCall) && len(next) < free {
			next = append(next, c)
		}
	}
	if len(next) > 0 || r.inFlight.running > 0 {
		return next
	}
	for _, c := range calls {
		if r.isAllowed(c) && isCompletion(c.ToolCall) {
			return []Call{c}
		}
	}
	return nil
}

// question returns the first call of the turn that the user has to answer.
func (r *run) question(calls []Call) (event.ToolCall, bool) {
	for _, c := range calls {
		if c.Result == nil && r.toolKind(c.ToolName) == skill.Interactive {
			return c.ToolCall, true
		}
	}
	return event.ToolCall{}, false
}

// ask has the approver answer the question that was recorded last. Without an answer, the job waits
// for the user; an error of the approver ends the Run, which asks again when it resumes.
func (r *run) ask(ctx context.Context) (event.Body, error) {
	call, ok := r.question(r.state.Step.Calls)
	if !ok {
		return nil, errors.New("internal error: there is no question to ask; please report it")
	}
	answer, err := r.askUser(ctx, event.Request{Question: call})
	switch {
	case errors.Is(err, ErrNoAnswer):
		return event.StopRunByInteractiveTool{}, nil
	case err != nil:
		return nil, r.approverFailed("the question "+call.ToolName, err)
	}
	return event.EndToolCall{ToolResult: r.textResult(call, answer.Text)}, nil
}

// afterCalls returns the event that follows when every tool has returned.
func (r *run) afterCalls(calls []Call) event.Body {
	if b, ok := r.callDelegates(calls); ok {
		return b
	}
	if call, ok := r.question(calls); ok { // it is recorded before it is asked
		return event.CallInteractiveTool{ToolCallID: call.ID}
	}
	if !completed(calls) {
		return event.ResolveToolResults{}
	}
	text := strings.TrimSpace(r.state.lastExpertMessage().Text())
	if text == "" {
		return event.AttemptCompletion{}
	}
	// The answer came along with the call, so no second generation is needed.
	return event.CompleteRun{
		ToolMessage: r.toolMessageRef(calls),
		NewMessage:  &event.Message{ID: r.newID(), Type: event.ExpertMessage, Contents: []event.Part{r.textPart(text)}},
	}
}

// callIDs are the call ids of one turn, each with the last number that was appended to it.
type callIDs map[string]int

// unique returns an id that no other call of the turn has, so that a result can be matched
// to its call. A model can give the same id to a thousand calls.
func (taken callIDs) unique(id string) string {
	if id == "" {
		id = "call"
	}
	unique := id
	for taken[unique] > 0 {
		taken[id]++
		unique = fmt.Sprintf("%s-%d", id, taken[id])
	}
	taken[unique] = max(taken[unique], 1)
	return unique
}

// invalidArgs is the member that holds arguments that are not a JSON object, so that the
// model can see what it wrote.
const invalidArgs = "_invalidArguments"

// arguments returns a call's arguments as a JSON object, whatever the model wrote.
func arguments(raw []byte) rawjson.Value {
	v := rawjson.Value(bytes.TrimSpace(raw)).Clone()
	if len(v) == 0 {
		return rawjson.Value("{}")
	}
	if v.Kind() == '{' && v.IsWithin(maxArgsDepth) && (*jsontext.Value)(&v).Compact() == nil {
		return v
	}
	return mustEncode(map[string]string{invalidArgs: string(raw)})
}

// maxArgsDepth limits how deep arguments can be nested. No tool needs more, and a value near
// the limit of the decoder could be written to the journal but not read back.
const maxArgsDepth = 100

// hasInvalidArgs reports whether [arguments] wrapped what the model wrote.
func hasInvalidArgs(args rawjson.Value) bool {
	var members map[string]rawjson.Value
	if err := json.Unmarshal(args, &members); err != nil {
		return true
	}
	_, wrapped := members[invalidArgs]
	return wrapped && len(members) == 1
}
