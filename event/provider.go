package event

import (
	"slices"
	"strings"
)

// ProviderCalls returns the calls that a provider ran itself and that e tells of, in their
// order. They stand in the message that the model wrote; the first event that has it tells.
func (e Event) ProviderCalls() []Part {
	switch b := e.Body.(type) {
	case CallTools:
		return b.NewMessage.providerCalls()
	case CompleteRun:
		return b.NewMessage.providerCalls()
	case Retry: // of an answer that was cut off, or a pause
		var calls []Part
		for _, m := range b.NewMessages {
			calls = append(calls, m.providerCalls()...)
		}
		return calls
	}
	return nil
}

func (m *Message) providerCalls() []Part {
	if m == nil || m.Type != ExpertMessage {
		return nil
	}
	var calls []Part
	for i := range m.Contents {
		if m.Contents[i].IsProviderCall() {
			calls = append(calls, m.Contents[i])
		}
	}
	return calls
}

// IsProviderCall reports whether p is a call that the provider ran itself, rather than
// something that such a call returned. Every provider has its own words for both and may
// find new ones, so p counts as a call unless its data looks like an answer: by its type
// or, where there is none, by the names of the objects in it.
func (p *Part) IsProviderCall() bool {
	if p.Type != ProviderPart {
		return false
	}
	data := parseMembers(p.ProviderData)
	if kind := data.text("type"); kind != "" {
		return !namesAnswer(kind)
	}
	objects := 0
	for name, value := range data {
		if value.Kind() != '{' {
			continue // a mark beside it
		}
		if !namesAnswer(name) && len(parseMembers(value)) > 0 {
			return true
		}
		objects++
	}
	return objects == 0
}

// namesAnswer reports whether a word of a provider is about what a call returned. The
// last ending is that of pictures and files.
func namesAnswer(word string) bool {
	return slices.ContainsFunc([]string{"_result", "_output", "_response", "Result", "Output", "Response", "Data"},
		func(ending string) bool { return strings.HasSuffix(word, ending) })
}
