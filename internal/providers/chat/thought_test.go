package chat_test

import (
	"strings"
	"testing"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/model"
)

// A model that called a tool without a thought thinks on.
func TestThinksOnWithoutThought(t *testing.T) {
	req := &model.Request{Reasoning: "low", Messages: []*event.Message{
		user("Read."), says(deepSeekAuthor, calls("c1", "read", "{}")), results(returned("c1", false, text("A"))),
	}}
	body := bodiesOf(t, deepSeek, req)[0]
	if !strings.Contains(body, `"thinking":{"type":"enabled"}`) || !strings.Contains(body, `"reasoning_content":" "`) {
		t.Errorf("sent %s", body)
	}
}
