package event

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Two delegates think and answer at the same time; one of them ends.
func TestLiveIsPerRun(t *testing.T) {
	var live Live
	apply := func(run string, bodies ...Body) {
		for _, b := range bodies {
			live.Apply(Event{RunID: run, Body: b})
		}
	}
	want := func(run string, s Streaming) {
		t.Helper()
		if d := cmp.Diff(s, live.Of(run)); d != "" {
			t.Errorf("%s: -want +got\n%s", run, d)
		}
	}
	want("a", Streaming{})
	apply("a", StartStreamingReasoning{}, StreamReasoning{Delta: "Let "})
	apply("b", StartStreamingReasoning{}, StreamReasoning{Delta: "Well"})
	apply("a", StreamReasoning{Delta: "me."})
	want("a", Streaming{Reasoning: "Let me.", IsReasoningActive: true})
	want("b", Streaming{Reasoning: "Well", IsReasoningActive: true})

	apply("b", CompleteStreamingReasoning{Text: "Well."}, StartGeneration{}, nil)
	want("b", Streaming{Reasoning: "Well."})
	apply("b", StartStreamingRunResult{}, StreamRunResult{Delta: "Do"}, StreamRunResult{Delta: "ne"})
	want("b", Streaming{RunResult: "Done", IsRunResultActive: true}) // the reasoning is dropped
	apply("b", CompleteStreamingRunResult{Text: "Done."})
	want("b", Streaming{RunResult: "Done."})

	apply("b", CompleteRun{})
	want("b", Streaming{})
	want("a", Streaming{Reasoning: "Let me.", IsReasoningActive: true})
	apply("a", StartStreamingReasoning{})
	want("a", Streaming{IsReasoningActive: true}) // a start begins afresh
	apply("a", StopRunByError{})
	want("a", Streaming{})
}
