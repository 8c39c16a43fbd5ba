package engine

import (
	"strings"
	"testing"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/job"
)

func TestIsWrittenCall(t *testing.T) {
	for text, want := range map[string]bool{
		`{"name":"read","arguments":{"path":"a"}}`:                                 true,
		` {"name":"unknown","parameters":{}} `:                                     true,
		"```json\n{\"name\":\"read\",\"arguments\":{}}\n```":                       true,
		`{"id":"1","type":"function","function":{"name":"read","arguments":"{}"}}`: true,
		`[{"name":"read","arguments":{}},{"name":"act","arguments":{}}]`:           true,
		`<tool_call>{"name":"read"`:                                                true,
		"I read.\n<tool_call>\n{\"name\":\"read\",\"arguments\":{}}\n</tool_call>": true,
		`<function=read>{"path":"a"}</function>`:                                   true,
		`<|python_tag|>read.call(path="a")`:                                        true,
		`[TOOL_CALLS][{"name":"read"}]`:                                            true,
		`{"name":"Anna"}`:                                                          false,
		`{"name":"Anna","arguments":{},"age":7}`:                                   false,
		`{"name":"Anna","arguments":7}`:                                            false,
		`[]`:                                                                       false,
		`[1]`:                                                                      false,
		"Models write <tool_call> and </tool_call> around a call.":                 false,
		"```xml\n<tool_call>{}</tool_call>\n```":                                   false,
		"Done.":                                                                    false,
		"":                                                                         false,
		`{"name":"Anna","arguments":{}}`:                                           false,
		`{"function":{"function":{"name":"read","arguments":{}}}}`:                 false,
		strings.Repeat(`{"function":`, maxWrittenCall):                             false,
		`{"name":"read","arguments":"` + strings.Repeat("x", maxWrittenCall) + `"}`: false,
	} {
		isTool := func(name string) bool { return name != "Anna" }
		if got := isWrittenCall(text, isTool); got != want {
			t.Errorf("%.80q: %v", text, got)
		}
	}
}

const written = `<tool_call>{"name":"act","arguments":{}}</tool_call>`

// A tool call that arrives as text is not the answer: the model is told, and asked again.
func TestCallAsText(t *testing.T) {
	b := newBench(t, says(written), says("done"))
	if r := b.must(job.Input{Query: "go"}); r.Status != event.StatusCompleted || r.Text != "done" {
		t.Errorf("ended as %+v", r)
	}
	messages := b.script.requests[1].Messages
	if text := event.JoinText(messages[len(messages)-1].Contents); !strings.Contains(text, "written as text") {
		t.Errorf("the model was told %q", text)
	}
	b.checkJournal()

	b = newBench(t, says(written), says(written), says(written))
	b.maxRetries = 2
	if r := b.must(job.Input{Query: "go"}); r.Status != event.StatusStoppedByError || !strings.Contains(r.Failure.Message, "as text") {
		t.Errorf("ended as %+v", r)
	}
	b.checkJournal()
}

// So it is where the final answer is requested, and the next request says what is wanted.
func TestCallAsTextInTheFinalAnswer(t *testing.T) {
	final := says("All done.")
	final.first = says(`{"name":"attemptCompletion","arguments":{}}`).answer
	b := newBench(t, does("attemptCompletion"), final)
	if r := b.must(job.Input{Query: "go"}); r.Status != event.StatusCompleted || r.Text != "All done." {
		t.Errorf("ended as %+v", r)
	}
	requests := b.script.requests
	if len(requests) != 3 {
		t.Fatalf("%d requests", len(requests))
	}
	last := requests[2].Messages
	if text := event.JoinText(last[len(last)-1].Contents); text != finalReminder {
		t.Errorf("the model was told %q", text)
	}
	b.checkJournal()
}
