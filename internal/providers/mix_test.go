package providers

import (
	"context"
	"errors"
	"testing"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/expert"
	"github.com/perstack-go/perstack/model"
)

// Tools of Google beside those of the Expert are refused before anything starts, in the
// words and for the models that the wire refuses at the first request.
func TestMixedTools(t *testing.T) {
	stopped, stop := context.WithCancel(t.Context())
	stop() // what is not refused is not sent either
	refused := map[bool]int{}
	for _, provider := range []string{"google", "google-vertex"} {
		for _, name := range []string{"gemini-2.5-pro", "gemini-2.5-flash", "gemini-2.0-flash", "gemini-3-pro-preview", "gemini-3.1-flash", "gemini-10", "gemini-flash-latest", "gemini-exp", "tunedModels/mine", "models/gemini-3-pro"} {
			choice := enough(provider).choose(provider, name)
			choice.Expert = &expert.Expert{ProviderTools: []string{"googleSearch", "urlContext"}}
			m, err := Open(choice)
			if err != nil {
				t.Fatal(err) // without tools of its own, it may
			}
			var late *model.Error
			for _, err := range m.Generate(stopped, &model.Request{
				Messages: []*event.Message{{Type: event.UserMessage, Contents: []event.Part{{Type: event.TextPart, Text: "go"}}}},
				Tools:    []model.Tool{{Name: "attemptCompletion"}},
			}) {
				if !errors.As(err, &late) && !errors.Is(err, context.Canceled) {
					t.Fatal(err)
				}
			}
			choice.OwnTools = true
			_, early := open(t, choice)
			if (early != nil) != (late != nil) || late != nil && early.Error() != late.Message {
				t.Errorf("%s %s\nearly %v\nlate  %v", provider, name, early, late)
			}
			refused[early != nil]++
		}
	}
	if refused[true] == 0 || refused[false] == 0 {
		t.Errorf("%v", refused)
	}
}
