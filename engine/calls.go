package engine

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/model"
	"github.com/perstack-go/perstack/skill"
)

// noSkill stands as the skill of a call whose tool does not exist.
const noSkill = "unknown"

// calls turns the model's tool calls into the event that records them, in the order in
// which the model wrote them: some providers know a thought only by the call it led to.
// They are carried out in the order plain, delegate, interactive.
func (r *run) calls(answer *model.Answer) event.CallTools {
	parts := slices.Clone(answer.Parts)
	var calls []event.ToolCall
	taken := make(ids)
	for i := range parts {
		p := &parts[i]
		if p.Type != event.ToolCallPart {
			continue
		}
		if p.ToolCallID == "" { // its provider gives none
			p.ToolCallID = r.Source.NewID()
		}
		p.ToolCallID, p.ToolName, p.Args = taken.unique(validText(p.ToolCallID)), validText(p.ToolName), arguments(p.Args)
		_, skillName, ok := r.toolbox.Lookup(p.ToolName)
		if !ok {
			skillName = noSkill
		}
		calls = append(calls, event.ToolCall{ID: p.ToolCallID, SkillName: skillName, ToolName: p.ToolName})
	}
	return event.CallTools{NewMessage: r.message(parts), ToolCalls: calls, Usage: answer.Usage}
}

func (r *run) kind(tool string) skill.Kind {
	t, _, _ := r.toolbox.Lookup(tool)
	return t.Kind
}

// callTools brings the calls of the turn forward by one event.
func (r *run) callTools(ctx context.Context) (event.Body, error) {
	calls := r.state.Step.Calls
	for _, c := range calls {
		if result, ok := r.answerUnrun(c); ok {
			return event.EndToolCall{ToolResult: result}, nil
		}
	}
	if wave := r.wave(calls); len(wave) > 0 {
		for _, c := range wave {
			if !c.Started {
				r.flight.mark(c.ID, announced)
				return event.StartToolCall{ToolCallID: c.ID}, nil
			}
		}
		if err := r.launch(ctx, wave); err != nil {
			return nil, err
		}
	}
	if r.flight.running > 0 {
		return r.await(ctx), nil
	}
	return r.afterCalls(calls), nil
}

// answerUnrun answers a call that must not or cannot be carried out.
func (r *run) answerUnrun(c Call) (event.ToolResult, bool) {
	if c.Result != nil || r.flight.has(c.ID, sound) {
		return event.ToolResult{}, false
	}
	tool, owner, ok := r.toolbox.Lookup(c.ToolName)
	switch {
	case c.Child != nil && r.member(c.SkillName) == nil:
		return r.errorResult(c.ToolCall, fmt.Sprintf("Error: the Expert %q cannot be asked any more; its answer will not come.", c.SkillName)), true
	case c.Child != nil && r.isForged(c):
		return r.errorResult(c.ToolCall, "Error: the journal names a Run for this call that is not its own; nothing was carried out."), true
	case c.Started && !(ok && owner == c.SkillName && tool.Repeatable):
		return r.errorResult(c.ToolCall, event.UnknownOutcome), true
	case ok && owner != c.SkillName:
		return r.errorResult(c.ToolCall, fmt.Sprintf("Error: the tool %q is another than when it was called; nothing was carried out.", c.ToolName)), true
	case !ok:
		return r.errorResult(c.ToolCall, strings.TrimSpace(fmt.Sprintf("Error: there is no tool named %q. %s", c.ToolName, r.toolbox.Missing()))), true
	case hasInvalidArgs(c.Args):
		return r.errorResult(c.ToolCall, "Error: the arguments are not a valid JSON object."), true
	case isCompletion(c.ToolCall) && r.hasQuestions():
		return r.errorResult(c.ToolCall, "Error: not yet. Other calls of this turn are still open; complete when you have their results."), true
	case tool.Kind == skill.Delegate && strings.TrimSpace(query(c.Args)) == "":
		return r.errorResult(c.ToolCall, "Error: an Expert is called with a query that is not empty. Say in it all that it needs to know."), true
	}
	if err := r.toolbox.Check(c.ToolCall); err != nil {
		return r.errorResult(c.ToolCall, "Error: "+err.Error()), true
	}
	r.flight.mark(c.ID, sound)
	return event.ToolResult{}, false
}

// hasQuestions reports whether the turn has calls that others than tools answer.
func (r *run) hasQuestions() bool {
	return slices.ContainsFunc(r.state.Step.Calls, func(c Call) bool { return r.kind(c.ToolName) != skill.Plain })
}

// wave returns the calls to start next: as many as may run at once. Completion is
// judged last, when everything else has its result.
func (r *run) wave(calls []Call) []Call {
	var wave []Call
	room := r.Parallel - r.flight.running
	for _, c := range calls {
		if c.Result != nil || r.flight.has(c.ID, launched) || r.kind(c.ToolName) != skill.Plain || isCompletion(c.ToolCall) {
			continue
		}
		if len(wave) < room {
			wave = append(wave, c)
		}
	}
	if len(wave) > 0 || r.flight.running > 0 {
		return wave
	}
	for _, c := range calls {
		if c.Result == nil && isCompletion(c.ToolCall) && !r.flight.has(c.ID, launched) {
			return []Call{c}
		}
	}
	return nil
}

// afterCalls says how the turn goes on once every tool has answered.
func (r *run) afterCalls(calls []Call) event.Body {
	if b, ok := r.handOver(calls); ok {
		return b
	}
	for _, c := range calls {
		if c.Result == nil && r.kind(c.ToolName) == skill.Interactive {
			return event.CallInteractiveTool{ToolCallID: c.ID}
		}
	}
	if !completed(calls) {
		return event.ResolveToolResults{}
	}
	said := strings.TrimSpace(r.state.lastExpertMessage().Text())
	if said == "" {
		return event.AttemptCompletion{}
	}
	// The answer came along with the call: no second generation is needed.
	return event.CompleteRun{
		ToolMessage: r.toolMessageRef(calls),
		NewMessage:  &event.Message{ID: r.Source.NewID(), Type: event.ExpertMessage, Contents: []event.Part{r.textPart(said)}},
	}
}
