package engine

import (
	"strings"
	"testing"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/model"
	"github.com/perstack-go/perstack/rawjson"
)

// The estimate of a request is rather too high, but not absurdly so: an image counts the same
// whatever its size, and a file counts in part.
func TestMessageSize(t *testing.T) {
	data := strings.Repeat("x", 80_000)
	result := func(p event.Part) event.Part {
		return event.Part{Type: event.ToolResultPart, ToolName: "read", Contents: []event.Part{p}}
	}
	for name, tt := range map[string]struct {
		part event.Part
		want int
	}{
		"text":      {event.Part{Type: event.TextPart, Text: "hello"}, 5},
		"thinking":  {event.Part{Type: event.ThinkingPart, Thinking: "hm"}, 2},
		"a call":    {event.Part{Type: event.ToolCallPart, ToolName: "read", Args: rawjson.Value(`{"a":1}`)}, 11},
		"a search":  {event.Part{Type: event.ProviderPart, ToolName: "web", ProviderData: rawjson.Value(`{"a":1}`)}, 10},
		"an image":  {event.Part{Type: event.ImageInlinePart, EncodedData: data}, imageBytes},
		"a picture": {event.Part{Type: event.ImageBinaryPart, Data: data}, imageBytes},
		"a PDF":     {event.Part{Type: event.FileInlinePart, EncodedData: data}, 10_000},
		"a result":  {result(event.Part{Type: event.FileBinaryPart, Data: data}), 10_004},
	} {
		if got := partsSize([]event.Part{tt.part}); got != tt.want {
			t.Errorf("%s: %d, want %d", name, got, tt.want)
		}
	}
}

// Before the first answer everything is estimated, including the tools. After it, the
// provider's count is used, and only what was added since is estimated.
func TestEstimate(t *testing.T) {
	words := func(n int) *event.Message {
		return &event.Message{Type: event.UserMessage, Contents: []event.Part{{Type: event.TextPart, Text: strings.Repeat("x", n*bytesPerToken)}}}
	}
	tools := []model.Tool{{Name: "abc", Description: strings.Repeat("d", 3000), InputSchema: rawjson.Value(strings.Repeat(" ", 297))}}
	guess := func(s State, tools []model.Tool, added ...*event.Message) int {
		return (&run{state: s}).estimate(&model.Request{Tools: tools, Messages: append(s.Messages(), added...)})
	}
	s := State{}.say(words(1000))
	if got := guess(s, nil); got != 1001 {
		t.Errorf("before the first answer: %d", got)
	}
	if got := guess(s, tools); got != 2101 {
		t.Errorf("with tools: %d", got)
	}
	s = s.spend(event.Usage{InputTokens: 500, OutputTokens: 20, TotalTokens: 520})
	if got := guess(s, tools); got != 521 {
		t.Errorf("after an answer: %d", got)
	}
	if got := guess(s, tools, words(7)); got != 528 {
		t.Errorf("with the results for a final answer: %d", got)
	}
	if got := guess(s, tools, words(7), words(2)); got != 530 {
		t.Errorf("with the results and a reminder: %d", got)
	}
	if got := guess(s.say(words(100)), tools); got != 621 {
		t.Errorf("after a message more: %d", got)
	}
	if got := guess(s.spend(event.Usage{}), tools); got != 521 {
		t.Errorf("after a failure that used nothing: %d", got)
	}
}
