package event

import "slices"

// This file finds things in messages, for activities.

// hasCalls reports whether m calls tools.
func (m *Message) hasCalls() bool {
	return slices.ContainsFunc(m.Contents, func(p Part) bool { return p.Type == ToolCallPart })
}

// callArgs returns the arguments of the call with that id, or nil.
func (m *Message) callArgs(id string) []byte {
	if m == nil {
		return nil
	}
	for i := range m.Contents {
		if p := &m.Contents[i]; p.Type == ToolCallPart && p.ToolCallID == id {
			return p.Args
		}
	}
	return nil
}

func lastExpertMessage(messages []*Message) *Message {
	for i := len(messages) - 1; i >= 0; i-- {
		if messages[i].Type == ExpertMessage {
			return messages[i]
		}
	}
	return nil
}

// lastCaller returns the last message that has calls, or nil.
func lastCaller(messages []*Message) *Message {
	for _, m := range slices.Backward(messages) {
		if m.hasCalls() {
			return m
		}
	}
	return nil
}

// lastCalls returns the ids of the calls in the last message that has any.
func lastCalls(messages []*Message) []string {
	m := lastCaller(messages)
	if m == nil {
		return nil
	}
	var ids []string
	for _, p := range m.Contents {
		if p.Type == ToolCallPart {
			ids = append(ids, p.ToolCallID)
		}
	}
	return ids
}
