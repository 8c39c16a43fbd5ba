package engine

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/model"
	"github.com/perstack-go/perstack/skill"
)

// noSkill stands as the skill of a call whose tool does not exist.
const noSkill = "unknown"

// calls turns the model's tool calls into the event that records them. Calls are
// answered in the order plain, delegate, interactive; within a kind, as the model
// wrote them.
func (r *run) calls(answer *model.Answer) event.CallTools {
	ordered := r.inOrder(answer.Calls)
	parts := r.thinkingParts(answer)
	if answer.Text != "" {
		parts = append(parts, r.textPart(answer.Text))
	}
	var calls []event.ToolCall
	taken := make(ids)
	for _, c := range ordered {
		id, tool := taken.unique(validText(c.ID)), validText(c.Tool)
		_, skillName, ok := r.toolbox.Lookup(tool)
		if !ok {
			skillName = noSkill
		}
		calls = append(calls, event.ToolCall{ID: id, SkillName: skillName, ToolName: tool})
		parts = append(parts, event.Part{
			ID: r.Source.NewID(), Type: event.ToolCallPart,
			ToolCallID: id, ToolName: tool, Args: arguments(c.Args), ProviderData: c.ProviderData,
		})
	}
	message := &event.Message{ID: r.Source.NewID(), Type: event.ExpertMessage, Contents: parts, Author: r.job.author()}
	return event.CallTools{NewMessage: message, ToolCalls: calls, Usage: answer.Usage}
}

func (r *run) inOrder(calls []model.Call) []model.Call {
	calls = slices.Clone(calls)
	slices.SortStableFunc(calls, func(a, b model.Call) int { return int(r.kind(a.Tool)) - int(r.kind(b.Tool)) })
	return calls
}

func (r *run) kind(tool string) skill.Kind {
	t, _, _ := r.toolbox.Lookup(tool)
	return t.Kind
}

// ids are the ids of the calls of one turn, each with the number that was last put behind it.
type ids map[string]int

// unique makes sure that a result can be matched to its call, whatever ids the model made
// up: a thousand times the same, too.
func (taken ids) unique(id string) string {
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

// invalidArgs is the member under which arguments that are no JSON object are kept,
// so that the model can see what it wrote.
const invalidArgs = "_invalidArguments"

// arguments returns a call's arguments as a JSON object, whatever the model wrote.
func arguments(raw []byte) jsontext.Value {
	v := jsontext.Value(bytes.TrimSpace(raw)).Clone()
	if len(v) == 0 {
		return jsontext.Value("{}")
	}
	if v.Kind() == '{' && isShallow(v) && v.Compact() == nil {
		return v
	}
	wrapped, err := json.Marshal(map[string]string{invalidArgs: string(raw)}, jsontext.AllowInvalidUTF8(true))
	if err != nil {
		return jsontext.Value("{}")
	}
	return wrapped
}

// maxArgsDepth bounds how deep arguments may be nested. No tool needs more, and what is
// near the limit of a decoder could be written but not read back.
const maxArgsDepth = 100

// isShallow reports whether v is valid JSON of a sensible depth.
func isShallow(v jsontext.Value) bool {
	dec := jsontext.NewDecoder(bytes.NewReader(v))
	for {
		_, err := dec.ReadToken()
		if err != nil {
			return errors.Is(err, io.EOF)
		}
		if dec.StackDepth() > maxArgsDepth {
			return false
		}
	}
}

// hasInvalidArgs reports whether arguments wrapped what the model wrote.
func hasInvalidArgs(args jsontext.Value) bool {
	var members map[string]jsontext.Value
	if err := json.Unmarshal(args, &members); err != nil {
		return true
	}
	_, wrapped := members[invalidArgs]
	return wrapped && len(members) == 1
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
	case c.Child != nil && r.delegates[c.SkillName] == nil:
		return r.errorResult(c.ToolCall, fmt.Sprintf("Error: the Expert %q cannot be asked any more; its answer will not come.", c.SkillName)), true
	case ok && owner != c.SkillName && c.SkillName != noSkill:
		return r.errorResult(c.ToolCall, fmt.Sprintf("Error: the tool %q is another than when it was called; nothing was carried out.", c.ToolName)), true
	case !ok:
		return r.errorResult(c.ToolCall, strings.TrimSpace(fmt.Sprintf("Error: there is no tool named %q. %s", c.ToolName, r.toolbox.Missing()))), true
	case hasInvalidArgs(c.Args):
		return r.errorResult(c.ToolCall, "Error: the arguments are not a valid JSON object."), true
	case isCompletion(c.ToolCall) && r.hasQuestions():
		return r.errorResult(c.ToolCall, "Error: not yet. Other calls of this turn are still open; complete when you have their results."), true
	case tool.Kind == skill.Delegate && (r.delegates[c.SkillName] == nil || strings.TrimSpace(query(c.Args)) == ""):
		return r.errorResult(c.ToolCall, "Error: an Expert is called with a query that is not empty. Say in it all that it needs to know."), true
	case c.Started && !tool.Repeatable:
		return r.errorResult(c.ToolCall, event.UnknownOutcome), true
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

// completed reports whether the Expert declared itself done and was believed.
func completed(calls []Call) bool {
	return slices.ContainsFunc(calls, func(c Call) bool {
		return isCompletion(c.ToolCall) && c.Result != nil && isAccepted(*c.Result)
	})
}

func isCompletion(c event.ToolCall) bool {
	return c.SkillName == event.BaseSkill && c.ToolName == event.CompletionTool
}

// isAccepted reports whether a completion went through: no failure, no open todos.
func isAccepted(result event.ToolResult) bool {
	if result.IsError {
		return false
	}
	var answer struct {
		RemainingTodos []jsontext.Value `json:"remainingTodos"`
	}
	text := event.FirstText(result.Result)
	return json.Unmarshal([]byte(text), &answer) == nil && len(answer.RemainingTodos) == 0
}
