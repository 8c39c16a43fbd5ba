package event

import (
	"slices"
	"strings"
)

// ProviderCalls returns the calls in the message of e that the provider ran itself. Events
// that repeat a message have none.
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

// IsProviderCall reports whether p is a call that the provider ran itself, rather than its
// result. Every provider has its own words for both and can add new ones, so p counts as a
// call unless its data looks like a result: by its type or, if there is none, by the names of
// the objects in it.
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

// namesAnswer reports whether a provider's word names the result of a call. The last ending
// is that of images and files.
func namesAnswer(word string) bool {
	return slices.ContainsFunc([]string{"_result", "_output", "_response", "Result", "Output", "Response", "Data"},
		func(ending string) bool { return strings.HasSuffix(word, ending) })
}
