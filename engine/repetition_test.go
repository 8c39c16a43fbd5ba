package engine

import (
	"fmt"
	"testing"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/job"
	"github.com/perstack-go/perstack/rawjson"
)

// Two calls are equal if their arguments and results are, apart from members that always differ.
func TestSameCallWithTheSameResult(t *testing.T) {
	text := func(s string) event.Part { return event.Part{Type: event.TextPart, Text: s} }
	image := func(data string) event.Part {
		return event.Part{Type: event.ImageInlinePart, MIMEType: "image/png", EncodedData: data}
	}
	made := func(skillName string, isError bool, parts ...event.Part) Call {
		return Call{
			ToolCall: event.ToolCall{SkillName: skillName, ToolName: "look", Args: rawjson.Value("{}")},
			Result:   &event.ToolResult{IsError: isError, Result: parts},
		}
	}
	other := made("s", false, text("a"))
	other.Args = rawjson.Value(`{"n":1}`)
	for name, tt := range map[string]struct {
		a, b Call
		same bool
	}{
		"the same":                               {made("s", false, text("a")), made("s", false, text("a")), true},
		"other ids":                              {made("s", false, event.Part{ID: "1", Type: event.TextPart}), made("s", false, event.Part{ID: "2", Type: event.TextPart}), true},
		"other arguments":                        {made("s", false, text("a")), other, false},
		"another skill":                          {made("s", false, text("a")), made("t", false, text("a")), false},
		"another text":                           {made("s", false, text("a")), made("s", false, text("b")), false},
		"a failure":                              {made("s", false, text("a")), made("s", true, text("a")), false},
		"another image":                          {made("s", false, text("a"), image("1")), made("s", false, text("a"), image("2")), false},
		"text in other parts":                    {made("s", false, text("ab"), text("c")), made("s", false, text("a"), text("bc")), false},
		"how long it took":                       {made(event.BaseSkill, false, text(`{"output":"x","durationMs":1}`)), made(event.BaseSkill, false, text(`{"output":"x","durationMs":2}`)), true},
		"how many thoughts":                      {made(event.BaseSkill, false, text(`{"thoughtHistoryLength":1}`)), made(event.BaseSkill, false, text(`{"thoughtHistoryLength":2}`)), true},
		"another output":                         {made(event.BaseSkill, false, text(`{"output":"x","durationMs":1}`)), made(event.BaseSkill, false, text(`{"output":"y","durationMs":1}`)), false},
		"of others we do not know what it means": {made("s", false, text(`{"durationMs":1}`)), made("s", false, text(`{"durationMs":2}`)), false},
	} {
		want := 1
		if tt.same {
			want = 2
		}
		if got := (repetition{}).after([]Call{tt.a}).after([]Call{tt.b}).count; got != want {
			t.Errorf("%s: counted %d, want %d", name, got, want)
		}
	}
}

// Results that differ only in their last byte are different, however long they are.
func TestLongResultsAreToldApart(t *testing.T) {
	long := func(n int, last string) [32]byte {
		return callDigest(Call{Result: &event.ToolResult{Result: []event.Part{{Text: fmt.Sprintf("%0*d", n, 0) + last}}}})
	}
	for _, n := range []int{1, 500, 507, 508, 509, 511, 512, 513, 5000} {
		if long(n, "a") == long(n, "b") {
			t.Errorf("of %d bytes the last makes no difference", n)
		}
	}
}

// An Expert that sends the same query to the same delegate and gets the same answer is in a
// loop, like one that calls the same tool. It is counted although the Run stops in between.
func TestLoopOfDelegates(t *testing.T) {
	same := does(`helper {"query":"same"}`)
	b := newTeam(t, map[string][]turn{"writer": {same, same, same, same, same, same, same, says("never")}, "helper": {says("the same answer")}})
	r := b.must(job.Input{Query: "go"})
	if r.Status != event.StatusStoppedByLimit || r.Reason != event.LimitLoop || len(b.script.requests) != 2*maxRepeated {
		t.Errorf("%s %q after %d requests", r.Status, r.Reason, len(b.script.requests))
	}
	b.checkJournal()
	b.checkFold()
}
