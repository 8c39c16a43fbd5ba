package event

import "strings"

// FromCheckpoint derives the activities of one stored step, in full form, and the
// checkpoint that it left. All of them share the step's reasoning. ID, ExpertKey and
// RunID are left to the caller, who knows where the step stands.
func FromCheckpoint(cp Checkpoint, step Step) []Activity {
	activities := stepActivities(cp, step)
	if text := stepRemark(step); text != "" && cp.Status != StatusCompleted { // there it is the answer
		activities = append([]Activity{{Type: ActivityRemark, Text: text}}, activities...)
	}
	var ran []Activity
	for _, p := range providerCalls(step.NewMessages) {
		ran = append(ran, providerActivity(p))
	}
	activities = append(ran, activities...)
	reasoning := stepReasoning(step)
	for i := range activities {
		activities[i].Reasoning = reasoning
	}
	return activities
}

func stepActivities(cp Checkpoint, step Step) []Activity {
	switch cp.Status {
	case StatusCompleted:
		return []Activity{{Type: ActivityComplete, Text: lastExpertMessage(step.NewMessages).Text()}}
	case StatusStoppedByError:
		if cp.Error == nil {
			return []Activity{{Type: ActivityError, Error: "Unknown error"}}
		}
		return []Activity{errorActivity(*cp.Error)}
	case StatusStoppedByDelegate:
		return waitingActivities(cp, step, delegateActivities(cp), "Delegate status but no delegation targets")
	case StatusStoppedByInteractiveTool:
		return waitingActivities(cp, step, interactiveActivities(cp, step), "Interactive tool status but no open tool calls")
	case StatusStoppedByExceededMaxSteps:
		return append(answeredActivities(cp, step), Activity{Type: ActivityStopped, Reason: StoppedByMaxSteps})
	case StatusStoppedByLimit:
		return append(answeredActivities(cp, step), Activity{Type: ActivityStopped, Reason: StoppedByLimit})
	case StatusStoppedByInterrupt:
		return append(answeredActivities(cp, step), Activity{Type: ActivityStopped, Reason: StoppedByInterrupt})
	}
	if answered := answeredActivities(cp, step); len(answered) > 0 {
		return answered
	}
	return []Activity{emptyStep(step, "No tool call or result found")}
}

// waitingActivities shows what the turn did itself before what it waits for.
func waitingActivities(cp Checkpoint, step Step, open []Activity, ifNone string) []Activity {
	if len(open) == 0 {
		return []Activity{emptyStep(step, ifNone)}
	}
	return append(answeredActivities(cp, step), open...)
}

func delegateActivities(cp Checkpoint) []Activity {
	var open []Activity
	for _, d := range cp.DelegateTo {
		open = append(open, Activity{Type: ActivityDelegate, DelegateExpertKey: d.Expert.Key, Query: d.Query})
	}
	return open
}

// interactiveActivities shows the open calls. Older checkpoints do not list them; then
// they are the calls of the step that have no result.
func interactiveActivities(cp Checkpoint, step Step) []Activity {
	calls := cp.PendingToolCalls
	if len(calls) == 0 {
		calls = step.PendingToolCalls
	}
	if len(calls) == 0 {
		results := stepResults(cp, step)
		for _, c := range step.ToolCalls {
			if _, answered := results[c.ID]; !answered {
				calls = append(calls, c)
			}
		}
	}
	var open []Activity
	for _, c := range calls {
		if c.Args == nil {
			c.Args = stepArgs(step, c.ID)
		}
		open = append(open, interactiveActivity(c))
	}
	return open
}

// answeredActivities shows the calls of the step that have a result. What delegates gave
// is not shown again: their own steps show it.
func answeredActivities(cp Checkpoint, step Step) []Activity {
	results := stepResults(cp, step)
	var answered []Activity
	returned := 0
	for _, c := range step.ToolCalls {
		r, ok := results[c.ID]
		if !ok {
			continue
		}
		if c.Args == nil {
			c.Args = stepArgs(step, c.ID)
		}
		if r.IsDelegates() {
			returned++
			continue
		}
		answered = append(answered, toolActivity(c, r))
	}
	if returned > 0 && cp.Status != StatusStoppedByDelegate { // there it waits for more
		answered = append(answered, Activity{Type: ActivityDelegationComplete, Count: returned})
	}
	return answered
}

// stepResults returns the results of a step by call. A step that waits has them in
// other members than one that is done.
func stepResults(cp Checkpoint, step Step) map[string]ToolResult {
	results := make(map[string]ToolResult)
	for _, list := range [][]ToolResult{cp.PartialToolResults, step.PartialToolResults, step.ToolResults} {
		for _, r := range list {
			results[r.ID] = r
		}
	}
	return results
}

func stepArgs(step Step, callID string) []byte {
	for _, m := range step.NewMessages {
		if args := m.callArgs(callID); args != nil {
			return args
		}
	}
	return nil
}

func stepReasoning(step Step) string {
	var all []string
	for _, m := range step.NewMessages {
		if text := m.Thinking(); text != "" {
			all = append(all, text)
		}
	}
	return strings.Join(all, "\n\n")
}

// stepRemark returns what the model said together with the calls of the step.
func stepRemark(step Step) string {
	for _, m := range step.NewMessages {
		if text := strings.TrimSpace(m.Text()); text != "" && m.Type == ExpertMessage && m.hasCalls() {
			return text
		}
	}
	return ""
}

// emptyStep stands for a step that has nothing to show, as one that was repeated.
func emptyStep(step Step, why string) Activity {
	a := Activity{Type: ActivityRetry, Error: why}
	if len(step.NewMessages) > 0 {
		a.Message = step.NewMessages[len(step.NewMessages)-1].Text()
	}
	return a
}
