package event

// An activity says what is over. This file is for those who also show what is under
// way: whose event it is, and which call has just started.

// Head returns the fields that all activities of a Run share, for a row that is none.
func (t *Timeline) Head(runID string) Activity {
	head := Activity{RunID: runID}
	if v := t.runs[runID]; v != nil {
		head.ExpertKey, head.DelegatedBy = v.expertKey, v.delegatedBy
	}
	return head
}

// Pending returns what can be said of a call before it has a result: the activity
// that it will be, as far as its arguments tell. It is false for a call that is not
// known or was shown already.
func (t *Timeline) Pending(runID, callID string) (Activity, bool) {
	v := t.runs[runID]
	if v == nil || v.calls[callID] == nil || v.calls[callID].shown {
		return Activity{}, false
	}
	a, head := toolActivity(v.calls[callID].ToolCall, ToolResult{ID: callID}), t.Head(runID)
	a.RunID, a.ExpertKey, a.DelegatedBy = head.RunID, head.ExpertKey, head.DelegatedBy
	return a, true
}

// HasUnknownOutcome reports whether nobody knows what the call did: perstack ended
// while it was running. It did not simply fail, and a person should look.
func (a Activity) HasUnknownOutcome() bool { return a.Error == UnknownOutcome }
